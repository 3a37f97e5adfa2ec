package lifecycletest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/filter/hosttest"
	"github.com/zerohop/zerohop/shared/blockhash"
	"github.com/zerohop/zerohop/shared/names"
)

// logKeys are the keys of a pick line, in order.
var logKeys = []string{
	"endpoint", "matched", "total", "attempts", "decision_us", "reason", "profile", "candidates", "left", "model", "tokens", "block",
	"universal", "id",
}

// accessLog reads what the access log gets about different requests.
func accessLog(t *testing.T, s Subject) {
	scored := map[string]string{"reason": "scored", "profile": "default", "candidates": "4", "left": "4", "model": "m", "block": "64", "universal": "0"}
	odd := `{"model":"my model=\"x\"","prompt":"hello"}`
	tests := []struct {
		name     string
		request  hosttest.Request
		attempts string
		want     map[string]string
		chain    int // hashes
	}{
		{"scored", Chat(ChatBody(short)), "1", scored, 4},
		{"retried", dead(Chat(ChatBody(short)), 2), "3", scored, 4},
		{"answered 503", unavailable(Chat(ChatBody(short)), 1), "2", scored, 4},
		{"one block", Completions(CompletionsBody(Text("one", 250))), "1", map[string]string{"total": "1", "tokens": "63"}, 1},
		{"no body", Models(), "1", map[string]string{"reason": "unknown_path", "profile": "default", "candidates": "4", "model": "-", "tokens": "0"}, 0},
		{"odd model", Completions(odd), "1", map[string]string{"model": "my%20model%3D%22x%22"}, 1},
		{"no prompt", Chat(`{"model":"m"}`), "1", map[string]string{"reason": "no_prompt", "model": "m", "tokens": "3"}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			eachMode(t, s, 4, func(w *world) {
				w.plan.Log.Chain = true
				k := w.worker()
				st := k.Open(&tt.request)
				st.Receive()
				chain := string(st.Property(names.StateChain))
				st.Forward()
				res := st.Close()
				wantLine(w.t, string(res.Pick), tt.attempts, res.Hosts[len(res.Hosts)-1], tt.want)
				wantChain(w.t, chain, tt.chain)
				w.check()
			})
		})
	}
}

func wantLine(t *testing.T, line, attempts, endpoint string, want map[string]string) {
	t.Helper()
	var keys []string
	for word := range strings.FieldsSeq(line) {
		key, _, _ := strings.Cut(word, "=")
		keys = append(keys, key)
	}
	if d := cmp.Diff(logKeys, keys); d != "" {
		t.Errorf("keys of %q (-want +got):\n%s", line, d)
	}
	for key, value := range want {
		if got := hosttest.Pick(line, key); got != value {
			t.Errorf("%s=%s, want %s, in %q", key, got, value, line)
		}
	}
	if got := hosttest.Pick(line, "attempts"); got != attempts || hosttest.Pick(line, "endpoint") != endpoint {
		t.Errorf("attempt %s in %q, want %s at %s", got, line, attempts, endpoint)
	}
}

// wantChain asserts the number of hashes in a sample, which are all different.
func wantChain(t *testing.T, chain string, n int) {
	t.Helper()
	seen := map[string]bool{}
	for hash := range strings.SplitSeq(chain, ",") {
		if hash != "" {
			seen[hash] = true
		}
	}
	if len(seen) != n || n > 0 && len(chain) != 17*n-1 {
		t.Errorf("chain %q, want %d hashes", chain, n)
	}
}

// chainsShowSharing asserts that two requests which share the first four blocks of their prompts share the hashes up to there,
// and no others, nor any with a request for another model.
func chainsShowSharing(t *testing.T, s Subject) {
	w := single(t, s, 2)
	w.plan.Log.Chain = true
	k := w.worker()
	const block = 64 * blockhash.BytesPerToken
	base := Text("shared", 4*block)
	sample := func(body string) []string {
		r := Completions(body)
		st := k.Open(&r)
		st.Receive()
		chain := string(st.Property(names.StateChain))
		st.Forward()
		st.Close()
		return strings.Split(chain, ",")
	}
	one := sample(CompletionsBody(base + Text("one", 4*block)))
	two := sample(CompletionsBody(base + Text("two", 4*block)))
	other := sample(strings.Replace(CompletionsBody(base+Text("one", 4*block)), `"m"`, `"n"`, 1))
	if len(one) != 4 || len(two) != 4 || len(other) != 4 {
		t.Fatalf("samples %v, %v, %v; want four hashes each", one, two, other)
	}
	for i := range one {
		if got, want := one[i] == two[i], i < 3; got != want {
			t.Errorf("hash %d is equal: %v, want %v", i, got, want)
		}
		if one[i] == other[i] {
			t.Errorf("hash %d does not depend on the model", i)
		}
	}
	w.check()
}
