package scrape

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"
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

	mu     sync.Mutex
	loaded *tls.Config
	at     time.Time // of the last look at the files
}

// newTLSFiles reads the files.
func newTLSFiles(t TLS) (*tlsFiles, error) {
	if (t.CertFile == "") != (t.KeyFile == "") {
		return nil, errors.New("tls: certFile and keyFile go together; set both or neither")
	}
	f := &tlsFiles{TLS: t}
	_, err := f.config("127.0.0.1:1", time.Now())
	return f, err
}

// config returns the configuration for an endpoint (ip:port). While the files cannot be used, because somebody is replacing
// them, the old ones count.
func (f *tlsFiles) config(address string, now time.Time) (*tls.Config, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.loaded == nil || now.Sub(f.at) >= fileCheck {
		f.at = now
		c, err := f.load()
		if err != nil && f.loaded == nil {
			return nil, err
		}
		if err == nil {
			f.loaded = c
		}
	}
	c := f.loaded.Clone()
	if c.ServerName == "" {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, fmt.Errorf("tls: %w", err)
		}
		c.ServerName = host
	}
	return c, nil
}

func (f *tlsFiles) load() (*tls.Config, error) {
	c := &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		ServerName: f.ServerName, InsecureSkipVerify: f.InsecureSkipVerify,
	}
	if f.CAFile != "" {
		pem, err := os.ReadFile(f.CAFile)
		if err != nil {
			return nil, fmt.Errorf("tls.caFile: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("tls.caFile: %s has no certificate in PEM format", f.CAFile)
		}
	}
	if f.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(f.CertFile, f.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("tls.certFile and tls.keyFile: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
