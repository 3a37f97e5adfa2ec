package simserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/zerohop/zerohop/e2e/engine"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start runs an endpoint that is far faster than real time, unless the test says otherwise.
func start(t *testing.T, cfg Config) *Server {
	t.Helper()
	if cfg.Speed == 0 {
		cfg.Speed = 1000
	}
	s, err := Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// post sends a body and returns the response with its body read. The test fails if there is no whole response.
func post(t *testing.T, url, body string) (*http.Response, string) {
	t.Helper()
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(b)
}

func get(t *testing.T, url string) (*http.Response, string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(b)
}

// decode returns a JSON text as maps and lists.
func decode(t *testing.T, text string) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return v
}

// eventually waits for a condition that another goroutine brings about.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

func TestChatCompletion(t *testing.T) {
	s := start(t, Config{Name: "sim-7"})
	resp, body := post(t, s.URL()+pathChat,
		`{"model":"sim-model","messages":[{"role":"user","content":"hello there"}],"max_tokens":3}`)
	if resp.StatusCode != 200 || resp.Header.Get("x-sim-endpoint") != "sim-7" {
		t.Fatalf("status %d, endpoint %q: %s", resp.StatusCode, resp.Header.Get("x-sim-endpoint"), body)
	}
	got := decode(t, body)
	text := string(engine.AppendOutput(nil, engine.NewPrompt([]byte("userhello there"), "sim-model", 16).OutputSeed(), 0, 3))
	want := map[string]any{
		"id": "chatcmpl-8000000000000001", "object": "chat.completion", "created": got["created"], "model": "sim-model",
		"choices": []any{map[string]any{
			"index":    0.0,
			"message":  map[string]any{"role": "assistant", "content": text, "refusal": nil, "tool_calls": []any{}},
			"logprobs": nil, "finish_reason": "length", "stop_reason": nil,
		}},
		"service_tier": nil, "system_fingerprint": fingerprint,
		"usage": map[string]any{
			"prompt_tokens": 4.0, "completion_tokens": 3.0, "total_tokens": 7.0,
			"prompt_tokens_details": map[string]any{"cached_tokens": 0.0},
		},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("response (-want +got):\n%s", d)
	}
}

func TestCompletionOfSeveralPrompts(t *testing.T) {
	s := start(t, Config{})
	_, body := post(t, s.URL()+pathCompletions, `{"prompt":["one","two"],"max_tokens":2}`)
	got := decode(t, body)
	choices := got["choices"].([]any)
	if len(choices) != 2 || got["object"] != "text_completion" {
		t.Fatalf("%d choices in %s, want 2 in a text_completion", len(choices), body)
	}
	first, second := choices[0].(map[string]any), choices[1].(map[string]any)
	if first["text"] == second["text"] || second["index"] != 1.0 {
		t.Errorf("choices %v and %v: want different texts in order", first, second)
	}
	if got := got["usage"].(map[string]any); got["prompt_tokens"] != 2.0 || got["completion_tokens"] != 4.0 {
		t.Errorf("usage = %v, want 2 prompt and 4 completion tokens", got)
	}
}

// events reads a stream of server-sent events and checks its framing.
func events(t *testing.T, stream string) []string {
	t.Helper()
	var data []string
	for _, event := range strings.SplitAfter(stream, "\n\n") {
		if event == "" {
			continue
		}
		text, begins := strings.CutPrefix(event, "data: ")
		text, ends := strings.CutSuffix(text, "\n\n")
		if !begins || !ends || strings.Contains(text, "\n") {
			t.Fatalf("event %q: want one data line and an empty line", event)
		}
		data = append(data, text)
	}
	return data
}

func TestStream(t *testing.T) {
	s := start(t, Config{})
	for _, c := range []struct {
		name, path, body string
		content          func(choice map[string]any) any
	}{
		{"chat", pathChat, `{"messages":[{"role":"user","content":"x"}],`, func(choice map[string]any) any {
			return choice["delta"].(map[string]any)["content"]
		}},
		{"completions", pathCompletions, `{"prompt":"userx",`, func(choice map[string]any) any { return choice["text"] }},
	} {
		t.Run(c.name, func(t *testing.T) {
			body := c.body + `"max_tokens":40,"stream":true,"stream_options":{"include_usage":true}}`
			resp, stream := post(t, s.URL()+c.path, body)
			if got := resp.Header.Get("Content-Type"); got != "text/event-stream; charset=utf-8" {
				t.Errorf("content type = %q", got)
			}
			data := events(t, stream)
			if data[len(data)-1] != "[DONE]" {
				t.Fatalf("last event = %q", data[len(data)-1])
			}
			text := ""
			var finish any
			for _, d := range data[:len(data)-2] {
				choice := decode(t, d)["choices"].([]any)[0].(map[string]any)
				if finish != nil {
					t.Errorf("event after the finish reason: %s", d)
				}
				text += c.content(choice).(string)
				finish = choice["finish_reason"]
			}
			if want := 40 * 4; len(text) != want || finish != "length" {
				t.Errorf("%d bytes of text, finish reason %v, want %d and length", len(text), finish, want)
			}
			usage := decode(t, data[len(data)-2])
			if len(usage["choices"].([]any)) != 0 || usage["usage"].(map[string]any)["completion_tokens"] != 40.0 {
				t.Errorf("usage event = %v", usage)
			}
		})
	}
}

// TestStreamHeadersComeFirst shows that a stream's status arrives while its prompt is still being computed.
func TestStreamHeadersComeFirst(t *testing.T) {
	s := start(t, Config{Speed: 1e-3}) // a step takes seconds
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r, _ := http.NewRequestWithContext(ctx, http.MethodPost, s.URL()+pathCompletions, strings.NewReader(`{"prompt":"x","stream":true}`))
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	eventually(t, "the request runs", func() bool { return s.Stats().Running == 1 })
	if got := s.Stats(); got.GenerationTokens != 0 || got.InFlight != 1 {
		t.Errorf("stats = %+v, want one request in flight without a token", got)
	}
	cancel()
	eventually(t, "the request is cancelled", func() bool { return s.Stats().Aborted == 1 && s.Stats().InFlight == 0 })
}

// TestCachedTokens sends a prompt twice, and once each with another salt, model and tool.
func TestCachedTokens(t *testing.T) {
	s := start(t, Config{Models: []string{"m", "adapter"}, Engine: engine.Config{CapacityTokens: 100_000}})
	text := strings.Repeat("0123456789abcdef", 100)
	for _, c := range []struct {
		name, head string
		want       float64
	}{
		{"first", `{"model":"m"`, 0},
		{"again", `{"model":"m"`, 400},
		{"other salt", `{"model":"m","cache_salt":"s"`, 0},
		{"other model", `{"model":"adapter"`, 0},
		{"tools", `{"model":"m","tools":[{"type":"function","function":{"name":"f"}}]`, 0},
		{"no tools", `{"model":"m","tools":[]`, 400},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, body := post(t, s.URL()+pathChat, c.head+`,"messages":[{"role":"user","content":"`+text+`"}],"max_tokens":1}`)
			usage := decode(t, body)["usage"].(map[string]any)
			if got := usage["prompt_tokens_details"].(map[string]any)["cached_tokens"]; got != c.want {
				t.Errorf("cached tokens = %v, want %v of %v", got, c.want, usage["prompt_tokens"])
			}
		})
	}
	st := s.Stats()
	if st.CachedTokens != 800 || st.PromptTokens != st.CachedTokens+st.UncachedTokens {
		t.Errorf("stats = %+v, want 800 cached tokens and a sum that holds", st)
	}
	if err := s.Reset(); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(Stats{Name: "sim"}, s.Stats()); d != "" || len(s.Records()) != 0 {
		t.Errorf("after reset (-want +got):\n%s", d)
	}
}

func TestErrors(t *testing.T) {
	s := start(t, Config{Engine: engine.Config{MaxModelLen: 100}, MaxBodyBytes: 1000})
	for _, c := range []struct {
		name, path, body string
		status           int
		message          string
	}{
		{"not JSON", pathChat, `{"messages":`, 400, "body is not a request"},
		{"no messages", pathChat, `{}`, 400, "messages must have"},
		{"content of another type", pathChat, `{"messages":[{"role":"user","content":5}]}`, 400, "messages[0].content"},
		{"no prompt", pathCompletions, `{}`, 400, "prompt is missing"},
		{"empty prompt", pathCompletions, `{"prompt":""}`, 400, "empty"},
		{"prompt of another type", pathCompletions, `{"prompt":{}}`, 400, "prompt must be"},
		{"no tokens", pathCompletions, `{"prompt":"x","max_tokens":0}`, 400, "max_tokens must be"},
		{"several answers", pathCompletions, `{"prompt":"x","n":2}`, 400, "n must be 1"},
		{"unknown model", pathCompletions, `{"prompt":"x","model":"other"}`, 404, "`other` does not exist"},
		{"too long", pathCompletions, `{"prompt":"x","max_tokens":100}`, 400, "maximum context length is 100"},
		{"too large", pathCompletions, `{"prompt":"` + strings.Repeat("x", 1000) + `"}`, 413, "exceeds 1000 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			resp, body := post(t, s.URL()+c.path, c.body)
			e := decode(t, body)["error"].(map[string]any)
			if resp.StatusCode != c.status || e["code"] != float64(c.status) || !strings.Contains(e["message"].(string), c.message) {
				t.Errorf("status %d, body %s: want %d and %q", resp.StatusCode, body, c.status, c.message)
			}
		})
	}
	if resp, _ := get(t, s.URL()+pathChat); resp.StatusCode != 405 {
		t.Errorf("GET: status %d, want 405", resp.StatusCode)
	}
	if got := s.Stats(); got.Errors != 12 || got.InFlight != 0 || got.Running != 0 {
		t.Errorf("stats = %+v, want 12 errors and nothing left", got)
	}
}

// TestClose shows that closing breaks a stream visibly, and that shutting down lets it end.
func TestClose(t *testing.T) {
	for _, c := range []struct {
		name     string
		close    func(*Server)
		wantDone bool
	}{
		{"close", func(s *Server) { _ = s.Close() }, false},
		{"shutdown", func(s *Server) {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			_ = s.Shutdown(ctx)
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := start(t, Config{Speed: 5})
			resp, err := http.Post(s.URL()+pathCompletions, "", strings.NewReader(`{"prompt":"x","max_tokens":100,"stream":true}`))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			in := bufio.NewReader(resp.Body)
			if _, err := in.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			c.close(s)
			rest, err := io.ReadAll(in)
			if done := bytes.HasSuffix(rest, []byte("data: [DONE]\n\n")); done != c.wantDone || (err == nil) != c.wantDone {
				t.Errorf("done %v, error %v", done, err)
			}
		})
	}
}

func TestStartErrors(t *testing.T) {
	for _, c := range []struct {
		name string
		cfg  Config
	}{
		{"address", Config{Listen: "127.0.0.1:no"}},
		{"speed", Config{Speed: -1}},
		{"stream interval", Config{StreamInterval: -1}},
		{"engine", Config{Engine: engine.Config{BlockTokens: -1}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Start(c.cfg); err == nil {
				t.Error("no error")
			}
		})
	}
}
