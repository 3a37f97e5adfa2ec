package bodies

import (
	"net/http"
	"strings"
	"testing"

	"github.com/zerohop/zerohop/e2e/traffic"
	"github.com/zerohop/zerohop/filter/scan"
)

// content sends bodies that are no requests, or strange ones. Whatever it is, an endpoint gets it unchanged and says what it
// thinks of it; the filter only does not know the prompt.
func content(t *testing.T, b *traffic.Bed) {
	const messages = `"messages":[{"role":"user","content":"hello"}]`
	nested := func(depth int) string {
		return `{"model":"m",` + messages + `,"x":` + strings.Repeat("[", depth) + strings.Repeat("]", depth) + `}`
	}
	form := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	for _, c := range []struct {
		name, path, body string
		header           http.Header
		reason           string
	}{
		{"not JSON", traffic.PathChat, "what is the weather like?", nil, "not_json"},
		{"form data", traffic.PathChat, "model=m&prompt=hello%20world", form, "not_json"},
		{"binary", traffic.PathChat, "\x00\x01\xff\xfe\r\n\x80", nil, "not_json"},
		{"JSON of another kind", traffic.PathChat, `["a"]`, nil, "not_json"},
		{"only white space", traffic.PathChat, " \r\n\t ", nil, "not_json"},
		{"garbage behind the object", traffic.PathChat, `{"model":"m",` + messages + `}}`, nil, "not_json"},
		{"cut in a string", traffic.PathChat, `{"model":"m","messages":[{"role":"user","content":"hel`, nil, "truncated"},
		{"cut before the end", traffic.PathChat, `{"model":"m",` + messages, nil, "truncated"},
		{"deepest nesting", traffic.PathChat, nested(scan.MaxDepth - 1), nil, "scored"},
		{"too deep nesting", traffic.PathChat, nested(scan.MaxDepth), nil, "too_deep"},
		{"deep and cut off", traffic.PathChat, strings.Repeat(`{"a":`, 1<<20), nil, "too_deep"},
		{"equal keys", traffic.PathChat, `{"model":"n","model":"m",` + messages + `,` + messages + `}`, nil, "scored"},
		{"lone surrogates", traffic.PathChat, `{"model":"m","messages":[{"role":"user","content":"\ud800 \udc00\ud800 \ud800\u0041"}]}`, nil, "scored"},
		{"escaped NUL", traffic.PathChat, `{"model":"m","messages":[{"role":"user","content":"a\u0000b"}]}`, nil, "scored"},
		{"NUL between tokens", traffic.PathChat, "{\x00\"model\":\"m\"," + messages + "}", nil, "not_json"},
		{"invalid UTF-8", traffic.PathChat, "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"\xff\xfe\"}]}", nil, "scored"},
		{"empty object", traffic.PathChat, `{}`, nil, "no_prompt"},
		{"prompt in a chat", traffic.PathChat, `{"model":"m","prompt":"hello"}`, nil, "no_prompt"},
		{"no model", traffic.PathChat, `{` + messages + `}`, nil, "no_model"},
		{"long model", traffic.PathChat, `{"model":"` + strings.Repeat("m", scan.MaxField+1) + `",` + messages + `}`, nil, "field_too_big"},
		{"completions", traffic.PathCompletions, `{"model":"m","prompt":"hello"}`, nil, "scored"},
		{"token ids", traffic.PathCompletions, `{"model":"m","prompt":[1,2,3]}`, nil, "scored"},
		{"several prompts", traffic.PathCompletions, `{"model":"m","prompt":["hello","world"]}`, nil, "scored"},
		{"messages in completions", traffic.PathCompletions, `{"model":"m",` + messages + `}`, nil, "no_prompt"},
		{"unknown path", "/sim/echo", `{"model":"m",` + messages + `}`, nil, "unknown_path"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := b.Do(t, traffic.Request{Path: c.path, Header: c.header, Body: []byte(c.body)})
			p := served(t, b, r, []byte(c.body), c.reason)
			if known := c.reason == "scored"; !known && p.Total != 0 {
				t.Errorf("%d blocks of a prompt that is not understood", p.Total)
			}
		})
	}
}
