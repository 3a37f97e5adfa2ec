package sched

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/registry"
	"github.com/zerohop/zerohop/shared/plan"
)

// recorder implements every hook and writes down its calls.
type recorder struct {
	log     *[]string
	label   scorers.LabelID
	header  scorers.HeaderID
	picks   int // state that a reload keeps
	name    string
	watched map[int32]string
	deny    bool
	keep    string // endpoint that the filter keeps; all if empty
	score   float64
}

func (r *recorder) note(parts ...string) {
	*r.log = append(*r.log, r.name+" "+strings.Join(parts, " "))
}

func (r *recorder) Admit(_ *scorers.Cycle, cand []int32) bool {
	r.note("admit", strconv.Itoa(len(cand)))
	return !r.deny
}

func (r *recorder) Filter(_ *scorers.Cycle, cand []int32) []int32 {
	r.note("filter", strconv.Itoa(len(cand)))
	if r.keep == "" {
		return cand
	}
	return slices.DeleteFunc(cand, func(s int32) bool { return r.watched[s] != r.keep })
}

func (r *recorder) Score(_ *scorers.Cycle, cand []int32, out []float64) {
	r.note("score", strconv.Itoa(len(cand)))
	for i := range cand {
		out[i] = r.score
	}
}

func (r *recorder) Saturation(_ *scorers.Cycle, cand []int32) float64 { return float64(len(cand)) / 10 }

func (r *recorder) Grow(slots int) { r.note("grow", strconv.Itoa(slots)) }

func (r *recorder) Facts(slot int32, f *scorers.Facts) {
	value, p := f.Label(r.label)
	r.watched[slot] = strings.TrimPrefix(string(f.Name), "ns/")
	r.note("facts", strconv.Itoa(int(slot)), string(f.Name), string(f.Address), [...]string{"unknown", "absent", "present"}[p], string(value))
}

func (r *recorder) Forget(slot int32) {
	delete(r.watched, slot)
	r.note("forget", strconv.Itoa(int(slot)))
}

func (r *recorder) Picked(c *scorers.Cycle, slot int32, _ uint32) {
	r.picks++
	r.note("picked", r.watched[slot], string(c.Request.Headers.Get(r.header)), strconv.Itoa(r.picks))
}

func (r *recorder) Served(_ *scorers.Endpoints, slot int32, name []byte, out *scorers.HeaderSink) {
	r.note("served", strconv.Itoa(int(slot)))
	out.Set("x-served", name)
}

func (r *recorder) Adopt(old any) {
	r.picks = old.(*recorder).picks
	r.note("adopt", strconv.Itoa(r.picks))
}

func (r *recorder) Sweep(now uint64) { r.note("sweep", strconv.FormatUint(now, 10)) }

// recorderSpecs are the registered types and recorder, which writes into log.
func recorderSpecs(log *[]string) []scorers.Spec {
	recording := scorers.Spec{
		Type: "recorder", Kinds: scorers.KindFilter | scorers.KindScorer | scorers.KindAdmitter | scorers.KindDetector,
		Params: []scorers.Param{
			{Name: "label", Kind: plan.String, Default: "zone"},
			{Name: "keep", Kind: plan.String, Default: ""},
			{Name: "deny", Kind: plan.Bool, Default: false},
			{Name: "score", Default: 1.0},
		},
		New: func(u *scorers.Setup) (any, error) {
			if u.Params.Float("score", 0) == 7 {
				return nil, errors.New("score: want no 7")
			}
			r := &recorder{
				log: log, name: u.Name, label: u.Label(u.Params.String("label", "")), header: u.Header("X-Session"),
				watched: map[int32]string{}, deny: u.Params.Bool("deny", false), keep: u.Params.String("keep", ""),
				score: u.Params.Float("score", 0),
			}
			u.Models()
			return r, nil
		},
	}
	return append(registry.Specs(), recording)
}

// recorderPlan returns a plan of n endpoints with one recorder called rec, in the profile as filter and scorer.
func recorderPlan(n int, params ...plan.Param) *plan.Plan {
	p := testPlan(n)
	p.Plugins = append(p.Plugins, plan.Plugin{Name: "rec", Type: "recorder", Parameters: params})
	p.Profiles[0].Filters = []string{"rec"}
	p.Profiles[0].Scorers = append(p.Profiles[0].Scorers, plan.Scorer{Plugin: "rec", Weight: 1})
	return p
}

func newRecorded(t *testing.T, p *plan.Plan) (*Scheduler, *[]string) {
	t.Helper()
	log := new([]string)
	s, err := newWith(p, 1, recorderSpecs(log))
	if err != nil {
		t.Fatal(err)
	}
	return s, log
}

// take returns what was logged and empties the log.
func take(log *[]string) []string {
	out := *log
	*log = nil
	return out
}

func expect(t *testing.T, log *[]string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, take(log)); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// TestHooksInOrder follows one request through a plan with every hook.
func TestHooksInOrder(t *testing.T) {
	p := recorderPlan(2)
	p.Endpoints[0].Labels = []plan.Label{{Key: "zone", Value: "z1"}}
	s, log := newRecorded(t, p)
	expect(t, log, "rec grow 0", "rec grow 8",
		"rec facts 0 ns/A 10.0.0.1:80 present z1", "rec facts 1 ns/B 10.0.0.2:80 absent ")
	if diff := cmp.Diff([]string{"x-session"}, s.Wants().Headers); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	if w := s.Wants(); !w.Models || w.LoRA || !w.Response {
		t.Errorf("wants %+v", w)
	}

	pr := Prompt{Model: []byte("m")}
	pr.Headers.Reset(1)
	pr.Headers.Set(0, []byte(" s1 "), 100)
	var d Decision
	if got := s.Decide(1, &pr, &d); got != LoadOnly {
		t.Fatalf("outcome %d", got)
	}
	if s.cycle.Request.ModelHash == 0 {
		t.Error("the model has no hash")
	}
	s.Commit(1, &pr, &d)
	picked := string(s.Name(d.Cur)[3:])
	expect(t, log, "rec admit 2", "rec filter 2", "rec score 2", "rec picked "+picked+" s1 1")

	var sink scorers.HeaderSink
	s.Served(&d, &sink)
	if name, value := sink.At(0); string(name) != "x-served" || string(value) != "ns/"+picked {
		t.Errorf("header %s: %s", name, value)
	}
	s.Sweep(9)
	expect(t, log, "rec served "+strconv.Itoa(int(d.Cur)), "rec sweep 9")
}

// TestSlotGivenAwayInOneApply replaces an endpoint by another: the slot is forgotten before it is told of again.
func TestSlotGivenAwayInOneApply(t *testing.T) {
	p := recorderPlan(3)
	p.Bounds.Endpoints = 2
	p.Agent.Cluster = "agent"
	s, log := newRecorded(t, p)
	all := *p
	publish(t, s, &all, 1, ms, metrics{}, metrics{})
	take(log)
	p.Endpoints = p.Endpoints[1:] // B and C
	publish(t, s, p, 2, 2*ms, metrics{}, metrics{})
	slot := strconv.Itoa(int(slotOf(t, s, "C")))
	expect(t, log, "rec forget "+slot, "rec grow "+strconv.Itoa(s.fleet.Slots()), "rec facts "+slot+" ns/C 10.0.0.3:80 unknown ")
	publish(t, s, p, 3, 3*ms, metrics{waiting: 3}, metrics{})
	expect(t, log, "rec grow "+strconv.Itoa(s.fleet.Slots()))
}

func TestReload(t *testing.T) {
	p := recorderPlan(1)
	s, log := newRecorded(t, p)
	var d Decision
	s.Decide(1, &Prompt{}, &d)
	s.Commit(1, &Prompt{}, &d)
	take(log)

	bad := recorderPlan(1, plan.Param{Name: "score", Num: 7})
	if err := s.Reconfigure(bad); err == nil || !strings.Contains(err.Error(), "plugins[5].parameters: score: want no 7") {
		t.Fatalf("error %v", err)
	}
	expect(t, log)

	p = recorderPlan(1, plan.Param{Name: "label", Kind: plan.String, Str: "rack"})
	if err := s.Reconfigure(p); err != nil {
		t.Fatal(err)
	}
	expect(t, log, "rec adopt 1", "rec grow 8", "rec facts 0 ns/A 10.0.0.1:80 absent ", "rec grow 8")
	s.Decide(2, &Prompt{}, &d)
	s.Commit(2, &Prompt{}, &d)
	if got := take(log); got[len(got)-1] != "rec picked A  2" {
		t.Errorf("calls %q: the count of picks is not kept", got)
	}

	p = recorderPlan(1)
	p.Plugins[5].Name, p.Profiles[0].Filters, p.Profiles[0].Scorers[3].Plugin = "other", nil, "other"
	if err := s.Reconfigure(p); err != nil {
		t.Fatal(err)
	}
	expect(t, log, "other grow 8", "other facts 0 ns/A 10.0.0.1:80 absent ", "other grow 8")
}

// TestPicksOfTheirOwnCycle commits a decision after another was begun: the cycle is another request's.
func TestPicksOfTheirOwnCycle(t *testing.T) {
	s, log := newRecorded(t, recorderPlan(2))
	var first, second Decision
	s.Decide(1, &Prompt{}, &first)
	s.Decide(1, &Prompt{}, &second)
	take(log)
	s.Commit(1, &Prompt{}, &first)
	expect(t, log)
	s.Commit(1, &Prompt{}, &second)
	if got := take(log); len(got) != 1 || s.Stats(1).LatePicks != 1 {
		t.Errorf("calls %q, late picks %d", got, s.Stats(1).LatePicks)
	}
}

func TestOutcomes(t *testing.T) {
	deny := plan.Param{Name: "deny", Kind: plan.Bool, Num: 1}
	keep := func(name string) plan.Param { return plan.Param{Name: "keep", Kind: plan.String, Str: name} }
	two := func(p *plan.Plan) *plan.Plan {
		p.Profiles = append(p.Profiles, p.Profiles[0])
		p.Profiles[1].Name = "second"
		return p
	}
	tests := []struct {
		name    string
		plan    *plan.Plan
		want    Reason
		emptied string
		left    uint16
	}{
		{"scored", recorderPlan(3), LoadOnly, "", 3},
		{"denied", recorderPlan(3, deny), Denied, "", 0},
		{"no profile", two(recorderPlan(3)), NoProfile, "", 0},
		{"one left", recorderPlan(3, keep("B")), LoadOnly, "", 1},
		{"filtered out", recorderPlan(3, keep("nobody")), FilteredOut, "rec recorder", 0},
		{"nobody to admit to", recorderPlan(0, deny), NoEndpoint, "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := newRecorded(t, tt.plan)
			var d Decision
			if got := s.Decide(1, &Prompt{}, &d); got != tt.want || d.Reason != tt.want {
				t.Fatalf("outcome %d, reason %d, want %d", got, d.Reason, tt.want)
			}
			if name, typ := s.Emptied(&d); strings.TrimSpace(name+" "+typ) != tt.emptied {
				t.Errorf("emptied by %s %s, want %q", name, typ, tt.emptied)
			}
			if d.Left != tt.left || int(d.Candidates) != len(tt.plan.Endpoints) {
				t.Errorf("%d of %d left, want %d", d.Left, d.Candidates, tt.left)
			}
			s.Commit(1, &Prompt{}, &d) // must not touch a slot that is not there
			if d.N == 0 && d.Cur != -1 {
				t.Errorf("slot %d was committed", d.Cur)
			}
		})
	}
}

// TestHugeWeights adds up totals beyond the largest number, with terms of both signs.
func TestHugeWeights(t *testing.T) {
	p := recorderPlan(2)
	for _, w := range []float64{1e308, 1e308, -1e308, -1e308, -1e308, 0, -1} {
		p.Profiles[0].Scorers = append(p.Profiles[0].Scorers, plan.Scorer{Plugin: "rec", Weight: w})
	}
	s, _ := newRecorded(t, p)
	total := totals(s, &s.set.list[0], 2)
	if want := []float64{math.Inf(1), math.Inf(1)}; !slices.Equal(total, want) {
		t.Errorf("totals %v, want %v", total, want)
	}
	var d Decision
	if s.Decide(1, &Prompt{}, &d); d.N != 2 {
		t.Errorf("ranked %d of 2", d.N)
	}
}

// TestDryRun decides without a trace: what follows is as if it had not been.
func TestDryRun(t *testing.T) {
	run := func(dry bool) ([]int32, Stats) {
		s, log := newRecorded(t, recorderPlan(8))
		var out []int32
		for i := range uint64(50) {
			var d Decision
			if dry {
				pr := Prompt{Dry: true}
				s.Decide(i, &pr, &d)
				s.Commit(i, &pr, &d) // does nothing
			}
			s.Decide(i, &Prompt{}, &d)
			s.Commit(i, &Prompt{}, &d)
			out = append(out, d.Cur)
			s.Done(i, &d, false)
		}
		if n := strings.Count(strings.Join(*log, "\n"), "picked"); n != 50 {
			t.Errorf("dry %v: told of %d picks, want 50", dry, n)
		}
		st := s.Stats(100)
		return out, st
	}
	want, wantStats := run(false)
	got, gotStats := run(true)
	if !slices.Equal(want, got) {
		t.Errorf("picks %v\nwithout dry runs %v", got, want)
	}
	if diff := cmp.Diff(wantStats, gotStats); diff != "" {
		t.Errorf("counters (-without +with dry runs):\n%s", diff)
	}
}

func TestExplain(t *testing.T) {
	p := recorderPlan(8, plan.Param{Name: "keep", Kind: plan.String, Str: "C"}, plan.Param{Name: "score", Num: 1.5})
	s, _ := newRecorded(t, p)
	var e Explanation
	var d Decision
	s.Explain(&e)
	for range 2 { // the second fills the same again
		s.Decide(1, &Prompt{}, &d)
	}
	c := slotOf(t, s, "C")
	if e.Profile != "default" || e.Handler != "one" || e.Candidates != 8 || e.Left != 1 || e.Ties != 1 || e.Reason != LoadOnly {
		t.Errorf("explanation %+v", e)
	}
	if diff := cmp.Diff([]FilterStep{{Plugin: "rec", Type: "recorder", Before: 8, After: 1}}, e.Filters); diff != "" {
		t.Errorf("filters (-want +got):\n%s", diff)
	}
	if len(e.Removed) != 7 || slices.ContainsFunc(e.Removed, func(r Removed) bool { return r.Slot == c || r.By != 0 }) {
		t.Errorf("removed %v", e.Removed)
	}
	want := []Explained{{Slot: c, Gen: s.Gen(c), Total: 4 - 1 + 1, Scores: []float64{1, .5, 0, 1.5}}}
	if diff := cmp.Diff(want, e.Best); diff != "" {
		t.Errorf("best (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Saturation{{Plugin: "rec", Value: .8}}, e.Saturation); diff != "" {
		t.Errorf("saturation (-want +got):\n%s", diff)
	}
	s.Explain(nil)
	e.Profile = "untouched"
	if s.Decide(2, &Prompt{}, &d); e.Profile != "untouched" {
		t.Error("a decision that nobody asks about was explained")
	}
}

// TestObjectives reads priority and latency objectives from headers, current names before older ones.
func TestObjectives(t *testing.T) {
	spec := scorers.Spec{Type: "reader", New: func(u *scorers.Setup) (any, error) {
		u.Priority()
		u.SLO()
		return nil, nil
	}}
	p := testPlan(1)
	p.Plugins = append(p.Plugins, plan.Plugin{Name: "r", Type: "reader"})
	p.Objectives = []plan.Objective{{Name: "batch", Priority: -3}}
	s, err := newWith(p, 1, append(registry.Specs(), spec))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name       string
		headers    map[string]string
		priority   int32
		ttft, tpot float64
	}{
		{"none", nil, 0, 0, 0},
		{"current", map[string]string{"x-llm-d-inference-objective": "batch", "x-llm-d-slo-ttft-ms": "200", "x-llm-d-slo-tpot-ms": "2.5"}, -3, 200, 2.5},
		{"older", map[string]string{"x-gateway-inference-objective": "batch", "x-slo-ttft-ms": "7", "x-slo-tpot-ms": "8"}, -3, 7, 8},
		{"both", map[string]string{"x-llm-d-inference-objective": "else", "x-gateway-inference-objective": "batch", "x-llm-d-slo-ttft-ms": "1", "x-slo-ttft-ms": "2"}, 0, 1, 0},
		{"unusable", map[string]string{"x-llm-d-slo-ttft-ms": "NaN", "x-llm-d-slo-tpot-ms": "-1"}, 0, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var pr Prompt
			pr.Headers.Reset(len(s.Wants().Headers))
			for name, value := range tt.headers {
				pr.Headers.Set(scorers.HeaderID(slices.Index(s.Wants().Headers, name)), []byte(value), 1000)
			}
			var d Decision
			s.Decide(1, &pr, &d)
			if r := &s.cycle.Request; r.Priority != tt.priority || r.TTFTms != tt.ttft || r.TPOTms != tt.tpot {
				t.Errorf("priority %d, ttft %v, tpot %v", r.Priority, r.TTFTms, r.TPOTms)
			}
		})
	}
}

func TestSecondLoadEstimator(t *testing.T) {
	spec := scorers.Spec{Type: "estimator", New: func(*scorers.Setup) (any, error) { return estimator{}, nil }}
	p := testPlan(1)
	p.Plugins = append(p.Plugins, plan.Plugin{Name: "a", Type: "estimator"}, plan.Plugin{Name: "b", Type: "estimator"})
	if _, err := newWith(p, 1, append(registry.Specs(), spec)); err == nil || !strings.Contains(err.Error(), "plugins[6]: is a second plugin") {
		t.Errorf("error %v", err)
	}
}

type estimator struct{}

func (estimator) Estimate(*scorers.Cycle, int32) (int32, bool) { return 0, false }

func TestCompileManyPlugins(t *testing.T) {
	p := testPlan(1)
	for i := range 300 {
		name := "p" + strconv.Itoa(i)
		p.Plugins = append(p.Plugins, plan.Plugin{Name: name, Type: "prefix-cache-scorer"})
		p.Profiles[0].Scorers = append(p.Profiles[0].Scorers, plan.Scorer{Plugin: name, Weight: 1})
	}
	best := time.Hour
	for range 5 { // the machine may be busy
		start := time.Now()
		if _, err := Wants(p); err != nil {
			t.Fatal(err)
		}
		best = min(best, time.Since(start))
	}
	if best > 50*time.Millisecond {
		t.Errorf("compiling 300 plugins takes %v", best)
	}
}

// TestDecisionIsSmall bounds what each of thousands of streams holds.
func TestDecisionIsSmall(t *testing.T) {
	if size := reflect.TypeFor[Decision]().Size(); size > 256 {
		t.Errorf("a decision has %d bytes", size)
	}
}
