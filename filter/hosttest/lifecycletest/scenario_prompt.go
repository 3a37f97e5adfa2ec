package lifecycletest

import (
	"strings"
	"testing"
	"time"

	"github.com/zerohop/zerohop/filter/hosttest"
)

// prompted is a request whose chain is compared with that of base.
type prompted struct {
	name string
	body string
}

// The prompt of these requests has 8 blocks of 256 bytes, and the role comes on top.
var (
	basePrompt = Text("base", 2048)
	baseBody   = `{"model":"m","messages":[{"role":"user","content":"` + basePrompt + `"}]}`

	sameChains = []prompted{
		{"again", baseBody},
		{"one text part", `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"` + basePrompt + `"}]}]}`},
		{"model last", `{"messages":[{"role":"user","content":"` + basePrompt + `"}],"model":"m"}`},
		{"content before role", `{"model":"m","messages":[{"content":"` + basePrompt + `","role":"user"}]}`},
		{"escapes", `{"model":"m","messages":[{"role":"user","content":"` + strings.ReplaceAll(basePrompt, "e", `\u0065`) + `"}]}`},
		{"other fields", `{"stream":true,"x":{"model":"n","messages":[]},"model":"m","max_tokens":9,"messages":[{"role":"user","content":"` + basePrompt + `"}],"y":[[[]]]}`},
		{"duplicate keys", `{"model":"n","messages":[],"model":"m","messages":[{"role":"user","content":"` + basePrompt + `"}]}`},
		{"spaces", " {\n \"model\" : \"m\" , \"messages\" : [ { \"role\" : \"user\" , \"content\" : \"" + basePrompt + "\" } ] } \r\n"},
	}

	otherChains = []prompted{
		{"other model", strings.Replace(baseBody, `"m"`, `"n"`, 1)},
		{"salt", strings.Replace(baseBody, `"model"`, `"cache_salt":"s","model"`, 1)},
		{"other salt", strings.Replace(baseBody, `"model"`, `"cache_salt":"t","model"`, 1)},
		{"tools", strings.Replace(baseBody, `"model"`, `"tools":[{"type":"function","function":{"name":"f"}}],"model"`, 1)},
		{"other tools", strings.Replace(baseBody, `"model"`, `"tools":[{"type":"function","function":{"name":"g"}}],"model"`, 1)},
		{"other text", strings.Replace(baseBody, "base", "bass", 1)},
		{"text like fields", strings.Replace(baseBody, "base", `\"}],\"model\":\"m\"`, 1)},
	}
)

// spread sends requests that have nothing in common, so that no prefix counts as universal.
func (w *world) spread(k *hosttest.Worker) {
	for i := range 200 {
		r := Chat(ChatBody(Text(string(rune('A'+i%26))+string(rune('a'+i/26)), 600)))
		w.do(k, &r, hosttest.ToEndpoint)
		w.Advance(time.Millisecond)
	}
}

func samePrompt(t *testing.T, s Subject) {
	w := single(t, s, 4)
	k := w.worker()
	w.spread(k)
	base := Chat(baseBody)
	res := w.do(k, &base, hosttest.ToEndpoint)
	first := res.Endpoint()
	_, blocks := matched(res)
	for _, p := range sameChains {
		for _, chunk := range []int{0, 1, 777} {
			r := chunked(Chat(p.body), chunk)
			res = w.do(k, &r, hosttest.ToEndpoint)
			if m, n := matched(res); m != blocks || n != blocks || res.Endpoint() != first {
				t.Errorf("%s in chunks of %d: pick %q; want all of %s blocks at %s", p.name, chunk, res.Pick, blocks, first)
			}
		}
		w.spread(k)
	}
	w.check()
}

func otherPrompt(t *testing.T, s Subject) {
	w := single(t, s, 4)
	k := w.worker()
	w.spread(k)
	base := Chat(baseBody)
	w.do(k, &base, hosttest.ToEndpoint)
	for _, p := range otherChains {
		r := Chat(p.body)
		if m, _ := matched(w.do(k, &r, hosttest.ToEndpoint)); m != "0" {
			t.Errorf("%s: %s blocks matched, want none", p.name, m)
		}
	}
	w.check()
}

// matched returns the blocks that the picked endpoint is believed to hold, and all blocks that count.
func matched(r *hosttest.Result) (held, all string) {
	return hosttest.Pick(string(r.Pick), "matched"), hosttest.Pick(string(r.Pick), "total")
}
