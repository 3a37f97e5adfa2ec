package access

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/zerohop/zerohop/xds/credfile"
)

const token = "correct-horse-battery-staple"

// ca signs certificates of a test.
type ca struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newCA(t *testing.T) *ca {
	t.Helper()
	c := &ca{t: t}
	c.cert, c.key, c.pem = sign(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: "ca"}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, nil)
	return c
}

// sign makes a certificate; without a parent it signs itself.
func sign(t *testing.T, template *x509.Certificate, parent *ca) (*x509.Certificate, *ecdsa.PrivateKey, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, big.NewInt(1<<62)); err != nil {
		t.Fatal(err)
	}
	template.NotBefore = time.Now().Add(-24 * time.Hour)
	signer, signKey := template, key
	if parent != nil {
		signer, signKey = parent.cert, parent.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, signer, &key.PublicKey, signKey)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// issue returns a certificate and its key in PEM form, valid until then, for servers at 127.0.0.1 and for clients.
func (c *ca) issue(name string, until time.Duration) (certPEM, keyPEM []byte) {
	c.t.Helper()
	_, key, certPEM := sign(c.t, &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(until), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, c)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		c.t.Fatal(err)
	}
	return certPEM, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// client returns the TLS settings of a client that trusts c; signer issues its certificate, nil for none.
func (c *ca) client(signer *ca, until time.Duration) *tls.Config {
	c.t.Helper()
	pool := x509.NewCertPool()
	pool.AddCert(c.cert)
	conf := &tls.Config{RootCAs: pool}
	if signer != nil {
		pair, err := tls.X509KeyPair(signer.issue("client", until))
		if err != nil {
			c.t.Fatal(err)
		}
		// Unlike Certificates, this is sent whatever CAs the server says it knows.
		conf.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	}
	return conf
}

// files is a folder with credentials.
type files string

func (f files) name(base string) string { return filepath.Join(string(f), base) }

func (f files) write(t *testing.T, base string, content []byte) {
	t.Helper()
	if err := os.WriteFile(f.name(base), content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// deploy writes a server certificate of c, c itself and the token.
func deploy(t *testing.T, c *ca) files {
	t.Helper()
	f := files(t.TempDir())
	cert, key := c.issue("agent", time.Hour)
	f.write(t, "cert.pem", cert)
	f.write(t, "key.pem", key)
	f.write(t, "ca.pem", c.pem)
	f.write(t, "token", []byte(token+"\n"))
	return f
}

// options returns Options with the given parts: tls, ca, token.
func (f files) options(parts ...string) Options {
	var o Options
	for _, p := range parts {
		switch p {
		case "tls":
			o.CertFile, o.KeyFile = f.name("cert.pem"), f.name("key.pem")
		case "ca":
			o.ClientCAFile = f.name("ca.pem")
		case "token":
			o.BearerTokenFile = f.name("token")
		}
	}
	return o
}

// mustPolicy returns a Policy that looks at its files whenever they are asked for.
func mustPolicy(t *testing.T, o Options) *Policy {
	t.Helper()
	return loggedPolicy(t, o, io.Discard)
}

// loggedPolicy is mustPolicy with a log.
func loggedPolicy(t *testing.T, o Options, log io.Writer) *Policy {
	t.Helper()
	p, err := New(o, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	if p.certs != nil {
		p.certs.Every = 0
	}
	if p.cas != nil {
		p.cas.Every = 0
	}
	if p.token != nil {
		p.token.Every = 0
	}
	return p
}

func TestNewRefuses(t *testing.T) {
	f := deploy(t, newCA(t))
	f.write(t, "short", []byte("secret"))
	f.write(t, "split", []byte(token+"\nanother token in the file"))
	f.write(t, "empty", []byte(" \n\n"))
	f.write(t, "many", bytes.Repeat([]byte(token+"\n"), maxTokens+1))
	f.write(t, "large", make([]byte, credfile.MaxBytes+1))
	o := func(change func(*Options)) Options {
		out := f.options("tls", "ca", "token")
		change(&out)
		return out
	}
	tests := []struct {
		name string
		o    Options
		want string
	}{
		{"certificate without key", o(func(o *Options) { o.KeyFile = "" }), "agent.tls: certFile and keyFile belong together; set both"},
		{"CA without TLS", f.options("ca"), "agent.tls.clientCAFile: client certificates need TLS; set certFile and keyFile too"},
		{"no certificate", o(func(o *Options) { o.CertFile = "nowhere" }), "agent.tls.certFile, agent.tls.keyFile: open nowhere"},
		{"key of another certificate", o(func(o *Options) { o.KeyFile = f.name("ca.pem") }), "agent.tls.certFile, agent.tls.keyFile: " + f.name("cert.pem")},
		{"CA that is none", o(func(o *Options) { o.ClientCAFile = f.name("token") }), "agent.tls.clientCAFile: " + f.name("token") + ": has no certificate in PEM form"},
		{"short token", o(func(o *Options) { o.BearerTokenFile = f.name("short") }), "agent.bearerTokenFile: " + f.name("short") + ": line 1 has 6 characters; a token needs at least 16"},
		{"token with spaces", o(func(o *Options) { o.BearerTokenFile = f.name("split") }), "line 2 has a character that cannot stand in a header"},
		{"no token", o(func(o *Options) { o.BearerTokenFile = f.name("empty") }), "has no token; write one a line"},
		{"many tokens", o(func(o *Options) { o.BearerTokenFile = f.name("many") }), "has 17 tokens; at most 16"},
		{"large file", o(func(o *Options) { o.BearerTokenFile = f.name("large") }), "more than 1048576 bytes"},
		{"negative cap", o(func(o *Options) { o.MaxConnections = -1 }), "agent.maxConnections: -1 is negative"},
		{"negative rate", o(func(o *Options) { o.RequestsPerSecond = -1 }), "agent.requestsPerSecond: -1 is negative"},
		{"all at once", Options{CertFile: "x", KeyFile: "x", ClientCAFile: "y", BearerTokenFile: "z"}, "\nagent.bearerTokenFile: open z"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := New(tt.o, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestCheckListen(t *testing.T) {
	f := deploy(t, newCA(t))
	tests := []struct {
		name, addr string
		parts      []string
		ok, warns  bool
	}{
		{"loopback", "127.0.0.1:18001", nil, true, false},
		{"other loopback", "127.9.9.9:18001", nil, true, false},
		{"IPv6 loopback", "[::1]:18001", nil, true, false},
		{"mapped loopback", "[::ffff:127.0.0.1]:18001", nil, true, false},
		{"all addresses", "0.0.0.0:18001", nil, false, false},
		{"all IPv6 addresses", "[::]:18001", nil, false, false},
		{"pod", "10.0.0.1:18001", nil, false, false},
		{"TLS alone says not who", "10.0.0.1:18001", []string{"tls"}, false, false},
		{"client CA", "0.0.0.0:18001", []string{"tls", "ca"}, true, false},
		{"token", "0.0.0.0:18001", []string{"tls", "token"}, true, false},
		{"token in the clear", "0.0.0.0:18001", []string{"token"}, true, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var log bytes.Buffer
			p := loggedPolicy(t, f.options(tt.parts...), &log)
			err := p.CheckListen(netip.MustParseAddrPort(tt.addr))
			if (err == nil) != tt.ok || (log.Len() != 0) != tt.warns {
				t.Errorf("error %v, log %q", err, &log)
			}
			if err != nil && !strings.Contains(err.Error(), "set agent.tls.clientCAFile (with certFile and keyFile) or agent.bearerTokenFile, or listen on 127.0.0.1") {
				t.Errorf("the error does not say what to do: %v", err)
			}
		})
	}
}

func TestListenerCapsConnections(t *testing.T) {
	p := mustPolicy(t, Options{MaxConnections: 2})
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := p.Listener(plain)
	accepted := make(chan net.Conn, 10)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				close(accepted)
				return
			}
			accepted <- c
		}
	})
	dial := func() net.Conn {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	a, b := dial(), dial()
	serverA, serverB := <-accepted, <-accepted
	// One too many is closed at once.
	c := dial()
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("a connection beyond the cap is served")
	}
	if s := p.Stats(); s.Open != 2 || s.Refused != 1 {
		t.Errorf("stats %+v", s)
	}
	_ = serverA.Close()
	_ = serverA.Close() // counts once
	d := dial()
	serverD := <-accepted
	if s := p.Stats(); s.Open != 2 {
		t.Errorf("stats %+v after one was closed and another one opened", s)
	}
	for _, x := range []net.Conn{a, b, c, d, serverB, serverD} {
		_ = x.Close()
	}
	_ = l.Close()
	running.Wait()
	if s := p.Stats(); s.Open != 0 {
		t.Errorf("stats %+v at the end", s)
	}
}

func TestNetworkOf(t *testing.T) {
	tests := []struct{ name, address, want string }{
		{"IPv4", "10.0.0.1:5", "10.0.0.1/32"},
		{"mapped IPv4", "[::ffff:10.0.0.1]:5", "10.0.0.1/32"},
		{"IPv6", "[2001:db8:1:2:3:4:5:6]:5", "2001:db8:1:2::/64"},
		{"IPv6 with zone", "[fe80::1%eth0]:5", "fe80::/64"},
		{"none", "pipe", "invalid Prefix"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := networkOf(tt.address).String(); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
