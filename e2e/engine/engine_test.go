package engine

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// small is a machine with round costs: 1 ms a step and 1 ms a prompt token.
func small() Profile {
	return Profile{
		Name: "small", StepBase: time.Millisecond, PrefillRate: 1000, TokenBudget: 64, MaxRunning: 4, Blocks: 16,
	}
}

func newEngine(t *testing.T, cfg Config) *Engine {
	t.Helper()
	e, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// text returns n tokens of prompt that differ from those of another name in every block.
func text(name byte, tokens int) []byte {
	b := make([]byte, tokens*4)
	for i := range b {
		b[i] = name
	}
	return b
}

func submit(t *testing.T, e *Engine, now time.Duration, id uint64, prompt []byte, maxTokens int) {
	t.Helper()
	r := Request{ID: id, Prompt: NewPrompt(prompt, "", e.Config().BlockTokens), MaxTokens: maxTokens}
	if err := e.Submit(now, r); err != nil {
		t.Fatal(err)
	}
}

// drain runs the engine until it is idle and returns the last output of each request and the time of the last step.
func drain(t *testing.T, e *Engine, now time.Duration) (map[uint64]Output, time.Duration) {
	t.Helper()
	last := map[uint64]Output{}
	for steps := 0; ; steps++ {
		if steps > 1_000_000 {
			t.Fatal("engine does not become idle")
		}
		end, ok := e.Begin(now)
		if !ok {
			return last, now
		}
		now = end
		for _, o := range e.End() {
			last[o.ID] = o
		}
	}
}

func within(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if got < want*(1-tolerance) || got > want*(1+tolerance) {
		t.Errorf("%s = %.4g, want %.4g within %.0f %%", what, got, want, tolerance*100)
	}
}

// TestAnchors holds the default profile to published measurements of Qwen3-32B on two H100.
func TestAnchors(t *testing.T) {
	e := newEngine(t, Config{})
	for id := range uint64(4) {
		submit(t, e, 0, id, text('a'+byte(id), 32_768), 1)
	}
	_, end := drain(t, e, 0)
	rate := 4 * 32_768 / end.Seconds()
	within(t, "peak prefill tokens/s (recipe)", rate, 15_928, 0.25)
	within(t, "peak prefill tokens/s (single-request fit)", rate, 20_480, 0.25)

	for _, c := range []struct {
		name          string
		batch, prompt int
		wantMs        float64
	}{
		{"one request", 1, 64, 14.4},
		{"64 requests of 4 k", 64, 4096, 34},
		{"64 requests of 8 k", 64, 8192, 54},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newEngine(t, Config{CapacityTokens: 1 << 20})
			now := time.Duration(0)
			for id := range uint64(c.batch) {
				submit(t, e, now, id, text(byte(id), c.prompt), 1000)
			}
			for tokens := 0; tokens < c.batch; { // until a step gives every request a token
				now, _ = e.Begin(now)
				tokens = 0
				for _, o := range e.End() {
					if o.Token {
						tokens++
					}
				}
			}
			end, _ := e.Begin(now)
			within(t, "decode step in ms", (end-now).Seconds()*1e3, c.wantMs, 0.25)
		})
	}
}

func TestChunkedPrefill(t *testing.T) {
	e := newEngine(t, Config{Profile: small(), CapacityTokens: 1024})
	submit(t, e, 0, 1, text('a', 100), 2)
	submit(t, e, 0, 2, text('b', 20), 1)
	type step struct {
		End     time.Duration
		Outputs []Output
	}
	var got []step
	for now := time.Duration(0); ; {
		end, ok := e.Begin(now)
		if !ok {
			break
		}
		now = end
		got = append(got, step{end, append([]Output(nil), e.End()...)})
	}
	// Step 1 has 64 tokens of the first prompt; step 2 the other 36 and all 20 of the second; step 3 decodes.
	const ms = time.Millisecond
	t1 := Times{FirstToken: 122 * ms, LastToken: 122 * ms}
	t2 := Times{Admitted: 65 * ms, FirstToken: 122 * ms, LastToken: 122 * ms}
	t1end := Times{FirstToken: 122 * ms, PrevToken: 122 * ms, LastToken: 123 * ms}
	want := []step{
		{65 * ms, []Output{{ID: 1, Started: true}}},
		{122 * ms, []Output{
			{ID: 1, Token: true, Generated: 1, Times: t1},
			{ID: 2, Started: true, Token: true, Finished: true, Generated: 1, Times: t2},
		}},
		{123 * ms, []Output{{ID: 1, Token: true, Finished: true, Generated: 2, Times: t1end}}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("steps (-want +got):\n%s", d)
	}
}

func TestPrefixCache(t *testing.T) {
	for _, c := range []struct {
		name          string
		first, second []byte
		salt          string
		wantCached    int
	}{
		{"nothing in common", text('a', 64), text('b', 64), "", 0},
		{"whole blocks in common", append(text('a', 40), text('b', 24)...), append(text('a', 40), text('c', 24)...), "", 32},
		{"last token is computed", text('a', 64), text('a', 64), "", 48},
		{"longer prompt", text('a', 64), text('a', 80), "", 64},
		{"shorter than a block", text('a', 15), text('a', 15), "", 0},
		{"other salt", text('a', 64), text('a', 64), "tenant", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newEngine(t, Config{Profile: small(), CapacityTokens: 1024})
			submit(t, e, 0, 1, c.first, 1)
			_, now := drain(t, e, 0)
			r := Request{ID: 2, Prompt: NewPrompt(c.second, c.salt, 16), MaxTokens: 1}
			if err := e.Submit(now, r); err != nil {
				t.Fatal(err)
			}
			outputs, _ := drain(t, e, now)
			if got := outputs[2].CachedTokens; got != c.wantCached {
				t.Errorf("cached tokens = %d, want %d", got, c.wantCached)
			}
			s := e.Stats()
			if want := uint64((len(c.first) + len(c.second)) / 4); s.PrefixQueries != want || s.PromptTokens != want {
				t.Errorf("queries %d, prompt tokens %d, want %d each", s.PrefixQueries, s.PromptTokens, want)
			}
			if s.PrefixHits != uint64(c.wantCached) {
				t.Errorf("hits = %d, want %d", s.PrefixHits, c.wantCached)
			}
			if s.KVUsage() != 0 {
				t.Errorf("usage of an idle engine = %v, want 0", s.KVUsage())
			}
		})
	}
}

// TestOutputIsCached shows that a prompt which repeats an earlier answer finds it, and that a prefix computed in the same
// step is shared.
func TestOutputIsCached(t *testing.T) {
	e := newEngine(t, Config{Profile: small(), CapacityTokens: 1024})
	prompt := NewPrompt(text('a', 30), "", 16)
	if err := e.Submit(0, Request{ID: 1, Prompt: prompt, MaxTokens: 20}); err != nil {
		t.Fatal(err)
	}
	_, now := drain(t, e, 0)
	turn := AppendOutput(text('a', 30), prompt.OutputSeed(), 0, 20)
	submit(t, e, now, 2, append(turn, text('b', 20)...), 1)
	submit(t, e, now, 3, append(turn, text('c', 10)...), 1)
	outputs, _ := drain(t, e, now)
	// 49 of the 50 tokens were computed: the last one was only sampled. That makes three full blocks.
	if got := outputs[2].CachedTokens; got != 48 {
		t.Errorf("cached tokens of the second turn = %d, want 48", got)
	}
	if got := outputs[3].CachedTokens; got != 48 {
		t.Errorf("cached tokens of a request in the same step = %d, want 48", got)
	}
}

// TestEvictionOrder fills the cache and checks that the oldest content goes first, tails before heads.
func TestEvictionOrder(t *testing.T) {
	e := newEngine(t, Config{Profile: small(), CapacityTokens: 8 * 16})
	now := time.Duration(0)
	run := func(id uint64, prompt []byte) int {
		submit(t, e, now, id, prompt, 1)
		var outputs map[uint64]Output
		outputs, now = drain(t, e, now)
		return outputs[id].CachedTokens
	}
	run(1, text('a', 64)) // blocks a0-a3
	run(2, text('b', 64)) // blocks b0-b3: the cache is full
	run(3, text('a', 17)) // uses a0 again and evicts a3, the oldest tail
	for _, c := range []struct {
		name   string
		prompt []byte
		want   int
	}{
		{"head and middle of a are kept, its tail is gone", text('a', 65), 48},
		{"b lost its tail to the two blocks that a needed", text('b', 65), 32},
	} {
		if got := run(uint64(len(c.name)), c.prompt); got != c.want {
			t.Errorf("%s: cached %d, want %d", c.name, got, c.want)
		}
	}
	e.ResetCache()
	if got := run(9, text('a', 64)); got != 0 {
		t.Errorf("cached after reset = %d, want 0", got)
	}
}

func TestPreemption(t *testing.T) {
	e := newEngine(t, Config{Profile: small(), CapacityTokens: 8 * 16})
	submit(t, e, 0, 1, text('a', 48), 40)
	submit(t, e, 0, 2, text('b', 48), 40)
	outputs, _ := drain(t, e, 0)
	if got := outputs[1]; !got.Finished || got.Generated != 40 || got.Preemptions != 0 {
		t.Errorf("first request: %+v, want 40 tokens without preemption", got)
	}
	if got := outputs[2]; !got.Finished || got.Generated != 40 || got.Preemptions == 0 {
		t.Errorf("second request: %+v, want 40 tokens and at least one preemption", got)
	}
	if got := outputs[2].CachedTokens; got != 0 {
		t.Errorf("cached tokens after preemption = %d, want those of the first admission, 0", got)
	}
	s := e.Stats()
	if s.Preemptions == 0 || s.PromptTokens != 96 || s.PrefixQueries != 96 || s.GenerationTokens != 80 {
		t.Errorf("stats %+v: want preemptions, 96 prompt tokens counted once and 80 generated", s)
	}
}

func TestAdmissionByWholeSequence(t *testing.T) {
	e := newEngine(t, Config{Profile: small(), CapacityTokens: 8 * 16})
	submit(t, e, 0, 1, text('a', 70), 5)
	submit(t, e, 0, 2, text('b', 70), 5) // its first chunk would fit, the rest would not
	now, _ := e.Begin(0)
	e.End()
	if s := e.Stats(); s.Running != 1 || s.Waiting != 1 {
		t.Errorf("running %d, waiting %d, want 1 and 1", s.Running, s.Waiting)
	}
	if outputs, _ := drain(t, e, now); !outputs[2].Finished || outputs[2].Preemptions != 0 {
		t.Errorf("second request: %+v, want finished without preemption", outputs[2])
	}
}

func TestCancel(t *testing.T) {
	e := newEngine(t, Config{Profile: small(), CapacityTokens: 1024})
	submit(t, e, 0, 1, text('a', 32), 100)
	submit(t, e, 0, 2, text('b', 32), 100)
	e.Cancel(2)
	e.Cancel(7)
	if _, ok := e.Begin(0); !ok {
		t.Fatal("no step")
	}
	e.Cancel(1)
	if got := e.Stats().ActiveBlocks; got != 2 {
		t.Errorf("active blocks during the step = %d, want 2", got)
	}
	if got := e.End(); len(got) != 0 {
		t.Errorf("outputs = %v, want none", got)
	}
	if s := e.Stats(); s.Running+s.Waiting+s.ActiveBlocks != 0 {
		t.Errorf("stats %+v, want an idle engine", s)
	}
	submit(t, e, 0, 1, text('a', 32), 1) // the id is free again
}

func TestSubmitErrors(t *testing.T) {
	e := newEngine(t, Config{Profile: small(), CapacityTokens: 256, MaxModelLen: 128})
	submit(t, e, 0, 1, text('a', 1), 1)
	for _, c := range []struct {
		name string
		r    Request
		want error
	}{
		{"empty prompt", Request{ID: 2, Prompt: NewPrompt(nil, "", 16), MaxTokens: 1}, ErrInvalid},
		{"no output", Request{ID: 2, Prompt: NewPrompt([]byte("x"), "", 16)}, ErrInvalid},
		{"other block size", Request{ID: 2, Prompt: NewPrompt([]byte("x"), "", 32), MaxTokens: 1}, ErrInvalid},
		{"id in use", Request{ID: 1, Prompt: NewPrompt([]byte("x"), "", 16), MaxTokens: 1}, ErrInvalid},
		{"too long", Request{ID: 2, Prompt: NewPrompt(text('a', 100), "", 16), MaxTokens: 29}, ErrTooLong},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := e.Submit(0, c.r); !errors.Is(err, c.want) {
				t.Errorf("error = %v, want %v", err, c.want)
			}
		})
	}
}

func TestNewErrors(t *testing.T) {
	for _, c := range []struct {
		name string
		cfg  Config
	}{
		{"negative block", Config{BlockTokens: -1}},
		{"no block fits", Config{CapacityTokens: 8}},
		{"model length of one", Config{MaxModelLen: 1}},
		{"empty profile", Config{Profile: Profile{Name: "x"}}},
		{"free steps", Config{Profile: Profile{PrefillRate: 1, TokenBudget: 1, MaxRunning: 1, Blocks: 1}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := New(c.cfg); err == nil {
				t.Error("no error")
			}
		})
	}
}
