package harness

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// CA is a certificate authority of one test. Its files stand in a folder of the test's.
type CA struct {
	File string // its certificate, PEM

	dir  string
	name string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// Certificate is a certificate that a CA has issued, in memory and as PEM files.
type Certificate struct {
	tls.Certificate
	CertFile, KeyFile string
}

// NewCA makes an authority for a test, or fails it. Its files begin with name.
func NewCA(t TB, dir, name string) *CA {
	t.Helper()
	c, err := makeCA(dir, name)
	if err != nil {
		t.Fatalf("make CA %s: %v", name, err)
	}
	return c
}

func makeCA(dir, name string) (*CA, error) {
	c := &CA{File: filepath.Join(dir, name+".pem"), dir: dir, name: name}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	key, der, err := sign(template, nil, nil)
	if err != nil {
		return nil, err
	}
	if c.cert, err = x509.ParseCertificate(der); err != nil {
		return nil, err
	}
	c.key = key
	return c, writePEM(c.File, "CERTIFICATE", der)
}

// Issue makes a certificate for servers and clients that carries these names, which may be IP addresses, or fails the test. It
// is valid for an hour.
func (c *CA) Issue(t TB, file string, names ...string) *Certificate {
	t.Helper()
	return c.IssueFor(t, time.Hour, file, names...)
}

// IssueFor is Issue with another validity.
func (c *CA) IssueFor(t TB, valid time.Duration, file string, names ...string) *Certificate {
	t.Helper()
	out, err := c.issue(valid, file, names)
	if err != nil {
		t.Fatalf("issue %s: %v", file, err)
	}
	return out
}

func (c *CA) issue(valid time.Duration, file string, names []string) (*Certificate, error) {
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: file},
		NotAfter:    time.Now().Add(valid),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, n := range names {
		if ip := net.ParseIP(n); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, n)
		}
	}
	key, der, err := sign(template, c.cert, c.key)
	if err != nil {
		return nil, err
	}
	base := filepath.Join(c.dir, c.name+"-"+file)
	out := &Certificate{CertFile: base + ".pem", KeyFile: base + ".key"}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	if err := writePEM(out.CertFile, "CERTIFICATE", der); err != nil {
		return nil, err
	}
	if err := writePEM(out.KeyFile, "PRIVATE KEY", keyDER); err != nil {
		return nil, err
	}
	out.Certificate, err = tls.LoadX509KeyPair(out.CertFile, out.KeyFile)
	return out, err
}

// Pool returns the authority as the one that is believed.
func (c *CA) Pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(c.cert)
	return p
}

// sign makes a key and a certificate for it; without a parent it signs itself.
func sign(template, parent *x509.Certificate, parentKey *ecdsa.PrivateKey) (*ecdsa.PrivateKey, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, big.NewInt(1<<62)); err != nil {
		return nil, nil, err
	}
	template.NotBefore = time.Now().Add(-time.Minute)
	if parent == nil {
		parent, parentKey = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, parentKey)
	return key, der, err
}

func writePEM(file, kind string, der []byte) error {
	return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
