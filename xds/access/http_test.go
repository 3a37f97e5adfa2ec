package access

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zerohop/zerohop/xds/credfile"
)

// serve runs an HTTP server under p until the test ends and returns its URL.
func serve(t *testing.T, p *Policy) string {
	t.Helper()
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l, scheme := p.Listener(plain), "http://"
	if c := p.TLSConfig(); c != nil {
		l, scheme = tls.NewListener(l, c), "https://"
	}
	s := &http.Server{
		Handler:  p.HTTP(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) })),
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	var running sync.WaitGroup
	running.Go(func() { _ = s.Serve(l) })
	t.Cleanup(func() { _ = s.Close(); running.Wait() })
	return scheme + plain.Addr().String()
}

// ask sends one request on a connection of its own.
func ask(t *testing.T, conf *tls.Config, method, url string, headers ...string) (status int, text string, err error) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: conf, ForceAttemptHTTP2: true}}
	defer client.CloseIdleConnections()
	return askWith(t, client, method, url, headers...)
}

func askWith(t *testing.T, client *http.Client, method, url string, headers ...string) (status int, text string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

func TestHTTP(t *testing.T) {
	good, other := newCA(t), newCA(t)
	f := deploy(t, good)
	const auth = "Authorization"
	tests := []struct {
		name    string
		parts   []string
		client  *tls.Config
		headers []string
		status  int // 0 if there is no handshake
	}{
		{"open", nil, nil, nil, 200},
		{"token", []string{"token"}, nil, []string{auth, "Bearer " + token}, 200},
		{"token, other case of the scheme", []string{"token"}, nil, []string{auth, "bearer " + token}, 200},
		{"no token", []string{"token"}, nil, nil, 401},
		{"wrong token", []string{"token"}, nil, []string{auth, "Bearer " + token + "x"}, 401},
		{"beginning of the token", []string{"token"}, nil, []string{auth, "Bearer " + token[:20]}, 401},
		{"empty token", []string{"token"}, nil, []string{auth, "Bearer "}, 401},
		{"other scheme", []string{"token"}, nil, []string{auth, "Basic " + token}, 401},
		{"token alone", []string{"token"}, nil, []string{auth, token}, 401},
		{"token in another header", []string{"token"}, nil, []string{"X-Token", token, "Cookie", "token=" + token}, 401},
		{"two tokens", []string{"token"}, nil, []string{auth, "Bearer " + token, auth, "Bearer wrong-wrong-wrong"}, 401},
		{"token twice", []string{"token"}, nil, []string{auth, "Bearer wrong-wrong-wrong", auth, "Bearer " + token}, 401},

		{"certificate", []string{"tls", "ca"}, good.client(good, time.Hour), nil, 200},
		{"no certificate", []string{"tls", "ca"}, good.client(nil, 0), nil, 401},
		{"certificate of another CA", []string{"tls", "ca"}, good.client(other, time.Hour), nil, 0},
		{"expired certificate", []string{"tls", "ca"}, good.client(good, -time.Hour), nil, 0},
		{"token where there is none", []string{"tls", "ca"}, good.client(nil, 0), []string{auth, "Bearer " + token}, 401},
		{"client that does not know the CA", []string{"tls", "ca"}, other.client(good, time.Hour), nil, 0},

		{"either: certificate", []string{"tls", "ca", "token"}, good.client(good, time.Hour), nil, 200},
		{"either: token", []string{"tls", "ca", "token"}, good.client(nil, 0), []string{auth, "Bearer " + token}, 200},
		{"either: none", []string{"tls", "ca", "token"}, good.client(nil, 0), nil, 401},
		{"either: wrong token", []string{"tls", "ca", "token"}, good.client(nil, 0), []string{auth, "Bearer wrong"}, 401},
		{"TLS and token", []string{"tls", "token"}, good.client(nil, 0), []string{auth, "Bearer " + token}, 200},
		{"old TLS", []string{"tls", "token"}, func() *tls.Config {
			c := good.client(nil, 0)
			c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
			return c
		}(), []string{auth, "Bearer " + token}, 0},
		{"TLS 1.2, Envoy's default", []string{"tls", "token"}, func() *tls.Config {
			c := good.client(nil, 0)
			c.MaxVersion = tls.VersionTLS12
			return c
		}(), []string{auth, "Bearer " + token}, 200},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := mustPolicy(t, f.options(tt.parts...))
			url := serve(t, p)
			status, text, err := ask(t, tt.client, http.MethodGet, url+"/v1/snapshot", tt.headers...)
			if status != tt.status || (tt.status == 0) != (err != nil) {
				t.Fatalf("status %d, %q, %v, want %d", status, text, err, tt.status)
			}
			if denied := p.Stats().Denied; (denied == 1) != (tt.status == 401) {
				t.Errorf("%d denied", denied)
			}
			if tt.status == 200 && tt.client != nil && text != "HTTP/2.0" {
				t.Errorf("protocol %q", text)
			}
			wants := map[string]string{"token": "bearer token", "tls ca": "client certificate", "tls ca token": "token"}[strings.Join(tt.parts, " ")]
			if tt.status == 401 && !strings.Contains(text, wants) {
				t.Errorf("text %q, want %q", text, wants)
			}
			if tt.status == 0 {
				return
			}
			for _, path := range []string{"/healthz", "/readyz"} {
				if status, _, err := ask(t, tt.client, http.MethodGet, url+path); status != 200 {
					t.Errorf("%s: status %d, %v without credentials", path, status, err)
				}
			}
			for _, path := range []string{"/healthz/", "/metrics", "/status", "/snapshot", "//healthz", "/healthz/../snapshot"} {
				if status, _, _ := ask(t, tt.client, http.MethodGet, url+path); len(tt.parts) > 0 && tt.client == nil && status != 401 {
					t.Errorf("%s: status %d without credentials", path, status)
				}
			}
		})
	}
}

// TestHTTP1 checks that a client without HTTP/2 is served too, as Envoy's is by default.
func TestHTTP1(t *testing.T) {
	good := newCA(t)
	url := serve(t, mustPolicy(t, deploy(t, good).options("tls", "ca")))
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: good.client(good, time.Hour)}}
	defer client.CloseIdleConnections()
	if status, text, err := askWith(t, client, http.MethodGet, url); status != 200 || text != "HTTP/1.1" {
		t.Error(status, text, err)
	}
}

// TestRotation changes each file under a running server.
func TestRotation(t *testing.T) {
	before, after := newCA(t), newCA(t)
	f := deploy(t, before)
	var log bytes.Buffer
	p := loggedPolicy(t, f.options("tls", "ca", "token"), &log)
	url := serve(t, p)
	check := func(what string, want int, conf *tls.Config, headers ...string) {
		t.Helper()
		if status, text, err := ask(t, conf, http.MethodGet, url, headers...); status != want {
			t.Errorf("%s: status %d, %q, %v, want %d", what, status, text, err, want)
		}
	}
	check("before", 200, before.client(before, time.Hour))
	check("CA of tomorrow", 0, before.client(after, time.Hour))

	// The certificate is there before its key: both old ones stay until they fit again.
	cert, key := after.issue("agent", time.Hour)
	f.write(t, "cert.pem", cert)
	check("half a pair", 200, before.client(before, time.Hour))
	check("half a pair again", 200, before.client(before, time.Hour))
	if s := p.Stats(); s.BadFiles != 1 || strings.Count(log.String(), "credentials cannot be read again") != 1 {
		t.Errorf("stats %+v, log %q", s, &log)
	}
	old, oldKey := before.issue("agent", time.Hour)
	f.write(t, "cert.pem", old)
	f.write(t, "key.pem", oldKey)
	check("another pair", 200, before.client(before, time.Hour))
	f.write(t, "cert.pem", cert)
	check("half a pair once more", 200, before.client(before, time.Hour))
	f.write(t, "cert.pem", old)
	check("taken back", 200, before.client(before, time.Hour))
	f.write(t, "cert.pem", cert)
	check("half a pair for the fourth time", 200, before.client(before, time.Hour))
	if s := p.Stats(); s.BadFiles != 3 {
		t.Errorf("stats %+v", s)
	}
	f.write(t, "key.pem", key)
	check("server certificate", 200, after.client(before, time.Hour))
	check("old trust", 0, before.client(before, time.Hour))

	f.write(t, "ca.pem", after.pem)
	check("CA", 200, after.client(after, time.Hour))
	check("old CA", 0, after.client(before, time.Hour))

	check("token before", 200, after.client(nil, 0), "Authorization", "Bearer "+token)
	f.write(t, "token", []byte(token+"\n\nanother-token-of-good-length\n"))
	check("old token beside the new one", 200, after.client(nil, 0), "Authorization", "Bearer "+token)
	check("new token beside the old one", 200, after.client(nil, 0), "Authorization", "Bearer another-token-of-good-length")
	check("both tokens in one", 401, after.client(nil, 0), "Authorization", "Bearer "+token+" another-token-of-good-length")
	f.write(t, "token", []byte("another-token-of-good-length"))
	check("old token", 401, after.client(nil, 0), "Authorization", "Bearer "+token)
	check("new token", 200, after.client(nil, 0), "Authorization", "Bearer another-token-of-good-length")
	f.write(t, "token", nil)
	check("token file emptied", 200, after.client(nil, 0), "Authorization", "Bearer another-token-of-good-length")
}

// TestRotationEndsSessions has a client that resumes TLS sessions: its certificate is judged by the CA of the moment.
func TestRotationEndsSessions(t *testing.T) {
	server, before, after := newCA(t), newCA(t), newCA(t)
	f := deploy(t, server)
	f.write(t, "ca.pem", before.pem)
	url := serve(t, mustPolicy(t, f.options("tls", "ca")))
	conf := server.client(before, time.Hour)
	conf.ClientSessionCache = tls.NewLRUClientSessionCache(0)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		f.write(t, "ca.pem", before.pem)
		conf.MaxVersion = version
		if status, text, err := ask(t, conf, http.MethodGet, url); status != 200 {
			t.Fatal(status, text, err)
		}
		f.write(t, "ca.pem", after.pem)
		if status, text, err := ask(t, conf, http.MethodGet, url); err == nil && status == 200 {
			t.Errorf("TLS %#x: a resumed session passes the changed CA: %s", version, text)
		}
	}
}

// TestFilesAreReadSeldom holds how often a busy agent looks at its files.
func TestFilesAreReadSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := deploy(t, newCA(t))
		p, err := New(f.options("token"), slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		f.write(t, "token", []byte("another-token-of-good-length"))
		bearer := []string{"Bearer " + token}
		time.Sleep(credfile.RereadEvery - 1)
		if err := p.check(nil, bearer); err != nil {
			t.Errorf("the file is read again within a second: %v", err)
		}
		time.Sleep(time.Nanosecond)
		if err := p.check(nil, bearer); err == nil {
			t.Error("the file is not read again after a second")
		}
	})
}

// TestCertificateExpiresOnAnOpenConnection checks that a long-lived connection does not outlive its certificate.
func TestCertificateExpiresOnAnOpenConnection(t *testing.T) {
	good := newCA(t)
	p := mustPolicy(t, deploy(t, good).options("tls", "ca"))
	var later atomic.Int64
	p.now = func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
	url := serve(t, p)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: good.client(good, time.Hour), ForceAttemptHTTP2: true}}
	defer client.CloseIdleConnections()
	if status, text, err := askWith(t, client, http.MethodGet, url); status != 200 {
		t.Fatal(status, text, err)
	}
	later.Store(int64(time.Hour))
	if status, text, err := askWith(t, client, http.MethodGet, url); status != 401 || !strings.Contains(text, "expired") {
		t.Error(status, text, err)
	}
}

func TestRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := mustPolicy(t, Options{RequestsPerSecond: 5})
		h := p.HTTP(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		send := func(from string) int {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.RemoteAddr = from
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			return w.Code
		}
		for i := range 10 {
			if got, want := send("10.0.0.1:"+strconv.Itoa(i+1)), 200; (got == want) != (i < 5) {
				t.Errorf("request %d of the first client: status %d", i, got)
			}
		}
		if got := send("10.0.0.2:1"); got != 200 {
			t.Errorf("another client: status %d", got)
		}
		time.Sleep(time.Second)
		if got := send("10.0.0.1:9"); got != 200 {
			t.Errorf("a second later: status %d", got)
		}
		if s := p.Stats(); s.Limited != 5 {
			t.Errorf("stats %+v", s)
		}
	})
}

// TestRateLimitIsBounded floods the table of clients: it stays small, and those who were there keep their share.
func TestRateLimitIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimits(1)
		l.allow("10.0.0.1:1")
		for i := range 3 * maxClients {
			l.allow("[2001:db8:" + strconv.FormatInt(int64(i), 16) + "::1]:1")
		}
		if n := len(l.clients); n > maxClients {
			t.Errorf("%d clients are kept", n)
		}
		time.Sleep(time.Second)
		if !l.allow("10.0.0.1:1") {
			t.Error("the flood takes the share of a client that was there before")
		}
		if !l.allow("10.0.0.3:1") || len(l.clients) > 2 {
			t.Errorf("%d clients are kept after a quiet second", len(l.clients))
		}
	})
}

func TestForeignPagesCannotPost(t *testing.T) {
	url := serve(t, mustPolicy(t, Options{}))
	for _, tt := range []struct {
		method, origin string
		want           int
	}{
		{http.MethodPost, "http://evil.example", 403},
		{http.MethodPost, "", 200},
		{http.MethodGet, "http://evil.example", 200},
	} {
		headers := []string{}
		if tt.origin != "" {
			headers = append(headers, "Origin", tt.origin)
		}
		if status, text, err := ask(t, nil, tt.method, url, headers...); status != tt.want {
			t.Errorf("%s from %q: %d, %q, %v", tt.method, tt.origin, status, text, err)
		}
	}
}
