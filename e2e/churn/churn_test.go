package churn

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zerohop/zerohop/e2e/engine"
	"github.com/zerohop/zerohop/e2e/harness"
	"github.com/zerohop/zerohop/e2e/loadgen"
	"github.com/zerohop/zerohop/e2e/vllmsim/simserver"
)

const (
	rate    = 200 // requests per second
	workers = 2
	sims    = 4

	edits         = 50 // of the configuration
	endpointEdits = 20
	kills         = 10

	// Each of 240 prefixes has 2 KiB, 512 tokens. One endpoint's cache holds 130 of them, so that each of two workers can have a
	// place of its own for each prefix; without affinity about half would be gone when they are asked for again.
	prefixes    = 240
	prefixBytes = 2048
	suffix      = 256
	capacity    = 130 * (prefixBytes + suffix) / 4

	// warmUp is the time in which every prefix is new, which is not compared.
	warmUp = 8 * time.Second
)

// outcome is what a run came to.
type outcome struct {
	report  loadgen.Report
	hitRate float64 // tokens found in the endpoints' prefix caches
	length  time.Duration
}

// run sends the load while disturb works, and at least for the given time.
func run(t *testing.T, least time.Duration, disturb func(*bed)) outcome {
	t.Helper()
	b := newBed(t)
	var over atomic.Bool
	begin := time.Now()
	client := loadgen.New(loadgen.Options{URL: b.stack.URL(), Timeout: 20 * time.Second})
	defer client.Close()
	reports := make(chan loadgen.Report, 1)
	go func() {
		reports <- client.Open(t.Context(), func(i int) (loadgen.Request, bool) {
			at := time.Duration(i) * time.Second / rate
			return loadgen.Request{At: at, Path: "/v1/chat/completions", Body: body(i), Stream: i%2 == 0}, !over.Load() || at < least
		})
	}()
	warm := make(chan [2]float64, 1)
	time.AfterFunc(warmUp, func() { warm <- b.tokens() })
	disturb(b)
	over.Store(true)
	o := outcome{report: <-reports, length: time.Since(begin)}
	before, after := <-warm, b.tokens()
	o.hitRate = (after[0] - before[0]) / (after[1] - before[1])
	return o
}

// tokens returns how many tokens of prompts the endpoints found in their caches, and how many there were.
func (b *bed) tokens() [2]float64 {
	var sum [2]float64
	for _, s := range b.sims {
		st := s.Stats()
		sum[0] += float64(st.CachedTokens)
		sum[1] += float64(st.PromptTokens)
	}
	return sum
}

// body returns request i: one of the prefixes by a fixed sequence of chance, and text of its own.
func body(i int) []byte {
	rng := rand.New(rand.NewPCG(7, uint64(i)))
	p := rng.IntN(prefixes)
	text := strings.Repeat(fmt.Sprintf("prefix %03d says much ", p), prefixBytes/20)[:prefixBytes]
	tail := fmt.Sprintf("%0*d", suffix, rng.Uint64())
	return fmt.Appendf(nil, `{"model":%q,"max_tokens":4,"stream":%t,"messages":[{"role":"user","content":%q}]}`,
		simserver.DefaultModel, i%2 == 0, text+tail)
}

// bed is an Envoy with its endpoints; its agents come and go.
type bed struct {
	t      *testing.T
	ctx    context.Context
	stack  *harness.Stack
	sims   harness.Sims
	agents *agents
	now    *agent // that Envoy is led to
}

// newBed starts an Envoy with two workers, and the agent after it.
func newBed(t *testing.T) *bed {
	t.Helper()
	b := &bed{t: t, ctx: t.Context()}
	// One more than serve at first: the spare.
	b.sims = harness.SimsForTest(t, sims+1, simserver.Config{Speed: 4, Records: -1, Engine: engine.Config{CapacityTokens: capacity}})
	first, _ := configuration(51) // none of the edits'
	b.stack = harness.ForTest(t, harness.Options{
		Endpoints: b.sims.Endpoints()[:sims], Config: []byte(first), Concurrency: workers, WithoutAgent: true,
	})
	b.agents = newAgents(t, b.stack)
	return b
}

// begin starts the first agent, while Envoy serves already.
func (b *bed) begin() {
	b.now = b.agents.start(b.ctx)
	b.agents.lead(b.now)
	b.settle("the first agent")
}

// settle waits until all workers have the newest plan, and returns how long that took.
func (b *bed) settle(after string) time.Duration {
	b.t.Helper()
	begin := time.Now()
	ctx, cancel := context.WithTimeout(b.ctx, 20*time.Second)
	defer cancel()
	err := harness.Until(ctx, "the plan after "+after, func() error {
		s, err := b.now.status()
		if err != nil {
			return err
		}
		return inForce(s, workers)
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return time.Since(begin)
}

func TestChurn(t *testing.T) {
	if testing.Short() {
		t.Skip("takes minutes on a real Envoy")
	}
	// Progress, in a test that is silent for minutes otherwise.
	say := func(format string, args ...any) { fmt.Fprintf(os.Stderr, "churn: "+format+"\n", args...) }
	var slow int
	var worst time.Duration
	disturbed := run(t, 0, func(b *bed) {
		time.Sleep(2 * time.Second) // Envoy serves by its own configuration
		b.begin()
		slow, worst = b.disturb(say)
	})
	say("disturbed run: %d requests in %v, hit rate %.3f", len(disturbed.report.Results), disturbed.length.Round(time.Second), disturbed.hitRate)
	peace := run(t, disturbed.length, func(b *bed) {
		time.Sleep(2 * time.Second)
		b.begin()
	})
	say("run in peace: %d requests in %v, hit rate %.3f", len(peace.report.Results), peace.length.Round(time.Second), peace.hitRate)

	for name, o := range map[string]outcome{"disturbed": disturbed, "in peace": peace} {
		if n := o.report.Failed(); n > 0 {
			t.Errorf("%s: %d of %d requests failed: %v", name, n, len(o.report.Results), o.report.Errors)
		}
	}
	if disturbed.hitRate < 0.98*peace.hitRate {
		t.Errorf("hit rate %.3f disturbed, %.3f in peace", disturbed.hitRate, peace.hitRate)
	}
	// On a machine that does other work too, a few edits may take longer: Envoy's main thread has to get its turn three times.
	t.Logf("hit rate %.3f disturbed, %.3f in peace; the slowest of %d valid edits took %v, %d took more than a second",
		disturbed.hitRate, peace.hitRate, edits*4/5, worst, slow)
	if slow > edits/12 {
		t.Errorf("%d valid edits took more than a second to be in force, the slowest %v", slow, worst)
	}
}

// disturb does all that an operator might do, and returns how many valid edits took more than a second, and the longest time.
func (b *bed) disturb(say func(string, ...any)) (slow int, worst time.Duration) {
	spare, dead := b.sims.Endpoints()[sims], harness.Endpoint{Name: "dead", Address: b.nobody()}
	files := 0
	for i := range edits {
		took := b.edit(i)
		worst = max(worst, took)
		if took > time.Second {
			slow++
			say("edit %d was in force after %v", i, took)
		}
		if i%5 < 2 && files < endpointEdits {
			_, name := b.stack.Files()
			replace(b.t, name, endpointFile(files, b.sims.Endpoints()[:sims], spare, dead))
			files++
		}
		if i%5 == 2 {
			b.agents.kill(b.now)
			time.Sleep(300 * time.Millisecond) // Envoy works without
			b.now = b.agents.start(b.ctx)
			b.agents.lead(b.now)
			b.settle("a restart")
		}
		if i == 20 || i == 35 {
			other := b.agents.start(b.ctx) // both run
			b.agents.lead(other)
			b.now.process.Stop()
			b.now = other
			b.settle("a swap")
		}
		if i%10 == 9 {
			say("%d of %d edits, %d endpoint edits, %d agents", i+1, edits, files, b.agents.started)
		}
	}
	if files != endpointEdits || b.agents.started != kills+3 {
		b.t.Errorf("%d endpoint edits and %d agents, want %d and %d", files, b.agents.started, endpointEdits, kills+3)
	}
	return slow, worst
}

// edit makes edit i of the configuration, checks what the agent says of it, and returns how long a valid one took.
func (b *bed) edit(i int) time.Duration {
	b.t.Helper()
	before, err := b.now.status()
	if err != nil {
		b.t.Fatal(err)
	}
	doc, wrong := configuration(i)
	name, _ := b.stack.Files()
	begin := time.Now()
	replace(b.t, name, []byte(doc))
	ctx, cancel := context.WithTimeout(b.ctx, 20*time.Second)
	defer cancel()
	err = harness.Until(ctx, fmt.Sprintf("edit %d", i), func() error {
		s, err := b.now.status()
		switch {
		case err != nil:
			return err
		case wrong != "" && !s.Config.OK:
			if !strings.Contains(s.Config.Error, wrong) {
				b.t.Errorf("edit %d: the error does not name %q: %s", i, wrong, s.Config.Error)
			}
			if s.Revision != before.Revision {
				b.t.Errorf("edit %d is wrong and changed the plan", i)
			}
			return nil
		case wrong != "":
			return fmt.Errorf("the wrong edit has not been looked at")
		case !s.Config.OK || s.Revision == before.Revision:
			return fmt.Errorf("config %+v, revision %s", s.Config, s.Revision)
		}
		return inForce(s, workers)
	})
	if err != nil {
		b.t.Fatal(err)
	}
	if wrong != "" {
		return 0
	}
	return time.Since(begin)
}

// nobody returns an address where nothing listens.
func (b *bed) nobody() string {
	ports, err := harness.FreePorts(1)
	if err != nil {
		b.t.Fatal(err)
	}
	return ports[0]
}

// replace writes a file in one step.
func replace(t *testing.T, name string, b []byte) {
	t.Helper()
	if err := os.WriteFile(name+".new", b, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		t.Fatal(err)
	}
}
