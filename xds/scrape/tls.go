package scrape

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
)

// TLS says how to speak TLS with endpoints. The files are read at every handshake, so that certificates may be renewed; kept
// connections make handshakes rare.
type TLS struct {
	CAFile             string // certificates that sign the endpoints'; empty for the system's
	CertFile, KeyFile  string // client certificate; both or neither
	ServerName         string // in the endpoints' certificates; empty for the endpoint's address
	InsecureSkipVerify bool   // do not check the endpoints' certificates
}

// tlsFiles makes configurations from files.
type tlsFiles struct{ TLS }

// newTLSFiles checks that the files can be used.
func newTLSFiles(t TLS) (*tlsFiles, error) {
	f := &tlsFiles{t}
	if (t.CertFile == "") != (t.KeyFile == "") {
		return nil, errors.New("TLS: CertFile and KeyFile go together; set both or neither")
	}
	if _, err := f.config("127.0.0.1:1"); err != nil {
		return nil, err
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
			return nil, fmt.Errorf("TLS: %w", err)
		}
		c.ServerName = host
	}
	if f.CAFile != "" {
		pem, err := os.ReadFile(f.CAFile)
		if err != nil {
			return nil, fmt.Errorf("TLS: CAFile: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("TLS: CAFile: %s has no certificate in PEM format", f.CAFile)
		}
	}
	if f.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(f.CertFile, f.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("TLS: CertFile and KeyFile: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
