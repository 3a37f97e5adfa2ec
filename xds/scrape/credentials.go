package scrape

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"

	"github.com/zerohop/zerohop/xds/credfile"
)

// TLS says how to speak TLS with endpoints. Files that change are read again, so that certificates may be renewed; kept
// connections go on as they are.
type TLS struct {
	CAFile             string // certificates that sign the endpoints'; empty for the system's
	CertFile, KeyFile  string // client certificate; both or neither
	ServerName         string // in the endpoints' certificates; empty for the endpoint's address
	InsecureSkipVerify bool   // do not check the endpoints' certificates
}

// tlsFiles makes configurations from files. Any goroutine may use it.
type tlsFiles struct {
	TLS
	cas  *credfile.File[*x509.CertPool]   // nil for the system's
	pair *credfile.File[*tls.Certificate] // nil for none
}

// newTLSFiles reads the files.
func newTLSFiles(t TLS, log *slog.Logger) (*tlsFiles, error) {
	if (t.CertFile == "") != (t.KeyFile == "") {
		return nil, errors.New("tls: certFile and keyFile go together; set both or neither")
	}
	f := &tlsFiles{TLS: t}
	var err error
	if t.CAFile != "" {
		if f.cas, err = credfile.Open(log, credfile.ParseCAs, t.CAFile); err != nil {
			return nil, fmt.Errorf("tls.caFile: %w", err)
		}
	}
	if t.CertFile != "" {
		if f.pair, err = credfile.Open(log, credfile.ParseCertificate, t.CertFile, t.KeyFile); err != nil {
			return nil, fmt.Errorf("tls.certFile and tls.keyFile: %w", err)
		}
	}
	return f, nil
}

// config returns the configuration for an endpoint (ip:port).
func (f *tlsFiles) config(address string) (*tls.Config, error) {
	c := &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		ServerName: f.ServerName, InsecureSkipVerify: f.InsecureSkipVerify,
	}
	if c.ServerName == "" {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, fmt.Errorf("tls: %w", err)
		}
		c.ServerName = host
	}
	if f.cas != nil {
		c.RootCAs = f.cas.Value()
	}
	if f.pair != nil {
		c.Certificates = []tls.Certificate{*f.pair.Value()}
	}
	return c, nil
}

// parseToken reads a bearer token. It does not show it in an error.
func parseToken(files [][]byte) (string, error) {
	token := strings.TrimSpace(string(files[0]))
	if token == "" || strings.ContainsFunc(token, notVisible) {
		return "", errors.New("must hold one token and nothing else")
	}
	return token, nil
}
