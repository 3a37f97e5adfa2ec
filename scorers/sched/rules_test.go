package sched

import (
	"cmp"
	"slices"
	"strconv"
	"testing"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/shared/snapshot"
)

// rulesPlan returns a plan of n endpoints with these labels llm-d.ai/role, whose profile begins with the given filters.
func rulesPlan(roles []string, filters ...plan.Plugin) *plan.Plan {
	p := testPlan(len(roles))
	for i, role := range roles {
		p.Endpoints[i].Labels = []plan.Label{{Key: "llm-d.ai/role", Value: role}}
	}
	for _, f := range filters {
		p.Plugins = append(p.Plugins, f)
		p.Profiles[0].Filters = append(p.Profiles[0].Filters, f.Name)
	}
	return p
}

// publishRoles applies a snapshot of the plan's endpoints with their labels and these metrics.
func publishRoles(t *testing.T, s *Scheduler, p *plan.Plan, now uint64, m ...metrics) {
	t.Helper()
	f := snapshot.Facts{Labels: []string{"llm-d.ai/role"}}
	var eps []snapshot.Endpoint
	for i, x := range m {
		e := p.Endpoints[i]
		se := snapshot.Endpoint{Name: []byte(e.Name), Address: []byte(e.Address), ScrapeSeq: 1, Waiting: x.waiting}
		se.ID = snapshot.EndpointID(se.Name, se.Address)
		eps = append(eps, se)
		f.Endpoints = append(f.Endpoints, snapshot.EndpointFacts{ID: se.ID, Labels: map[string]string{"llm-d.ai/role": e.Labels[0].Value}})
	}
	slices.SortFunc(eps, func(a, b snapshot.Endpoint) int { return cmp.Compare(a.ID, b.ID) })
	sheet, err := snapshot.NewSheet(&f)
	if err != nil {
		t.Fatal(err)
	}
	blob, err := snapshot.AppendExtras(nil, 1, eps, &snapshot.Extras{Sheet: sheet})
	if err != nil {
		t.Fatal(err)
	}
	v, err := snapshot.Open(blob)
	if err != nil {
		t.Fatal(err)
	}
	s.Apply(v, now, now)
}

// attempts fails every attempt at a request and returns the endpoints in the order of the attempts, up to limit. It wants
// Following to say the same.
func attempts(t *testing.T, s *Scheduler, pr *Prompt, limit int) []string {
	t.Helper()
	var d Decision
	if r := s.Decide(10*ms, pr, &d); r != Scored {
		t.Fatalf("outcome %d", r)
	}
	s.Commit(10*ms, pr, &d)
	list := s.Following(10*ms, &d, append(make([]int32, 0, limit), d.Cur))
	out := []string{string(s.Name(d.Cur))[3:]}
	slots := []int32{d.Cur}
	for len(out) < limit {
		slot := s.Next(10*ms, &d)
		if slot < 0 {
			break
		}
		s.Retry(10*ms, &d, slot, s.Gen(slot))
		slots, out = append(slots, slot), append(out, string(s.Name(slot))[3:])
	}
	s.Done(10*ms, &d, true)
	if !slices.Equal(slots, list) {
		t.Errorf("attempts in slots %v, the list says %v", slots, list)
	}
	return out
}

// TestRetriesObeyRules wants every attempt on endpoints that the filters for what an endpoint is allow, and retries on those
// that only filters for load dropped.
func TestRetriesObeyRules(t *testing.T) {
	decode := plan.Plugin{Name: "decode", Type: "decode-filter"}
	idle := plan.Plugin{Name: "idle", Type: "utilization-filter", Parameters: plan.Params{
		{Name: "conditions[0].metric", Kind: plan.String, Str: "waiting-queue"}, {Name: "conditions[0].maxValue", Num: 0},
	}}
	busy := metrics{waiting: 9}
	const d, p = "decode", "prefill"
	many := slices.Concat(slices.Repeat([]string{p}, 6), slices.Repeat([]string{d}, 12))
	tests := map[string]struct {
		roles   []string
		filters []plan.Plugin
		metrics []metrics
		first   string // endpoint of the first attempt; any if empty
		allowed []string
	}{
		"no filter":           {roles: []string{d, p, d, p}, allowed: []string{"A", "B", "C", "D"}},
		"roles":               {roles: []string{d, p, d, p}, filters: []plan.Plugin{decode}, allowed: []string{"A", "C"}},
		"one allowed":         {roles: []string{p, p, d, p}, filters: []plan.Plugin{decode}, allowed: []string{"C"}},
		"load only":           {roles: []string{d, p, d, p}, filters: []plan.Plugin{idle}, metrics: []metrics{{}, busy, busy, busy}, first: "A", allowed: []string{"A", "B", "C", "D"}},
		"roles, then load":    {roles: []string{d, p, d, d}, filters: []plan.Plugin{decode, idle}, metrics: []metrics{{}, {}, busy, busy}, first: "A", allowed: []string{"A", "C", "D"}},
		"load, then roles":    {roles: []string{d, p, d, d}, filters: []plan.Plugin{idle, decode}, metrics: []metrics{{}, {}, busy, busy}, first: "A", allowed: []string{"A", "C", "D"}},
		"more than is ranked": {roles: many, filters: []plan.Plugin{decode}, allowed: []string{"G", "H", "I", "J", "K", "L", "M", "N", "O", "P", "Q", "R"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			pl := rulesPlan(tt.roles, tt.filters...)
			s := newScheduler(t, pl)
			if tt.metrics != nil {
				publishRoles(t, s, pl, 9*ms, tt.metrics...)
			}
			got := attempts(t, s, promptOf([]uint64{1, 2, 3}), 20)
			if tt.first != "" && got[0] != tt.first {
				t.Errorf("first attempt at %s, want %s", got[0], tt.first)
			}
			for _, e := range got {
				if !slices.Contains(tt.allowed, e) {
					t.Errorf("attempts at %v: the filters forbid %s", got, e)
				}
			}
			if want := min(len(tt.allowed), MaxRanked); len(got) != want {
				t.Errorf("attempts at %v, want %d", got, want)
			}
		})
	}
}

// TestSparesComeLast wants retries on endpoints that every filter left before those that one for load dropped, and of those the
// one with the least work first.
func TestSparesComeLast(t *testing.T) {
	pl := rulesPlan([]string{"decode", "decode", "decode", "decode", "prefill"},
		plan.Plugin{Name: "decode", Type: "decode-filter"},
		plan.Plugin{Name: "idle", Type: "utilization-filter", Parameters: plan.Params{
			{Name: "conditions[0].metric", Kind: plan.String, Str: "waiting-queue"}, {Name: "conditions[0].maxValue", Num: 1},
		}})
	s := newScheduler(t, pl)
	publishRoles(t, s, pl, 9*ms, metrics{waiting: 8}, metrics{waiting: 1}, metrics{waiting: 3}, metrics{}, metrics{})
	if got := attempts(t, s, promptOf([]uint64{1, 2, 3}), 9); !slices.Equal(got, []string{"D", "B", "C", "A"}) {
		t.Errorf("attempts at %v, want D B C A", got)
	}
}

// TestRetriesObeyTheRequest has rules that depend on the request, which is gone when a retry needs them.
func TestRetriesObeyTheRequest(t *testing.T) {
	p := rulesPlan(slices.Repeat([]string{"both"}, 4), plan.Plugin{Name: "named", Type: "header-based-testing-filter"})
	for _, named := range []string{"10.0.0.2:80", "10.0.0.4:80, 10.0.0.3:80", "10.0.0.3"} {
		s := newScheduler(t, p)
		pr := promptOf([]uint64{1, 2, 3})
		pr.Headers.Reset(len(s.Wants().Headers))
		pr.Headers.Set(0, []byte(named), 100)
		want := 1
		if len(named) > 12 {
			want = 2
		}
		if got := attempts(t, s, pr, 9); len(got) != want || slices.Contains(got, "A") {
			t.Errorf("%s: attempts at %v", named, got)
		}
	}
}

// TestAllowedEndpointsCoolDown wants the least bad of the endpoints that the rules allow where others are fine.
func TestAllowedEndpointsCoolDown(t *testing.T) {
	p := rulesPlan([]string{"prefill", "decode", "prefill", "decode"}, plan.Plugin{Name: "decode", Type: "decode-filter"})
	s := newScheduler(t, p)
	b, d := slotOf(t, s, "B"), slotOf(t, s, "D")
	s.fleet.Fail(1*ms, b, 1*ms)
	var e Explanation
	s.Explain(&e)
	decide := func() (string, Reason) {
		var dec Decision
		r := s.Decide(2*ms, promptOf([]uint64{1}), &dec)
		return ranked(s, &dec), r
	}
	if got, r := decide(); got != "DB" || r != Scored {
		t.Errorf("with B cooled down: %q, outcome %d", got, r)
	}
	s.fleet.Fail(1*ms, d, 1*ms)
	if got, r := decide(); (got != "BD" && got != "DB") || r != AllCooling {
		t.Errorf("with B and D cooled down: %q, outcome %d", got, r)
	}
	if len(e.Best) != 2 || e.Left != 2 {
		t.Errorf("explained as %d of %d left", len(e.Best), e.Left)
	}
	p.Plugins[len(p.Plugins)-1].Type = "encode-filter"
	if err := s.Reconfigure(p); err != nil {
		t.Fatal(err)
	}
	if got, r := decide(); got != "" || r != FilteredOut {
		t.Errorf("with no endpoint allowed: %q, outcome %d", got, r)
	}
}

// TestRetriesReachACooledEndpoint wants a retry on an allowed endpoint that was cooled down before, rather than on the same one
// again or on one that the rules forbid.
func TestRetriesReachACooledEndpoint(t *testing.T) {
	p := rulesPlan([]string{"prefill", "decode", "prefill", "decode"}, plan.Plugin{Name: "decode", Type: "decode-filter"})
	s := newScheduler(t, p)
	s.fleet.Fail(9*ms, slotOf(t, s, "B"), 9*ms)
	if got := attempts(t, s, promptOf([]uint64{1}), 9); !slices.Equal(got, []string{"D", "B"}) {
		t.Errorf("attempts at %v, want D B", got)
	}
}

// TestARankedEndpointFailsMeanwhile wants a retry on an allowed endpoint that others have seen failing, rather than on none.
func TestARankedEndpointFailsMeanwhile(t *testing.T) {
	p := rulesPlan([]string{"prefill", "decode", "prefill", "decode"}, plan.Plugin{Name: "decode", Type: "decode-filter"})
	s := newScheduler(t, p)
	var d Decision
	pr := promptOf([]uint64{1})
	s.Decide(1*ms, pr, &d)
	s.Commit(1*ms, pr, &d)
	other := d.Slots[1]
	s.fleet.Fail(1*ms, other, 1*ms)
	if got := s.Next(2*ms, &d); got != other {
		t.Errorf("next is slot %d, want %d", got, other)
	}
	s.Retry(2*ms, &d, other, s.Gen(other))
	if got := s.Next(3*ms, &d); got != -1 {
		t.Errorf("next is slot %d, want none", got)
	}
	s.Done(3*ms, &d, true)
}

// TestWhichFiltersAreRules names them, of all types.
func TestWhichFiltersAreRules(t *testing.T) {
	p := rulesPlan([]string{"both"})
	add := func(typ string, params ...plan.Param) {
		name := strconv.Itoa(len(p.Plugins))
		p.Plugins = append(p.Plugins, plan.Plugin{Name: name, Type: typ, Parameters: params})
		p.Profiles[0].Filters = append(p.Profiles[0].Filters, name)
	}
	add("by-label", plan.Param{Name: "label", Kind: plan.String, Str: "a"}, plan.Param{Name: "allowsNoLabel", Kind: plan.Bool, Num: 1})
	add("context-length-aware", plan.Param{Name: "enableFiltering", Kind: plan.Bool, Num: 1})
	for _, typ := range []string{"label-selector-filter", "decode-filter", "prefill-filter", "encode-filter", "served-model-filter", "header-based-testing-filter"} {
		add(typ)
	}
	bind := len(p.Profiles[0].Filters)
	for _, typ := range []string{"context-length-aware", "topology-affinity-filter", "prefix-cache-affinity-filter", "slo-headroom-tier-filter", "utilization-detector", "concurrency-detector", "session-affinity-filter"} {
		add(typ)
	}
	set, err := compile(p, newScheduler(t, testPlan(1)).specs)
	if err != nil {
		t.Fatal(err)
	}
	pr := &set.list[0]
	if len(pr.rules) != bind {
		t.Fatalf("%d rules, want %d", len(pr.rules), bind)
	}
	for i, f := range pr.rules {
		if f != scorers.Filter(pr.filters[i].Filter) {
			t.Errorf("rule %d is not %s", i, pr.filters[i].typ)
		}
	}
}

// TestRulesAllocateNothing includes spare endpoints.
func TestRulesAllocateNothing(t *testing.T) {
	roles := slices.Concat(slices.Repeat([]string{"decode"}, 40), slices.Repeat([]string{"prefill"}, 40))
	p := rulesPlan(roles, plan.Plugin{Name: "decode", Type: "decode-filter"},
		plan.Plugin{Name: "idle", Type: "utilization-filter", Parameters: plan.Params{
			{Name: "conditions[0].metric", Kind: plan.String, Str: "waiting-queue"}, {Name: "conditions[0].maxValue", Num: 0},
		}})
	s := newScheduler(t, p)
	m := slices.Repeat([]metrics{{waiting: 5}}, len(roles))
	m[0] = metrics{}
	publishRoles(t, s, p, 1*ms, m...)
	var d Decision
	pr := promptOf([]uint64{1, 2, 3})
	if n := testing.AllocsPerRun(100, func() { s.Decide(2*ms, pr, &d) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if d.Left != 1 || d.N != MaxRanked {
		t.Errorf("%d left, %d ranked", d.Left, d.N)
	}
}
