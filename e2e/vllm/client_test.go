//go:build vllm

package vllm

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// request is one call of the API, as client.py takes it.
type request struct {
	ID        string         `json:"id"`
	API       string         `json:"api"` // "chat" or "completions"
	Prompt    string         `json:"prompt"`
	MaxTokens int            `json:"max_tokens"`
	Stream    bool           `json:"stream"`
	Extra     map[string]any `json:"extra,omitempty"` // fields beyond OpenAI's
}

// result is what became of a request.
type result struct {
	Text         string `json:"text"` // of an error: what had arrived before it
	FinishReason string `json:"finish_reason"`
	PromptTokens int    `json:"prompt_tokens"`
	CachedTokens *int   `json:"cached_tokens"` // nil if usage does not say
	Error        string `json:"error"`         // empty unless the client raised
	Chunks       int    `json:"-"`             // of a stream, those with text
}

// call is a request under way.
type call struct {
	first  chan struct{} // closed at the first chunk, or at the end
	done   chan struct{}
	result result // read only after done is closed
}

// client is the official openai client in a process of its own.
type client struct {
	stdin io.WriteCloser
	ended chan struct{}

	mu    sync.Mutex
	calls map[string]*call
	next  int
}

// openClient starts the client; it ends with the test.
func openClient(t *testing.T, in Installation, baseURL string) *client {
	t.Helper()
	c := &client{ended: make(chan struct{}), calls: map[string]*call{}}
	cmd := in.Python("client.py", baseURL+"/v1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start client: %v", err)
	}
	c.stdin = stdin
	go func() {
		defer close(c.ended)
		lines := bufio.NewScanner(stdout)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			c.take(lines.Bytes())
		}
		err := cmd.Wait()
		c.abandon(fmt.Sprintf("the client has ended: %v\n%s", err, stderr.Bytes()))
	}()
	t.Cleanup(func() {
		_ = stdin.Close()
		<-c.ended
	})
	return c
}

// take handles one line of the client's output.
func (c *client) take(line []byte) {
	var e struct {
		ID    string `json:"id"`
		Event string `json:"event"`
		result
	}
	if json.Unmarshal(line, &e) != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	call := c.calls[e.ID]
	if call == nil {
		return
	}
	if e.Event == "chunk" {
		if call.result.Chunks == 0 {
			close(call.first)
		}
		call.result.Chunks++
		return
	}
	e.Chunks = call.result.Chunks
	c.finish(e.ID, e.result)
}

// finish ends a call; c.mu is held.
func (c *client) finish(id string, r result) {
	call := c.calls[id]
	delete(c.calls, id)
	if call.result.Chunks == 0 {
		close(call.first)
	}
	call.result = r
	close(call.done)
}

func (c *client) abandon(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, call := range c.calls {
		c.finish(id, result{Error: reason, Chunks: call.result.Chunks})
	}
}

// start sends a request and returns at once.
func (c *client) start(t *testing.T, r request) *call {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next++
	r.ID = strconv.Itoa(c.next)
	line, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	call := &call{first: make(chan struct{}), done: make(chan struct{})}
	c.calls[r.ID] = call
	if _, err := c.stdin.Write(append(line, '\n')); err != nil {
		t.Fatalf("send a request to the client: %v", err)
	}
	return call
}

// do sends a request and waits for its end. An error of the API fails the test.
func (c *client) do(ctx context.Context, t *testing.T, r request) result {
	t.Helper()
	got := c.start(t, r).wait(ctx, t)
	if got.Error != "" {
		t.Fatalf("%s, stream %v: %s", r.API, r.Stream, got.Error)
	}
	return got
}

// wait returns the result. The end of ctx before that fails the test: a request may not hang.
func (c *call) wait(ctx context.Context, t *testing.T) result {
	t.Helper()
	select {
	case <-c.done:
		return c.result
	case <-ctx.Done():
		t.Fatalf("the request has not ended: %v", ctx.Err())
		panic("unreachable")
	}
}

// ended says whether the result is there.
func (c *call) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// salt returns a cache salt for the test: what it sends has been seen by nobody. vLLM refuses some characters.
func salt(t *testing.T) string {
	return strings.ReplaceAll(t.Name(), "/", "-")
}
