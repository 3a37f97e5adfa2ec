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
	now    *agent            // that Envoy is led to
	edited map[int]time.Time // when valid edits of the configuration were made
}

// newBed starts an Envoy with two workers, and the agent after it.
func newBed(t *testing.T) *bed {
	t.Helper()
	b := &bed{t: t, ctx: t.Context(), edited: make(map[int]time.Time)}
	// One more than serve at first: the spare.
	b.sims = harness.SimsForTest(t, sims+1, simserver.Config{Speed: 4, Records: -1, Engine: engine.Config{CapacityTokens: capacity}})
	first, _ := configuration(edits + 1) // none of the edits'
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

// settle waits until all workers have the newest plan.
func (b *bed) settle(after string) {
	b.t.Helper()
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
}

func TestChurn(t *testing.T) {
	if testing.Short() {
		t.Skip("takes minutes on a real Envoy")
	}
	// Progress, in a test that is silent for minutes otherwise.
	say := func(format string, args ...any) { fmt.Fprintf(os.Stderr, "churn: "+format+"\n", args...) }
	disturbed := run(t, 0, func(b *bed) {
		time.Sleep(2 * time.Second) // Envoy serves by its own configuration
		b.begin()
		b.disturb(say)
		b.checkForce(say)
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
}

// disturb does all that an operator might do.
func (b *bed) disturb(say func(string, ...any)) {
	b.t.Helper()
	spare, dead := b.sims.Endpoints()[sims], harness.Endpoint{Name: "dead", Address: b.nobody()}
	files := 0
	for i := range edits {
		b.edit(i)
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
}

// checkForce checks by the access log that no request that began later than a second after a valid edit was decided by what
// was in force before it, and that all valid edits came into force.
func (b *bed) checkForce(say func(string, ...any)) {
	b.t.Helper()
	entries, err := b.stack.Envoy.AccessLog()
	if err != nil {
		b.t.Fatal(err)
	}
	ran := make(map[int]bool)
	worst := time.Duration(0)
	for _, e := range entries {
		i, ok := editOf(e.String("pick"))
		if !ok {
			continue
		}
		ran[i] = true
		at, err := time.Parse(time.RFC3339, e.String("time"))
		if err != nil {
			b.t.Fatal(err)
		}
		if i > edits {
			i = -1 // what Envoy began with
		}
		for k, made := range b.edited {
			if k > i {
				worst = max(worst, at.Sub(made))
			}
		}
	}
	for k := range b.edited {
		if !ran[k] {
			b.t.Errorf("no request was decided by edit %d", k)
		}
	}
	say("the slowest of %d valid edits was in force after %v", len(b.edited), worst)
	if worst > time.Second {
		b.t.Errorf("a request that began %v after a valid edit was decided by what was in force before", worst)
	}
}

// edit makes edit i of the configuration, and checks what the agent says of it.
func (b *bed) edit(i int) {
	b.t.Helper()
	before, err := b.now.status()
	if err != nil {
		b.t.Fatal(err)
	}
	doc, wrong := configuration(i)
	name, _ := b.stack.Files()
	if wrong == "" {
		b.edited[i] = time.Now()
	}
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
