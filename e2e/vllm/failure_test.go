//go:build vllm

package vllm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/zerohop/zerohop/e2e/harness"
)

// story is some blocks long, so that requests which begin with it go where it went before.
var story = strings.Repeat("a long story ", 100)

// longRequest is a stream of a few seconds.
func longRequest(t *testing.T) request {
	return request{
		API: "completions", Prompt: story, MaxTokens: 2000, Stream: true,
		Extra: map[string]any{"ignore_eos": true, "cache_salt": salt(t)},
	}
}

// shortRequest has a prompt that no endpoint has seen.
func shortRequest(t *testing.T, i int) request {
	return request{
		API: []string{"chat", "completions"}[i%2], Prompt: fmt.Sprintf("%d is the number of this request", i), MaxTokens: 4,
		Stream: i%4 < 2, Extra: map[string]any{"cache_salt": salt(t)},
	}
}

// sameRequest goes to the server that has the long request, as long as that is taken for healthy.
func sameRequest(t *testing.T, i int) request {
	r := shortRequest(t, i)
	r.API, r.Prompt = "completions", story+r.Prompt
	return r
}

// streaming starts a long stream and returns it with the position of the server that has it.
func (b *bed) streaming(ctx context.Context, t *testing.T, c *client) (*call, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	long := c.start(t, longRequest(t))
	select {
	case <-long.first:
	case <-ctx.Done():
		t.Fatal(ctx.Err())
	}
	victim := -1
	err := harness.Until(ctx, "a server to run the stream", func() error {
		if long.ended() {
			cancel() // nothing to wait for
			return fmt.Errorf("it has ended: %q", long.result.Error)
		}
		_, each := b.metrics(ctx, t)
		for i := range each {
			if each[i][Running] == 1 {
				victim = i
				return nil
			}
		}
		return errors.New("none does")
	})
	if err != nil {
		t.Fatal(err)
	}
	return long, victim
}

// testTerminate stops a server the regular way while it answers a stream. It takes no new connection from then on but
// finishes what it has.
func (b *bed) testTerminate(ctx context.Context, t *testing.T, c *client) {
	long, victim := b.streaming(ctx, t, c)
	if err := b.servers[victim].Terminate(); err != nil {
		t.Fatal(err)
	}
	b.serveWithout(ctx, t, c, victim)
	bounded, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if got := long.wait(bounded, t); got.Error != "" || got.FinishReason != "length" {
		t.Errorf("the stream ended with %q, error %q, want length", got.FinishReason, got.Error)
	}
	b.comeBack(ctx, t, c, victim)
}

// testEngineKilled kills the engine behind a server's front end while it answers a stream. The stream cannot be saved,
// but has to end; requests that come later must not notice.
func (b *bed) testEngineKilled(ctx context.Context, t *testing.T, c *client) {
	long, victim := b.streaming(ctx, t, c)
	if err := b.servers[victim].KillEngine(); err != nil {
		t.Fatal(err)
	}
	bounded, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	got := long.wait(bounded, t)
	t.Logf("the stream ended after %d chunks with %q, error %q", got.Chunks, got.FinishReason, got.Error)
	if got.Error == "" && got.FinishReason != "length" {
		t.Errorf("the stream ended without an error and without its last token")
	}
	b.serveWithout(ctx, t, c, victim)
	b.comeBack(ctx, t, c, victim)
}

// maxLost is how many 500s of a dying server may reach clients. vLLM answers requests with 500 while it shuts down, and a
// 500 is not retried: the next server might die of the same prompt. Three in a row cool the endpoint down, and after that
// it gets one request as a probe after each pause. No 503 may reach clients: a request that was on its way when vLLM closed
// the connection, which it does after each such 500 without announcing it, is sent to the other server (retryUnanswered).
const maxLost = 5

// serveWithout sends requests while the server at position victim goes down, until enough have succeeded on the other one. The first
// ones would go to the one that goes down.
func (b *bed) serveWithout(ctx context.Context, t *testing.T, c *client, victim int) {
	t.Helper()
	const requests = 8
	survivor := b.servers[1-victim]
	before, err := survivor.Metrics(ctx)
	if err != nil {
		t.Fatal(err)
	}
	served, lost := 0, 0
	for i := 0; served < requests && lost <= maxLost; i++ {
		r := shortRequest(t, i)
		if i < requests/2 {
			r = sameRequest(t, i)
		}
		bounded, cancel := context.WithTimeout(ctx, requestTimeout)
		got := c.start(t, r).wait(bounded, t)
		cancel()
		switch {
		case got.Error == "":
			served++
		case strings.Contains(got.Error, "500"):
			lost++
		default:
			t.Errorf("request %d: %s", i, got.Error)
			served++
		}
	}
	t.Logf("%d requests got 500 from the server that goes down", lost)
	if lost > maxLost {
		t.Errorf("more than %d requests got 500", maxLost)
	}
	after, err := survivor.Metrics(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if n := after[Succeeded] - before[Succeeded]; n < requests/2 {
		t.Errorf("the endpoint that is left has served %g of %d requests", n, requests)
	}
}

// comeBack waits for the end of the server at position victim, starts it anew on its old port, and sends requests
// until one of them reaches it.
func (b *bed) comeBack(ctx context.Context, t *testing.T, c *client, victim int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	select {
	case <-b.servers[victim].Done():
	case <-ctx.Done():
		t.Fatalf("%s has not ended: %v", b.servers[victim].Name(), ctx.Err())
	}
	b.start(t, victim, b.servers[victim].Address)
	b.ready(ctx, t, b.servers[victim])
	for i := 100; ; i++ {
		c.do(ctx, t, shortRequest(t, i))
		m, err := b.servers[victim].Metrics(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if m[Succeeded] > 0 {
			t.Logf("%s is back after %d requests", b.servers[victim].Name(), i-100+1)
			return
		}
	}
}
