package simserver

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRender(t *testing.T) {
	for _, c := range []struct {
		name, body string
		chat       bool
		want       []string
	}{
		{"text", `{"messages":[{"role":"system","content":"a"},{"content":"b","role":"user"}]}`, true, []string{"systemauserb"}},
		{"text parts", `{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"u"}},{"type":"text","text":"b"}]}]}`, true, []string{"userab"}},
		{"no content", `{"messages":[{"role":"assistant","content":null},{"role":"tool"}]}`, true, []string{"assistanttool"}},
		{"tools sorted, numbers verbatim", `{"messages":[{"role":"user","content":"x"}],"tools":[{"type":"f","b":{"z":1.50,"a":1e3}}]}`, true, []string{`[{"b":{"a":1e3,"z":1.50},"type":"f"}]userx`}},
		{"escapes", `{"messages":[{"role":"user","content":"\u00e9\ud800\n"}]}`, true, []string{"useré\ufffd\n"}},
		{"prompt", `{"prompt":"abc"}`, false, []string{"abc"}},
		{"prompts", `{"prompt":["a","b"]}`, false, []string{"a", "b"}},
		{"token ids", `{"prompt":[1,258]}`, false, []string{"\x01\x00\x00\x00\x02\x01\x00\x00"}},
		{"lists of token ids", `{"prompt":[[1],[2]]}`, false, []string{"\x01\x00\x00\x00", "\x02\x00\x00\x00"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := parseRequest([]byte(c.body), c.chat)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range r.prompts {
				got = append(got, string(p))
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("prompts (-want +got):\n%s", d)
			}
		})
	}
}

func TestTokenLimits(t *testing.T) {
	for _, c := range []struct {
		name, body string
		chat       bool
		want       int
	}{
		{"max_tokens", `{"messages":[{"role":"user"}],"max_tokens":3}`, true, 3},
		{"max_completion_tokens goes first", `{"messages":[{"role":"user"}],"max_tokens":3,"max_completion_tokens":4}`, true, 4},
		{"completions know only max_tokens", `{"prompt":"x","max_tokens":3,"max_completion_tokens":4}`, false, 3},
		{"none", `{"prompt":"x"}`, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := parseRequest([]byte(c.body), c.chat)
			if err != nil {
				t.Fatal(err)
			}
			if r.maxTokens != c.want {
				t.Errorf("max tokens = %d, want %d", r.maxTokens, c.want)
			}
		})
	}
}

// FuzzParseRequest looks for bodies that break the parser.
func FuzzParseRequest(f *testing.F) {
	for _, body := range []string{
		`{"messages":[{"role":"user","content":"x"}],"tools":[{"a":1}]}`, `{"prompt":[[1],[2]]}`, `{"prompt":["a"]}`, `null`, ``,
	} {
		f.Add([]byte(body), true)
		f.Add([]byte(body), false)
	}
	f.Fuzz(func(t *testing.T, body []byte, chat bool) {
		r, err := parseRequest(body, chat)
		if (r == nil) != (err != nil) {
			t.Fatalf("request %v with error %v", r, err)
		}
		if r != nil && len(r.prompts) == 0 {
			t.Fatal("request without a prompt")
		}
	})
}
