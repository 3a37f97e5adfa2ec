package bodies

import (
	"strings"
	"testing"

	"github.com/zerohop/zerohop/e2e/traffic"
)

// prefix shows by hits in the prefix index which bodies have the same prompt. Each case has a text of its own, so that what
// is found was put there by the case.
func prefix(t *testing.T, b *traffic.Bed) {
	t.Run("same", func(t *testing.T) { samePrompt(t, b) })
	t.Run("other", func(t *testing.T) { otherPrompt(t, b) })
	t.Run("longer", func(t *testing.T) { longerPrompt(t, b) })
}

// promptBytes is the length of the texts: several blocks under any block size in use.
const promptBytes = 6000

// fill puts a text in place of every $ of a body.
func fill(body, text string) []byte { return []byte(strings.ReplaceAll(body, "$", text)) }

const tools = `[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"b":{"type":"number","minimum":1.50},"a":{}}}}}]`

// samePrompt sends two bodies that say the same: all blocks of the second are found where the first went.
func samePrompt(t *testing.T, b *traffic.Bed) {
	const plain = `{"model":"m","messages":[{"role":"user","content":"$"}]}`
	const withTools = `{"model":"m","tools":` + tools + `,"messages":[{"role":"system","content":"be"},{"role":"user","content":"$"}]}`
	for i, c := range []struct{ name, path, first, second string }{
		{"the same bytes", traffic.PathChat, plain, plain},
		{"one text part", traffic.PathChat, plain, `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"$"}]}]}`},
		{"escapes", traffic.PathChat, plain, `{"model":"\u006d","messages":[{"role":"us\u0065r","content":"$"}]}`},
		{"model last", traffic.PathChat, plain, `{"messages":[{"role":"user","content":"$"}],"stream":true,"model":"m"}`},
		{"content before role", traffic.PathChat, withTools, `{"model":"m","tools":` + tools + `,"messages":[{"content":"be","role":"system"},{"content":"$","role":"user"}]}`},
		{"tools after messages", traffic.PathChat, withTools, `{"model":"m","messages":[{"role":"system","content":"be"},{"role":"user","content":"$"}],"tools":` + tools + `}`},
		{"tools in another order", traffic.PathChat, withTools, `{"tools":[ {"function":{"parameters":{"properties":{"a":{},"b":{"minimum":1.50,"type":"number"}},"type":"object"},"name":"f"}, "type":"function"} ],"model":"m","messages":[{"role":"system","content":"be"},{"role":"user","content":"$"}]}`},
		{
			"text that looks like fields", traffic.PathChat,
			`{"model":"m","messages":[{"role":"user","content":"$\",\"model\":\"n\",\"cache_salt\":\"s\",\"tools\":[1],\"messages\":[{}]}"}]}`,
			`{"messages":[{"content":"$\",\"model\":\"n\",\"cache_salt\":\"s\",\"tools\":[1],\"messages\":[{}]}","role":"user"}],"model":"m"}`,
		},
		{"equal keys, the last counts", traffic.PathChat, plain, `{"model":"n","messages":[{"role":"user","content":"no"}],"model":"m","messages":[{"role":"system","role":"user","content":"$"}]}`},
		{"same salt", traffic.PathChat, `{"cache_salt":"s","model":"m","messages":[{"role":"user","content":"$"}]}`, `{"model":"m","messages":[{"role":"user","content":"$"}],"cache_salt":"s"}`},
		{"completions", traffic.PathCompletions, `{"model":"m","prompt":"$"}`, `{"prompt":["$"],"max_tokens":3,"model":"m"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := traffic.Text(100+uint64(i), promptBytes)
			first, second := pair(t, b, c.path, fill(c.first, text), fill(c.second, text))
			if first.Matched != 0 || first.Total == 0 {
				t.Fatalf("first: %d of %d blocks found, want none of some", first.Matched, first.Total)
			}
			if second.Matched != second.Total || second.Total != first.Total || second.Endpoint != first.Endpoint {
				t.Errorf("second: %+v, want all %d blocks found at %s", second, first.Total, first.Endpoint)
			}
		})
	}
}

// otherPrompt sends two bodies with the same text that do not share a cache: nothing is found.
func otherPrompt(t *testing.T, b *traffic.Bed) {
	const plain = `{"model":"m","messages":[{"role":"user","content":"$"}]}`
	for i, c := range []struct{ name, body string }{
		{"model", `{"model":"n","messages":[{"role":"user","content":"$"}]}`},
		{"salt", `{"model":"m","cache_salt":"s","messages":[{"role":"user","content":"$"}]}`},
		{"tools", `{"model":"m","messages":[{"role":"user","content":"$"}],"tools":` + tools + `}`},
		{"role", `{"model":"m","messages":[{"role":"system","content":"$"}]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := traffic.Text(200+uint64(i), promptBytes)
			first, second := pair(t, b, traffic.PathChat, fill(plain, text), fill(c.body, text))
			if first.Matched != 0 || second.Matched != 0 || second.Total == 0 {
				t.Errorf("%+v, then %+v: want no block found", first, second)
			}
		})
	}
}

// longerPrompt sends the next turn of a conversation: what it shares with the first is found.
func longerPrompt(t *testing.T, b *traffic.Bed) {
	text := traffic.Text(300, promptBytes)
	first, second := pair(t, b, traffic.PathChat,
		fill(`{"model":"m","messages":[{"role":"user","content":"$"}]}`, text),
		fill(`{"model":"m","messages":[{"role":"user","content":"$"},{"role":"assistant","content":"`+traffic.Text(301, 600)+`"}]}`, text))
	// The last block of the first may be a part of one, which the second fills up.
	if second.Endpoint != first.Endpoint || second.Matched < first.Total-1 || second.Matched >= second.Total {
		t.Errorf("%+v, then %+v: want all whole blocks of the first found, and not all of the second", first, second)
	}
}

// pair sends one body after the other.
func pair(t *testing.T, b *traffic.Bed, path string, first, second []byte) (traffic.Pick, traffic.Pick) {
	t.Helper()
	var picks []traffic.Pick
	for i, body := range [][]byte{first, second} {
		r := b.Do(t, traffic.Request{HTTP2: i == 1, Path: path, Body: body})
		picks = append(picks, served(t, b, r, body, "scored"))
	}
	return picks[0], picks[1]
}
