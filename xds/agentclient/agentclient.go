// Package agentclient is the client of the agent's HTTP interface that the commands share: where the agent is, whom it
// trusts and who it is. It follows no redirect, uses no proxy and reads bounded answers.
package agentclient

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

const (
	timeout   = 10 * time.Second
	maxAnswer = 64 << 20
	maxError  = 1 << 10 // bytes of an error's text
)

// Options are the flags of a command that talks to the agent. The struct can be embedded in a command.
type Options struct {
	Agent     string `default:"http://127.0.0.1:18001" placeholder:"URL" help:"The agent's HTTP address, as a URL or HOST:PORT. Default ${default}."`
	CAFile    string `name:"ca-file" placeholder:"FILE" help:"Certificates (PEM) that the agent's certificate is checked against. Default: the system's."`
	CertFile  string `name:"cert-file" placeholder:"FILE" help:"Client certificate (PEM), if the agent asks for one."`
	KeyFile   string `name:"key-file" placeholder:"FILE" help:"Key (PEM) of the client certificate."`
	TokenFile string `name:"token-file" placeholder:"FILE" help:"File with the bearer token, if the agent asks for one. Of several lines the first is sent."`
}

// Client talks to one agent. Several goroutines may use it.
type Client struct {
	base  string
	token string
	http  *http.Client
}

// New checks o, reads its files and returns a client. It does not connect.
func New(o Options) (*Client, error) {
	if _, _, err := net.SplitHostPort(o.Agent); err == nil && !strings.Contains(o.Agent, "/") {
		o.Agent = o.scheme() + "://" + o.Agent
	}
	u, err := url.Parse(o.Agent)
	if err != nil {
		return nil, fmt.Errorf("--agent: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, fmt.Errorf("--agent: %q is not like http://127.0.0.1:18001 or https://agent:18001", o.Agent)
	}
	transport := &http.Transport{MaxResponseHeaderBytes: 64 << 10, ForceAttemptHTTP2: true}
	c := &Client{base: u.Scheme + "://" + u.Host, http: &http.Client{
		Transport: transport, Timeout: timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if transport.TLSClientConfig, err = o.tls(u.Scheme); err != nil {
		return nil, err
	}
	if o.TokenFile != "" {
		b, err := os.ReadFile(o.TokenFile)
		if err != nil {
			return nil, fmt.Errorf("--token-file: %w", err)
		}
		// The agent's own file may have several tokens.
		first, _, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
		if c.token = strings.TrimSpace(first); c.token == "" {
			return nil, fmt.Errorf("--token-file: %s is empty", o.TokenFile)
		}
	}
	return c, nil
}

// scheme returns that of an address without one: files for TLS say that it is meant.
func (o *Options) scheme() string {
	if o.CAFile != "" || o.CertFile != "" || o.KeyFile != "" {
		return "https"
	}
	return "http"
}

// tls returns the TLS settings for scheme.
func (o *Options) tls(scheme string) (*tls.Config, error) {
	if scheme == "http" {
		if o.CAFile != "" || o.CertFile != "" || o.KeyFile != "" {
			return nil, errors.New("--agent: --ca-file, --cert-file and --key-file need an https URL")
		}
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.CAFile != "" {
		b, err := os.ReadFile(o.CAFile)
		if err != nil {
			return nil, fmt.Errorf("--ca-file: %w", err)
		}
		if c.RootCAs = x509.NewCertPool(); !c.RootCAs.AppendCertsFromPEM(b) {
			return nil, fmt.Errorf("--ca-file: %s has no certificate in PEM form", o.CAFile)
		}
	}
	if (o.CertFile == "") != (o.KeyFile == "") {
		return nil, errors.New("--cert-file and --key-file belong together")
	}
	if o.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(o.CertFile, o.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("--cert-file, --key-file: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// Error says that the agent cannot be reached or answers something else than 200, with its own words. It may be otherwise a
// moment later.
type Error struct{ error }

// Unwrap returns the cause.
func (e Error) Unwrap() error { return e.error }

// Get returns the body of path. An answer other than 200 is an Error.
func (c *Client) Get(ctx context.Context, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path, nil)
	if err != nil {
		return nil, err
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, Error{fmt.Errorf("ask the agent: %w", c.plainly(err))}
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, maxError))
		return nil, Error{fmt.Errorf("agent answers %s to %s: %s", resp.Status, path, strings.TrimSpace(string(text)))}
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return nil, Error{fmt.Errorf("read the agent's answer: %w", err)}
	}
	if len(b) > maxAnswer {
		return nil, fmt.Errorf("agent answers more than %d bytes to %s", maxAnswer, path)
	}
	return b, nil
}

// plainly replaces an error that shows the bytes of another protocol by what that probably is.
func (c *Client) plainly(err error) error {
	text := err.Error()
	switch {
	case !strings.Contains(text, "malformed HTTP"):
		return err
	case strings.Contains(text, `"\x15\x03`):
		return fmt.Errorf("%s answers in TLS: write https:// and --ca-file", c.base)
	}
	return fmt.Errorf("%s does not answer in HTTP/1.1: it is probably the agent's xDS (agent.xdsListen); give the address of its HTTP (agent.listen)", c.base)
}

// JSON decodes the body of path into v.
func (c *Client) JSON(ctx context.Context, path string, v any) error {
	b, err := c.Get(ctx, path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("decode the agent's answer to %s: %w", path, err)
	}
	return nil
}

// Close ends the connections that are kept.
func (c *Client) Close() { c.http.CloseIdleConnections() }
