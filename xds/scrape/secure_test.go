package scrape

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// authority signs certificates.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t}
	a.cert, a.key = a.issue(&x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

// issue signs a certificate, with the key of the certificate itself if a has none.
func (a *authority) issue(c *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	c.SerialNumber = big.NewInt(1)
	c.Subject = pkix.Name{CommonName: "test"}
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert, key
}

// files are written by put, so that a test can write them anew.
type files struct{ ca, cert, key string }

func newFiles(t *testing.T) files {
	dir := t.TempDir()
	return files{filepath.Join(dir, "ca.pem"), filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")}
}

func (f files) put(t *testing.T, ca *authority, cert *x509.Certificate, key *ecdsa.PrivateKey) {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []struct {
		file, kind string
		der        []byte
	}{{f.ca, "CERTIFICATE", ca.cert.Raw}, {f.cert, "CERTIFICATE", cert.Raw}, {f.key, "PRIVATE KEY", der}} {
		if err := os.WriteFile(w.file, pem.EncodeToMemory(&pem.Block{Type: w.kind, Bytes: w.der}), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// secureServer is a model server with TLS on a loopback port. Pipes will not do: with TLS 1.3 both sides may write at once.
type secureServer struct {
	address string
	server  *http.Server
	served  sync.WaitGroup
}

func newSecureServer(t *testing.T, config *tls.Config) *secureServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &secureServer{address: l.Addr().String(), server: &http.Server{Handler: page(goodPage), ErrorLog: log.New(io.Discard, "", 0)}}
	s.served.Go(func() { _ = s.server.Serve(tls.NewListener(l, config)) })
	return s
}

func (s *secureServer) stop() {
	_ = s.server.Close()
	s.served.Wait()
}

// secureLoop scrapes testEndpoint, which is where the function that it is given says.
func secureLoop(t *testing.T, files TLS, address func() string) *loop {
	t.Helper()
	s, err := New(Options{Scheme: "https", TLS: files, DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, address())
	}})
	if err != nil {
		t.Fatal(err)
	}
	l := newLoop(s, &testEndpoint)
	t.Cleanup(l.hangUp)
	return l
}

func TestTLS(t *testing.T) {
	ours, theirs := newAuthority(t), newAuthority(t)
	forAddress := func() *x509.Certificate {
		return &x509.Certificate{IPAddresses: []net.IP{net.IPv4(10, 0, 0, 1)}, DNSNames: []string{"model.example"}}
	}
	server, serverKey := ours.issue(forAddress())
	elsewhere, elsewhereKey := ours.issue(&x509.Certificate{DNSNames: []string{"model.example"}})
	client, clientKey := ours.issue(&x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	stranger, strangerKey := theirs.issue(&x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	good, foreign := newFiles(t), newFiles(t)
	good.put(t, ours, client, clientKey)
	foreign.put(t, theirs, stranger, strangerKey)

	pair := func(c *x509.Certificate, key *ecdsa.PrivateKey) tls.Certificate {
		return tls.Certificate{Certificate: [][]byte{c.Raw}, PrivateKey: key}
	}
	mutual := func(c *tls.Config) *tls.Config {
		c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
		c.ClientCAs.AddCert(ours.cert)
		return c
	}
	atAddress := func() *tls.Config { return &tls.Config{Certificates: []tls.Certificate{pair(server, serverKey)}} }
	atName := func() *tls.Config {
		return &tls.Config{Certificates: []tls.Certificate{pair(elsewhere, elsewhereKey)}}
	}
	tests := []struct {
		name   string
		server *tls.Config
		client TLS
		want   Failure
	}{
		{"signed by the CA, for the address", atAddress(), TLS{CAFile: good.ca}, ""},
		{"signed by another CA", atAddress(), TLS{CAFile: foreign.ca}, FailureTLS},
		{"signed by none of the system's", atAddress(), TLS{}, FailureTLS},
		{"not checked", atAddress(), TLS{InsecureSkipVerify: true}, ""},
		{"not for the address", atName(), TLS{CAFile: good.ca}, FailureTLS},
		{"for the name", atName(), TLS{CAFile: good.ca, ServerName: "model.example"}, ""},
		{"for another name", atName(), TLS{CAFile: good.ca, ServerName: "other.example"}, FailureTLS},
		{"client certificate", mutual(atAddress()), TLS{CAFile: good.ca, CertFile: good.cert, KeyFile: good.key}, ""},
		{"no client certificate", mutual(atAddress()), TLS{CAFile: good.ca}, FailureTLS},
		{"a stranger's client certificate", mutual(atAddress()), TLS{CAFile: good.ca, CertFile: foreign.cert, KeyFile: foreign.key}, FailureTLS},
		{"an old protocol", &tls.Config{Certificates: atAddress().Certificates, MaxVersion: tls.VersionTLS11}, TLS{CAFile: good.ca}, FailureTLS},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := newSecureServer(t, tt.server)
			defer server.stop()
			l := secureLoop(t, tt.client, func() string { return server.address })
			for range 2 { // the second one on the kept connection
				l.try(t.Context())
			}
			if got := l.sample; got.Failure != tt.want || tt.want == "" && got.Seq != 2 || tt.want != "" && got.Seq != 0 {
				t.Errorf("%+v; want failure %q", got, tt.want)
			}
		})
	}
}

// TestTLSFilesAreReadAgain replaces the CA and the client certificate while the scraper runs, and has the server ask for both.
func TestTLSFilesAreReadAgain(t *testing.T) {
	before, after := newAuthority(t), newAuthority(t)
	f := newFiles(t)
	serverOf := func(a *authority) *tls.Config {
		c, key := a.issue(&x509.Certificate{IPAddresses: []net.IP{net.IPv4(10, 0, 0, 1)}})
		pool := x509.NewCertPool()
		pool.AddCert(a.cert)
		return &tls.Config{
			Certificates: []tls.Certificate{{Certificate: [][]byte{c.Raw}, PrivateKey: key}},
			ClientAuth:   tls.RequireAndVerifyClientCert, ClientCAs: pool,
		}
	}
	put := func(a *authority) {
		c, key := a.issue(&x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
		f.put(t, a, c, key)
	}
	put(before)
	server := newSecureServer(t, serverOf(before))
	l := secureLoop(t, TLS{CAFile: f.ca, CertFile: f.cert, KeyFile: f.key}, func() string { return server.address })
	if l.try(t.Context()); l.sample.Failure != "" {
		t.Fatalf("%+v", l.sample)
	}
	server.stop()
	server = newSecureServer(t, serverOf(after))
	defer server.stop()
	if l.try(t.Context()); l.sample.Failure != FailureTLS {
		t.Errorf("%+v; want failure %q with the old files", l.sample, FailureTLS)
	}
	look := func() { l.scraper.tls.cas.Every, l.scraper.tls.pair.Every = 0, 0 } // as after a second
	if err := os.WriteFile(f.cert, []byte("half a certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	look()
	if _, err := l.scraper.tls.config(l.address); err != nil {
		t.Errorf("while a file is being replaced: %v; the old ones must count", err)
	}
	put(after)
	look()
	if l.try(t.Context()); l.sample.Failure != "" {
		t.Errorf("%+v; the new files are not in use", l.sample)
	}
}

func TestBearerToken(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	write := func(s string) {
		if err := os.WriteFile(file, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("first\n")
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		defer f.down()
		var accepted atomic.Value
		accepted.Store("Bearer first")
		f.serve(func(w http.ResponseWriter, r *http.Request) {
			if got := r.Header["Authorization"]; len(got) != 1 || got[0] != accepted.Load() {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			page(goodPage)(w, r)
		})
		var logs bytes.Buffer
		o := Options{BearerTokenFile: file, DialContext: f.net.DialContext, Log: slog.New(slog.NewTextHandler(&logs, nil))}
		scrapeWhile(t, o, func(last func() Sample) {
			time.Sleep(time.Minute)
			if got := last(); got.Failures != 0 {
				t.Errorf("%+v", got)
			}
			steps := []struct {
				name   string
				change func()
				ok     bool
			}{
				{"replaced", func() { accepted.Store("Bearer second"); write("second") }, true},
				{"unusable, the old one counts", func() { write("two words") }, true},
				{"gone, the old one counts", func() { _ = os.Remove(file) }, true},
				{"back", func() { accepted.Store("Bearer third"); write(" third ") }, true},
				{"wrong", func() { write("fourth") }, false},
			}
			for _, step := range steps {
				synctest.Wait()
				step.change()
				time.Sleep(DefaultMaxBackOff)
				if got := last(); (got.Failure == "") != step.ok {
					t.Errorf("%s: %+v", step.name, got)
				}
			}
		})
		if s := logs.String(); !strings.Contains(s, "status 401") || strings.Count(s, "cannot be read again") != 1 || strings.Contains(s, "fourth") {
			t.Errorf("the log must say what is wrong, and show no token:\n%s", s)
		}
	})
}
