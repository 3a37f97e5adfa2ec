//go:build vllm

package vllm

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/zerohop/zerohop/e2e/harness"
	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/snapshot"
)

// tap is a proxy in front of a server that keeps what the server answered. Two answers of vLLM are never the same, so
// what came out of Envoy can only be compared with what went in.
type tap struct {
	http *httptest.Server

	mu     sync.Mutex
	answer bytes.Buffer
}

func openTap(t *testing.T, address string) *tap {
	p := &tap{}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: address})
	proxy.FlushInterval = -1 // pass every piece on at once
	proxy.ModifyResponse = func(r *http.Response) error {
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.TeeReader(r.Body, p), r.Body}
		return nil
	}
	p.http = httptest.NewServer(proxy)
	t.Cleanup(p.http.Close)
	return p
}

// Write keeps a piece of the answer to the request under way.
func (p *tap) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.answer.Write(b)
}

// take returns the answer so far and forgets it.
func (p *tap) take() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := bytes.Clone(p.answer.Bytes())
	p.answer.Reset()
	return b
}

// testStreamUnchanged compares every byte of an event stream before and behind Envoy, in a stack of its own that has
// the tap as its only endpoint. Nobody scrapes it: the tap would keep that, too.
func (b *bed) testStreamUnchanged(ctx context.Context, t *testing.T) {
	p := openTap(t, b.servers[0].Address)
	stack := harness.ForTest(t, harness.Options{
		Endpoints:    []harness.Endpoint{{Name: "tap", Address: strings.TrimPrefix(p.http.URL, "http://")}},
		WithoutAgent: true,
		Name:         "tap",
	})
	tests := []struct{ name, path, prompt string }{
		{"chat", "/v1/chat/completions", `"messages":[{"role":"user","content":"hello"}]`},
		{"completions", "/v1/completions", `"prompt":"hello"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p.take()
			body := fmt.Sprintf(`{"model":%q,%s,"max_tokens":64,"ignore_eos":true,"stream":true}`, Model, tt.prompt)
			got := post(ctx, t, stack.URL()+tt.path, body)
			if sent := p.take(); !bytes.Equal(sent, got) {
				t.Errorf("%d bytes went in, %d came out:\n%s\n%s", len(sent), len(got), sent, got)
			}
			if events := bytes.Count(got, []byte("\n\n")); events < 3 || !bytes.HasSuffix(got, []byte("data: [DONE]\n\n")) {
				t.Errorf("%d events, no end:\n%s", events, got)
			}
		})
	}
}

func post(ctx context.Context, t *testing.T, url, body string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("content-type", "application/json")
	resp, err := httpClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("status %d: %s", resp.StatusCode, b)
	}
	return b
}

// testSnapshot waits until the agent's snapshot shows what the servers' metrics pages say: the size of the cache of
// both, and a request that runs on one of them.
func (b *bed) testSnapshot(ctx context.Context, t *testing.T, c *client) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	long := c.start(t, longRequest(t))
	err := harness.Until(ctx, "the snapshot to show the running request", func() error {
		eps, err := b.snapshot(ctx)
		if err != nil {
			return err
		}
		running := 0
		for _, e := range eps {
			if e.ScrapeAgeMs == snapshot.NeverScraped || e.NumBlocks != KVBlocks || e.BlockSize != BlockTokens {
				return fmt.Errorf("%s: scraped %d ms ago, %d blocks of %d tokens", e.Name, e.ScrapeAgeMs, e.NumBlocks, e.BlockSize)
			}
			running += int(e.Running)
		}
		if len(eps) != len(b.servers) || running != 1 {
			return fmt.Errorf("%d endpoints, %d running requests", len(eps), running)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if got := long.wait(ctx, t); got.Error != "" {
		t.Error(got.Error)
	}
}

// snapshot fetches the agent's newest snapshot.
func (b *bed) snapshot(ctx context.Context) ([]snapshot.Endpoint, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.stack.AgentURL()+names.PathSnapshot+"?v=0", nil)
	if err != nil {
		return nil, err
	}
	resp, err := httpClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	view, err := snapshot.Open(body)
	if err != nil {
		return nil, fmt.Errorf("status %d: %w", resp.StatusCode, err)
	}
	eps := make([]snapshot.Endpoint, view.Len())
	for i := range eps {
		view.Endpoint(i, &eps[i])
	}
	return eps, nil
}
