package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/zerohop/zerohop/shared/names"
)

type explainCmd struct {
	Request string        `required:"" placeholder:"FILE" help:"Body of the request; - reads standard input."`
	Envoy   string        `default:"http://127.0.0.1:8080" placeholder:"URL" help:"Listener of the Envoy to ask. Default ${default}."`
	Path    string        `default:"/v1/chat/completions" help:"Path of the request. Default ${default}."`
	Header  []string      `short:"H" sep:"none" placeholder:"NAME=VALUE" help:"Header of the request; may be repeated."`
	Output  string        `short:"o" default:"text" enum:"text,json" help:"Format: ${enum}. Default ${default}."`
	Timeout time.Duration `default:"10s" help:"How long to wait for the answer. Default ${default}."`
}

// maxExplainAnswer bounds what is read of an answer.
const maxExplainAnswer = 4 << 20

// run asks an Envoy what it would do with a request. It fails if no endpoint would get the request.
func (e *explainCmd) run(ctx context.Context, stdin io.Reader, stdout io.Writer) error {
	body, err := e.body(stdin)
	if err != nil {
		return usageError{err}
	}
	req, err := e.request(ctx, body)
	if err != nil {
		return usageError{err}
	}
	client := http.Client{Timeout: e.Timeout}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("ask Envoy: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxExplainAnswer))
	if err != nil {
		return fmt.Errorf("read the answer of %s: %w", e.Envoy, err)
	}
	if err := e.refused(resp, text); err != nil {
		return err
	}
	var a explanation
	if err := json.Unmarshal(text, &a); err != nil {
		return fmt.Errorf("read the answer of %s: %w", e.Envoy, err)
	}
	if e.Output == "json" {
		var b bytes.Buffer
		if err := json.Indent(&b, text, "", "  "); err != nil {
			return fmt.Errorf("read the answer of %s: %w", e.Envoy, err)
		}
		text = b.Bytes()
	} else {
		text = []byte(explainText(&a))
	}
	if _, err := stdout.Write(text); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return a.verdict()
}

func (e *explainCmd) body(stdin io.Reader) ([]byte, error) {
	if e.Request != "-" {
		return os.ReadFile(e.Request)
	}
	b, err := io.ReadAll(stdin)
	if err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	return b, nil
}

// request returns the dry run of the request. Its path is one that no Envoy hands on.
func (e *explainCmd) request(ctx context.Context, body []byte) (*http.Request, error) {
	base, err := url.Parse(e.Envoy)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("--envoy=%s: must be a URL like http://127.0.0.1:8080", e.Envoy)
	}
	base.Path, base.RawQuery = names.PathExplain, url.Values{"path": {e.Path}}.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base.String(), bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("--envoy=%s: %w", e.Envoy, err)
	}
	req.Header.Set("content-type", "application/json")
	for _, h := range e.Header {
		i := strings.IndexAny(h, ":=")
		if i <= 0 {
			return nil, fmt.Errorf("--header=%s: must be NAME=VALUE", h)
		}
		name, value := strings.TrimSpace(h[:i]), strings.TrimSpace(h[i+1:])
		if strings.EqualFold(name, "host") {
			req.Host = value
			continue
		}
		req.Header.Add(name, value)
	}
	return req, nil
}

// refused says why an answer is none, if it is not.
func (e *explainCmd) refused(resp *http.Response, text []byte) error {
	ours := resp.Header.Get(names.HeaderExplain) == names.ExplainDryRun
	switch {
	case ours && resp.StatusCode == http.StatusOK:
		return nil
	case ours && resp.StatusCode == http.StatusForbidden:
		return fmt.Errorf("%s explains nothing to this address; add its network to explain.trustedNetworks of the ZerohopConfig", e.Envoy)
	case resp.StatusCode == http.StatusNotFound:
		return fmt.Errorf("%s answers 404: explaining is off, or its filter is not there; name the networks that may ask in explain.trustedNetworks of the ZerohopConfig", e.Envoy)
	case resp.StatusCode == http.StatusOK:
		return fmt.Errorf("%s answers, but not by the filter: it may have no route for %s, and a model server may have got the request; is it the right Envoy?", e.Envoy, names.PathExplain)
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(text[:min(len(text), 300)])), "\n")
	return fmt.Errorf("%s answers %s: %q", e.Envoy, resp.Status, line)
}

// explanation is the answer of a dry run; docs/explain.md describes it.
type explanation struct {
	Outcome, Profile, Handler, Parity, Revision string
	Status                                      int
	Fallback                                    bool
	Snapshot                                    struct {
		Version string
		AgeMs   int64
	}
	Request struct {
		Model                                                       string
		Tokens, MaxTokens, BlockTokens, Blocks, Universal, Priority int
		Headers                                                     map[string]bool
	}
	Candidates, Left, Ties int
	Held                   []struct {
		Endpoint, Address, Why string
		LeftMs                 int64
	}
	Denied *struct {
		Plugin, Type     string
		Value, Threshold *float64
	}
	Session string
	Filters []struct {
		Plugin, Type  string
		Before, After int
	}
	Removed    []struct{ Endpoint, Address, By string }
	Saturation []struct {
		Plugin string
		Value  *float64
	}
	Scorers []struct {
		Plugin, Type string
		Weight       float64
	}
	Best     []explainedEndpoint
	Inactive []struct{ Name, Type string }
}

type explainedEndpoint struct {
	Endpoint, Address           string
	Total                       *float64
	Matched                     int
	Scores                      []*float64
	Waiting, Queue, Running, KV *float64
	InFlight, InFlightTokens    int64
	ScrapeMs                    *int64
	Fresh                       bool
}

// verdict returns an error if no endpoint would get the request.
func (a *explanation) verdict() error {
	switch {
	case len(a.Best) > 0:
		return nil
	case a.Fallback:
		return errors.New("no endpoint would get this request; it would go to the fallback cluster")
	}
	return fmt.Errorf("no endpoint would get this request; it would be answered with %d, %s", a.Status, cmp.Or(a.Outcome, "without a reason"))
}
