package agentclient

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func file(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestNewRefuses(t *testing.T) {
	tests := []struct {
		name string
		o    Options
		want string
	}{
		{"no URL", Options{Agent: "127.0.0.1"}, `--agent: "127.0.0.1" is not like http://127.0.0.1:18001`},
		{"other scheme", Options{Agent: "ftp://a"}, `--agent: "ftp://a" is not like http://127.0.0.1:18001`},
		{"path", Options{Agent: "http://a/x"}, "--agent: "},
		{"user", Options{Agent: "http://u:p@a"}, "--agent: "},
		{"CA without TLS", Options{Agent: "http://a", CAFile: "x"}, "need an https URL"},
		{"no CA", Options{Agent: "https://a", CAFile: "nowhere"}, "--ca-file: open nowhere"},
		{"CA without certificate", Options{Agent: "https://a", CAFile: file(t, "x")}, "has no certificate in PEM form"},
		{"certificate without key", Options{Agent: "https://a", CertFile: "x"}, "belong together"},
		{"bad certificate", Options{Agent: "https://a", CertFile: file(t, "x"), KeyFile: file(t, "x")}, "--cert-file, --key-file: "},
		{"no token", Options{Agent: "http://a", TokenFile: "nowhere"}, "--token-file: open nowhere"},
		{"empty token", Options{Agent: "http://a", TokenFile: file(t, " \n")}, "is empty"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := New(tt.o); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestGet(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer secret":
			http.Error(w, "no token", http.StatusUnauthorized)
		case r.URL.Path == "/json":
			_, _ = w.Write([]byte(`{"a": 1}`))
		case r.URL.Path == "/text":
			_, _ = w.Write([]byte("text"))
		default:
			http.Redirect(w, r, "/json", http.StatusFound)
		}
	}))
	defer s.Close()
	c, err := New(Options{Agent: s.URL + "/", TokenFile: file(t, "secret\nanother\n")})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var v struct{ A int }
	if err := c.JSON(t.Context(), "/json", &v); err != nil || v.A != 1 {
		t.Error(v, err)
	}
	if err := c.JSON(t.Context(), "/text", &v); err == nil || !strings.Contains(err.Error(), "decode the agent's answer to /text: ") {
		t.Errorf("error %v", err)
	}
	if _, err := c.Get(t.Context(), "/elsewhere"); err == nil || !strings.Contains(err.Error(), "agent answers 302 Found to /elsewhere") {
		t.Errorf("a redirect gives %v", err)
	}
	stranger, err := New(Options{Agent: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	if _, err := stranger.Get(t.Context(), "/json"); err == nil || !strings.Contains(err.Error(), "401 Unauthorized to /json: no token") {
		t.Errorf("error %v", err)
	}
}

// TestAddressAlone leaves out the scheme.
func TestAddressAlone(t *testing.T) {
	for _, tt := range []struct {
		name string
		o    Options
		want string
	}{
		{"address", Options{Agent: "127.0.0.1:18001"}, "http://127.0.0.1:18001"},
		{"name", Options{Agent: "localhost:18001"}, "http://localhost:18001"},
		{"IPv6", Options{Agent: "[::1]:18001"}, "http://[::1]:18001"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := New(tt.o)
			if err != nil {
				t.Fatal(err)
			}
			if c.base != tt.want {
				t.Errorf("base %s, want %s", c.base, tt.want)
			}
		})
	}
	if o := (Options{Agent: "a:1", CAFile: "x"}); o.scheme() != "https" {
		t.Error("a CA file does not mean https")
	}
}

// TestOtherProtocol asks a port that speaks gRPC or TLS.
func TestOtherProtocol(t *testing.T) {
	for _, tt := range []struct{ name, answer, want string }{
		{"HTTP/2", "\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x05\x00\x00\x40\x00", "probably the agent's xDS (agent.xdsListen)"},
		{"TLS", "\x15\x03\x01\x00\x02\x02\x16", "write https://"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			var running sync.WaitGroup
			defer running.Wait()
			running.Go(func() {
				if conn, err := l.Accept(); err == nil {
					_, _ = conn.Read(make([]byte, 1024))
					_, _ = io.WriteString(conn, tt.answer)
					_ = conn.Close()
				}
			})
			c, err := New(Options{Agent: l.Addr().String()})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if _, err := c.Get(t.Context(), "/"); err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), `\x`) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// TestTLS checks that the files lead to a connection, and that the agent's certificate is checked.
func TestTLS(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(strconv.Itoa(len(r.TLS.PeerCertificates))))
	}))
	s.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	pair := s.TLS.Certificates[0]
	der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	cert := file(t, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]})))
	key := file(t, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})))
	tests := []struct {
		name string
		o    Options
		want string // number of client certificates
		err  string
	}{
		{"CA", Options{CAFile: cert}, "0", ""},
		{"client certificate", Options{CAFile: cert, CertFile: cert, KeyFile: key}, "1", ""},
		{"system's CAs", Options{}, "", "ask the agent: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.o.Agent = s.URL
			c, err := New(tt.o)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			got, err := c.Get(t.Context(), "/")
			if string(got) != tt.want || (err == nil) != (tt.err == "") {
				t.Errorf("%q, %v", got, err)
			}
			var answer Error
			if err != nil && (!strings.HasPrefix(err.Error(), tt.err) || !errors.As(err, &answer)) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
