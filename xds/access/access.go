// Package access decides who may talk to the agent, over HTTP and gRPC alike: listeners stay on loopback unless there is a
// client CA or a bearer token, connections are capped and requests are limited by address. Files of certificates and
// tokens are read again when they change; a file that has become unreadable or wrong leaves the content before in force.
package access

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"time"

	"github.com/zerohop/zerohop/xds/credfile"
)

// Options say who may talk to the agent. With a client CA, a client certificate that it signed is enough; with a token, the
// token is; with both, either.
type Options struct {
	CertFile, KeyFile string  // the agent's certificate (PEM); without it there is no TLS
	ClientCAFile      string  // certificates (PEM) of those who sign client certificates
	BearerTokenFile   string  // the tokens, one a line, of which clients send one as "Authorization: Bearer TOKEN"
	MaxConnections    int     // of all listeners together; 0 for no cap
	RequestsPerSecond float64 // of one client address (IPv6: /64 network), over HTTP and opened gRPC calls; 0 for no limit
}

const (
	minToken  = 16 // bytes of the shortest token: one that can be guessed is none
	maxTokens = 16 // in the file; a rotation needs two
)

// Policy is Options in force. Several goroutines may use it.
type Policy struct {
	o      Options
	log    *slog.Logger
	certs  *credfile.File[*tls.Certificate] // nil without TLS
	cas    *credfile.File[*x509.CertPool]   // nil for no client certificates
	token  *credfile.File[tokens]           // nil for none
	limits *limits
	counts counts
	now    func() time.Time
}

// New checks o and reads its files.
func New(o Options, log *slog.Logger) (*Policy, error) {
	switch {
	case (o.CertFile == "") != (o.KeyFile == ""):
		return nil, errors.New("agent.tls: certFile and keyFile belong together; set both")
	case o.ClientCAFile != "" && o.CertFile == "":
		return nil, errors.New("agent.tls.clientCAFile: client certificates need TLS; set certFile and keyFile too")
	case o.MaxConnections < 0:
		return nil, fmt.Errorf("agent.maxConnections: %d is negative; 0 means no cap", o.MaxConnections)
	case !(o.RequestsPerSecond >= 0):
		return nil, fmt.Errorf("agent.requestsPerSecond: %v is negative; 0 means no limit", o.RequestsPerSecond)
	}
	p := &Policy{o: o, log: log, limits: newLimits(o.RequestsPerSecond), now: time.Now}
	var errs [3]error
	if o.CertFile != "" {
		p.certs, errs[0] = credfile.Open(log, credfile.ParseCertificate, o.CertFile, o.KeyFile)
	}
	if o.ClientCAFile != "" {
		p.cas, errs[1] = credfile.Open(log, credfile.ParseCAs, o.ClientCAFile)
	}
	if o.BearerTokenFile != "" {
		p.token, errs[2] = credfile.Open(log, parseTokens, o.BearerTokenFile)
	}
	for i, field := range []string{"agent.tls.certFile, agent.tls.keyFile", "agent.tls.clientCAFile", "agent.bearerTokenFile"} {
		if errs[i] != nil {
			errs[i] = fmt.Errorf("%s: %w", field, errs[i])
		}
	}
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	return p, nil
}

// guarded reports whether clients have to show who they are.
func (p *Policy) guarded() bool { return p.cas != nil || p.token != nil }

// CheckListen refuses addresses that others than this host's programs could reach if nothing says who may.
func (p *Policy) CheckListen(addr netip.AddrPort) error {
	if addr.Addr().Unmap().IsLoopback() {
		return nil
	}
	if !p.guarded() {
		return fmt.Errorf("%s is not a loopback address, and nothing says who may connect: set agent.tls.clientCAFile (with certFile and keyFile) or agent.bearerTokenFile, or listen on 127.0.0.1", addr)
	}
	if p.certs == nil {
		p.log.Warn("the bearer token travels unencrypted; set agent.tls.certFile and agent.tls.keyFile unless the network encrypts", "listen", addr.String())
	}
	return nil
}

// TLSConfig returns the settings of HTTP listeners, or nil for plain text. Certificates are those of the moment of the
// handshake. A client may come without a certificate, since it may have a token or ask for /healthz only: HTTP decides.
func (p *Policy) TLSConfig() *tls.Config { return p.tlsConfig(tls.VerifyClientCertIfGiven) }

func (p *Policy) tlsConfig(auth tls.ClientAuthType) *tls.Config {
	if p.certs == nil {
		return nil
	}
	// Envoy's upstream TLS context offers at most 1.2 unless it is told otherwise.
	base := &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"h2", "http/1.1"},
		// Every connection is a full handshake, so that its certificate is judged by the CA of the moment. Connections are few
		// and long.
		SessionTicketsDisabled: true,
	}
	c := base.Clone()
	c.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		current := base.Clone()
		current.Certificates = []tls.Certificate{*p.certs.Value()}
		if p.cas != nil {
			current.ClientCAs, current.ClientAuth = p.cas.Value(), auth
		}
		return current, nil
	}
	return c
}

// Why a request is denied. The text goes to the client.
var (
	errNoCertificate = errors.New("a client certificate that the agent's CA signed is missing")
	errNoToken       = errors.New("the bearer token is missing; send it as \"Authorization: Bearer TOKEN\"")
	errNeither       = errors.New("a client certificate that the agent's CA signed or a bearer token is missing; one of them is enough")
	errToken         = errors.New("the bearer token is none of the agent's")
	errExpired       = errors.New("the client certificate has expired since the connection was opened")
	errRate          = errors.New("too many requests from this address; see agent.requestsPerSecond")
)

// check decides on a request with the given TLS state, nil without TLS, and values of the authorization header.
func (p *Policy) check(state *tls.ConnectionState, authorization []string) error {
	if !p.guarded() {
		return nil
	}
	err := errNeither
	switch {
	case p.token == nil:
		err = errNoCertificate
	case p.cas == nil:
		err = errNoToken
	}
	if p.token != nil && len(authorization) == 1 {
		if scheme, token, ok := strings.Cut(authorization[0], " "); ok && strings.EqualFold(scheme, "bearer") {
			if p.token.Value().have(strings.TrimSpace(token)) {
				return nil
			}
			err = errToken
		}
	}
	if p.cas != nil && state != nil && len(state.VerifiedChains) > 0 {
		if p.now().Before(state.PeerCertificates[0].NotAfter) {
			return nil
		}
		err = errExpired
	}
	p.counts.denied.Add(1)
	return err
}
