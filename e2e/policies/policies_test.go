package policies

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zerohop/zerohop/e2e/engine"
	"github.com/zerohop/zerohop/e2e/harness"
	"github.com/zerohop/zerohop/e2e/traffic"
	"github.com/zerohop/zerohop/e2e/vllmsim/simserver"
)

const sims = 3

// start starts an Envoy with a configuration of this repository. labels says which labels endpoint i has; nil means none.
func start(t *testing.T, config string, sim simserver.Config, labels func(i int) map[string]string) *traffic.Bed {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a real Envoy")
	}
	servers := harness.SimsForTest(t, sims, sim)
	endpoints := servers.Endpoints()
	if labels != nil {
		for i := range endpoints {
			endpoints[i].Labels = labels(i)
		}
	}
	b := traffic.Start(t, traffic.Options{Options: harness.Options{ConfigFile: config, Endpoints: endpoints}})
	b.Sims = servers
	return b
}

// send sends a request and wants it answered by an endpoint that a profile picked.
func send(t *testing.T, b *traffic.Bed, r traffic.Request) (*traffic.Response, traffic.Pick) {
	t.Helper()
	resp := b.Do(t, r)
	pick := b.Pick(t, resp.ID)
	if resp.Status != http.StatusOK || pick.Reason != "scored" || pick.Profile != "default" || pick.Candidates != sims {
		t.Fatalf("status %d, pick %+v: %s", resp.Status, pick, resp.Body)
	}
	return resp, pick
}

// stays sends conversations that grow, and wants each where its beginning is.
func stays(t *testing.T, b *traffic.Bed, seed uint64) {
	t.Helper()
	const turns = 4
	for c := range uint64(4) {
		text, first := traffic.Text(seed+c, 8<<10), ""
		for turn := range uint64(turns) {
			text += traffic.Text(seed+100*c+turn, 1<<10)
			resp, pick := send(t, b, traffic.Request{Body: traffic.ChatBody(text)})
			if turn == 0 {
				first = resp.Endpoint()
			} else if resp.Endpoint() != first || pick.Matched == 0 {
				t.Errorf("turn %d of conversation %d went to %s, %d of %d blocks known; the first to %s", turn, c, resp.Endpoint(), pick.Matched, pick.Total, first)
			}
		}
	}
}

func TestDefault(t *testing.T) {
	stays(t, start(t, "config/default.yaml", simserver.Config{Speed: 100}, nil), 1)
}

// TestPrefix wants cold prompts to go around, and known ones to stay.
func TestPrefix(t *testing.T) {
	b := start(t, "e2e/policies/testdata/prefix.yaml", simserver.Config{Speed: 100}, nil)
	seen := map[string]int{}
	for i := range uint64(2 * sims) {
		resp, _ := send(t, b, traffic.Request{Body: traffic.ChatBody(traffic.Text(1000+i, 4<<10))})
		seen[resp.Endpoint()]++
	}
	if len(seen) != sims {
		t.Errorf("%d cold prompts went to %v", 2*sims, seen)
	}
	stays(t, b, 1)
}

// TestSticky wants a conversation on endpoints that have it. One request in a hundred explores, so what counts is what the filter
// left.
func TestSticky(t *testing.T) {
	b := start(t, "config/sticky-until-saturated.yaml", simserver.Config{Speed: 100}, nil)
	text, served, sticky := traffic.Text(1, 8<<10), map[string]bool{}, 0
	const turns = 20
	for turn := range turns {
		resp, pick := send(t, b, traffic.Request{Body: traffic.ChatBody(text)})
		if pick.Left < sims {
			sticky++
			if !served[resp.Endpoint()] {
				t.Errorf("turn %d went to %s, which has not seen it, of %d that the filter left", turn, resp.Endpoint(), pick.Left)
			}
		}
		served[resp.Endpoint()] = true
	}
	if sticky < turns/2 {
		t.Errorf("the filter kept all endpoints in %d of %d turns", turns-sticky, turns)
	}
}

// TestLoRA keeps an adapter busy on one endpoint, and wants requests for it there.
func TestLoRA(t *testing.T) {
	b := start(t, "config/lora.yaml", simserver.Config{Speed: 5, Adapters: []string{"sql", "code"}}, nil)
	body := func(model string, tokens int) string {
		return fmt.Sprintf(`{"model":%q,"max_tokens":%d,"messages":[{"role":"user","content":"hello"}]}`, model, tokens)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		hold(ctx, b.Sims[1].URL()+traffic.PathChat, body("sql", 50_000))
	}()
	defer func() { cancel(); <-ended }()
	request := traffic.Request{Body: []byte(body("sql", 1))}
	traffic.Until(t, "the adapter to be seen", func() error {
		if resp, _ := send(t, b, request); resp.Endpoint() != "sim-1" {
			return fmt.Errorf("sent to %s", resp.Endpoint())
		}
		return nil
	})
	for range 10 {
		if resp, _ := send(t, b, request); resp.Endpoint() != "sim-1" {
			t.Errorf("sent to %s, the adapter is on sim-1", resp.Endpoint())
		}
	}
}

// hold sends a request and waits for its end, or that of ctx.
func hold(ctx context.Context, url, body string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return
	}
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	if resp, err := tr.RoundTrip(req); err == nil {
		_ = resp.Body.Close()
	}
}

// TestLabels wants requests only where the labels allow them, and where a header says.
func TestLabels(t *testing.T) {
	labels := []map[string]string{
		{"llm-d.ai/role": "decode", "gpu": "h100", "slice": "a", "llm-d.ai/context-length-range": "0-1000"},
		{"llm-d.ai/role": "both", "gpu": "h200", "slice": "b", "llm-d.ai/context-length-range": "0-100000"},
		{"llm-d.ai/role": "prefill", "gpu": "h100", "slice": "a"},
	}
	b := start(t, "e2e/policies/testdata/labels.yaml", traffic.Instant(), func(i int) map[string]string { return labels[i] })
	traffic.Until(t, "the labels to arrive", func() error {
		if _, pick := send(t, b, traffic.Request{Body: traffic.ChatBody("hello")}); pick.Left != 2 {
			return fmt.Errorf("%d endpoints left", pick.Left)
		}
		return nil
	})
	short, long := traffic.ChatBody("hello"), traffic.ChatBody(traffic.Text(1, 8<<10))
	for _, tt := range []struct {
		slice string
		body  []byte
		want  string
	}{{"a", short, "sim-0"}, {"b", short, "sim-1"}, {"a", long, "sim-1"}, {"", long, "sim-1"}} {
		for range 5 {
			resp, _ := send(t, b, traffic.Request{Header: http.Header{"X-Slice": {tt.slice}}, Body: tt.body})
			if resp.Endpoint() != tt.want {
				t.Errorf("slice %q, %d bytes: sent to %s, want %s", tt.slice, len(tt.body), resp.Endpoint(), tt.want)
			}
		}
	}
}

func TestLatency(t *testing.T) {
	stays(t, start(t, "e2e/policies/testdata/latency.yaml", simserver.Config{Speed: 100}, nil), 1)
}

// TestSLO wants idle endpoints to serve requests of any priority, and full ones to refuse those that can wait.
func TestSLO(t *testing.T) {
	profile := engine.Qwen3x32B()
	profile.MaxRunning = 1
	b := start(t, "config/slo.yaml", simserver.Config{Speed: 5, Engine: engine.Config{Profile: profile}}, nil)
	request := func(objective string, i uint64) traffic.Request {
		body := fmt.Sprintf(`{"model":%q,"max_tokens":1,"messages":[{"role":"user","content":%q}]}`, simserver.DefaultModel, traffic.Text(i, 1<<10))
		return traffic.Request{Header: http.Header{"X-Llm-D-Inference-Objective": {objective}}, Body: []byte(body)}
	}
	for _, objective := range []string{"", "interactive", "batch"} {
		for i := range uint64(5) {
			send(t, b, request(objective, i))
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	var held sync.WaitGroup
	for _, sim := range b.Sims {
		for range 20 {
			held.Go(func() {
				hold(ctx, sim.URL()+traffic.PathChat, `{"model":"`+simserver.DefaultModel+`","max_tokens":50000,"messages":[{"role":"user","content":"hello"}]}`)
			})
		}
	}
	traffic.Until(t, "a batch request to be refused", func() error {
		soon, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if got := status(soon, b, request("batch", 9)); got != http.StatusTooManyRequests {
			return fmt.Errorf("status %d", got)
		}
		return nil
	})
	served := make(chan int, 1)
	go func() { served <- status(t.Context(), b, request("interactive", 9)) }()
	cancel()
	held.Wait()
	if got := <-served; got != http.StatusOK {
		t.Errorf("an interactive request got %d", got)
	}
}

// status sends a request by a client of its own, which may give up, and returns the status; 0 if there is none.
func status(ctx context.Context, b *traffic.Bed, r traffic.Request) int {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.URL()+traffic.PathChat, bytes.NewReader(r.Body))
	if err != nil {
		return 0
	}
	req.Header = r.Header
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	resp, err := tr.RoundTrip(req)
	if err != nil {
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}
