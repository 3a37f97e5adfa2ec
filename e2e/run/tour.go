package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/zerohop/zerohop/e2e/harness"
)

const (
	sims     = 4
	simModel = "sim-model"
)

// message is one chat message.
type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// tour sends chats that share prefixes and prints where each went.
func tour(ctx context.Context, envoy *harness.Envoy, model string) error {
	support := message{"system", strings.Repeat("You are the support assistant of a bicycle shop. Answer briefly and kindly. ", 24)}
	tutor := message{"system", strings.Repeat("You teach chess to children and explain every move in one sentence. ", 24)}
	first := message{"user", "My chain jumps when I pedal hard. What can I do?"}
	answer := message{"assistant", "Check the chain for wear, and the cassette too."}
	chats := []struct {
		what     string
		messages []message
	}{
		{"shop, first question", []message{support, first}},
		{"chess, first question", []message{tutor, {"user", "How does a knight move?"}}},
		{"shop, second turn", []message{support, first, answer, {"user", "How do I measure wear?"}}},
		{"shop, another customer", []message{support, {"user", "Do you repair e-bikes?"}}},
		{"chess, another child", []message{tutor, {"user", "What is castling?"}}},
	}
	fmt.Printf("\n%-24s %-16s %14s %12s %12s\n", "request", "endpoint", "prefix hit", "added", "total")
	for _, c := range chats {
		id := rand.Text()
		took, err := chat(ctx, model, id, c.messages)
		if err != nil {
			return fmt.Errorf("%s: %w", c.what, err)
		}
		entry, err := waitEntry(ctx, envoy, id)
		if err != nil {
			return err
		}
		pick := fields(entry.String("pick"))
		fmt.Printf("%-24s %-16s %14s %9s µs %9.1f ms\n", c.what, pick["endpoint"],
			pick["matched"]+"/"+pick["total"]+" blocks", pick["decision_us"], float64(took.Microseconds())/1000)
	}
	return nil
}

// waitEntry waits for the access log's entry of the request with that id. Others may send requests meanwhile.
func waitEntry(ctx context.Context, envoy *harness.Envoy, id string) (harness.AccessEntry, error) {
	ctx, cancel := context.WithTimeout(ctx, entryTimeout)
	defer cancel()
	var entry harness.AccessEntry
	err := harness.Until(ctx, "the access log's entry", func() error {
		if err := envoy.Exited(); err != nil {
			return err
		}
		entries, err := envoy.AccessLog()
		if err != nil {
			return err
		}
		var ok bool
		if entry, ok = entryOf(entries, id); !ok {
			return fmt.Errorf("it is none of %d", len(entries))
		}
		return nil
	})
	return entry, err
}

// entryOf returns the entry of the request that chat sent with that id.
func entryOf(entries []harness.AccessEntry, id string) (harness.AccessEntry, bool) {
	for _, e := range entries {
		if strings.HasSuffix(e.String("path"), "?"+idParameter+"="+id) {
			return e, true
		}
	}
	return nil, false
}

// entryTimeout bounds the wait for an entry, which Envoy writes within a moment of the answer.
const entryTimeout = 10 * time.Second

// idParameter carries the id in the path. Envoy makes an x-request-id of its own.
const idParameter = "tour"

// chat sends one chat through Envoy and returns how long the answer took.
func chat(ctx context.Context, model, id string, messages []message) (time.Duration, error) {
	body, err := json.Marshal(map[string]any{"model": model, "messages": messages, "max_tokens": 8})
	if err != nil {
		return 0, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+proxy+"/v1/chat/completions?"+idParameter+"="+id, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("content-type", "application/json")
	began := time.Now()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	if resp.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("status %d: %.300s", resp.StatusCode, b)
	}
	return time.Since(began), nil
}

// fields splits "a=1 b=2".
func fields(s string) map[string]string {
	m := make(map[string]string)
	for _, f := range strings.Fields(s) {
		k, v, _ := strings.Cut(f, "=")
		m[k] = v
	}
	return m
}
