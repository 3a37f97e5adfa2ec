package sched

import (
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/zerohop/zerohop/shared/blockhash"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/shared/snapshot"
)

const ms = 1_000_000

// testPlan returns a plan with the default profile and n endpoints without agent.
func testPlan(n int) *plan.Plan {
	p := &plan.Plan{
		Version: plan.Version,
		Agent:   plan.Agent{StaleMs: 1000},
		Bounds:  plan.Bounds{Endpoints: 1024, IndexBlocks: 1 << 16},
		Prefix:  plan.Prefix{AutoTune: true, BlockSizeTokens: 16, MaxPrefixBlocks: 2048, LRUCapacityPerServer: 4096},
		Plugins: []plan.Plugin{
			{Name: "queue", Type: "queue-scorer"},
			{Name: "kv", Type: "kv-cache-utilization-scorer"},
			{Name: "prefix", Type: "prefix-cache-scorer"},
			{Name: "pick", Type: "max-score-picker"},
			{Name: "one", Type: "single-profile-handler"},
		},
		Profiles: []plan.Profile{{
			Name: "default", Picker: "pick",
			Scorers: []plan.Scorer{{Plugin: "queue", Weight: 2}, {Plugin: "kv", Weight: 2}, {Plugin: "prefix", Weight: 3}},
		}},
		ProfileHandler: "one",
	}
	for i := range n {
		p.Endpoints = append(p.Endpoints, plan.Endpoint{Name: "ns/" + letter(i), Address: "10.0.0." + strconv.Itoa(i+1) + ":80"})
	}
	return p
}

// letter names endpoint i: A, B … for the first 26.
func letter(i int) string {
	if i < 26 {
		return string(rune('A' + i))
	}
	return "E" + strconv.Itoa(i)
}

func newScheduler(t testing.TB, p *plan.Plan) *Scheduler {
	t.Helper()
	s, err := New(p, 1)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// metrics are what an endpoint reports.
type metrics struct {
	waiting   uint32
	kv        float32
	draining  bool
	unknown   bool // never scraped
	blockSize uint32
	numBlocks uint32
}

// publish applies a snapshot of the plan's endpoints with these metrics, scraped now unless they say otherwise.
func publish(t testing.TB, s *Scheduler, p *plan.Plan, seq uint32, now uint64, m ...metrics) {
	t.Helper()
	var eps []snapshot.Endpoint
	for i, x := range m {
		e := p.Endpoints[i]
		se := snapshot.Endpoint{
			Name: []byte(e.Name), Address: []byte(e.Address), ScrapeSeq: seq,
			Waiting: x.waiting, KVUsage: x.kv, BlockSize: x.blockSize, NumBlocks: x.numBlocks,
		}
		se.ID = snapshot.EndpointID(se.Name, se.Address)
		if x.unknown {
			se.ScrapeAgeMs = snapshot.NeverScraped
		}
		if x.draining {
			se.Flags = snapshot.Draining
		}
		eps = append(eps, se)
	}
	slices.SortFunc(eps, func(a, b snapshot.Endpoint) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	blob, err := snapshot.Append(nil, uint64(seq), eps)
	if err != nil {
		t.Fatal(err)
	}
	v, err := snapshot.Open(blob)
	if err != nil {
		t.Fatal(err)
	}
	s.Apply(v, now, now)
}

// slotOf returns the slot of the endpoint called by this letter.
func slotOf(t testing.TB, s *Scheduler, name string) int32 {
	t.Helper()
	for _, slot := range s.fleet.Live() {
		if string(s.Name(slot)) == "ns/"+name {
			return slot
		}
	}
	t.Fatalf("no endpoint %s", name)
	return -1
}

// ranked returns the names of the ranked list.
func ranked(s *Scheduler, d *Decision) string {
	out := ""
	for _, slot := range d.Slots[:d.N] {
		out += string(s.Name(slot)[3:])
	}
	return out
}

// promptOf returns a prompt of these block ids, one argument for each prompt.
func promptOf(prompts ...[]uint64) *Prompt {
	p := &Prompt{Seed: 7, BlockTokens: blockhash.MinBlockTokens}
	for _, ids := range prompts {
		p.Starts = append(p.Starts, int32(len(p.IDs)))
		p.IDs = append(p.IDs, ids...)
	}
	p.Tokens = len(p.IDs) * p.BlockTokens
	return p
}

// route sends a prompt to the endpoint called name, whatever the scores.
func route(t testing.TB, s *Scheduler, name string, prompts ...[]uint64) {
	t.Helper()
	var d Decision
	p := promptOf(prompts...)
	s.Decide(1, p, &d)
	slot := slotOf(t, s, name)
	d.Slots[0], d.Gen[0] = slot, s.fleet.Gen(slot)
	s.Commit(1, p, &d)
	s.Done(1, &d, false)
}

// TestS45 has the totals of the default profile for three endpoints.
func TestS45(t *testing.T) {
	p := testPlan(3)
	p.Plugins[3].Parameters = plan.Params{{Name: "maxNumOfEndpoints", Num: 2}}
	s := newScheduler(t, p)
	route(t, s, "B", []uint64{1, 2, 3})
	publish(t, s, p, 1, 2, metrics{kv: .5}, metrics{waiting: 4, kv: .2}, metrics{waiting: 8, kv: .1})
	var d Decision
	if r := s.Decide(3, promptOf([]uint64{1, 2, 3, 4}), &d); r != Scored {
		t.Fatalf("reason %d", r)
	}
	if got := ranked(s, &d); got != "BAC" || d.Picked != 2 || d.Matched != 3 || d.Total != 4 {
		t.Errorf("ranked %s, picked %d, matched %d of %d", got, d.Picked, d.Matched, d.Total)
	}
	totals := map[string]float64{}
	for i := range 3 {
		totals[string(s.Name(s.cand[:3][i])[3:])] = s.total[i]
	}
	if diff := cmp.Diff(map[string]float64{"A": 3, "B": 4.85, "C": 1.8}, totals, cmpopts.EquateApprox(0, 1e-6)); diff != "" {
		t.Errorf("totals (-want +got):\n%s", diff)
	}
}

// TestPrefixVectors has the index vectors of the EPP specification, with contiguous matches (A5).
func TestPrefixVectors(t *testing.T) {
	type sent struct {
		to      string
		prompts [][]uint64
	}
	tests := []struct {
		name  string
		sent  []sent
		ask   [][]uint64
		match []int32 // of A, B, C
		total int32
	}{
		{"A1", []sent{{"A", [][]uint64{{1, 2}}}, {"C", [][]uint64{{1, 2}}}}, [][]uint64{{1, 3}}, []int32{1, 0, 1}, 2},
		{"A3", []sent{{"A", [][]uint64{{1, 2, 3}, {4, 5}}}}, [][]uint64{{1, 2, 3}, {4, 5}}, []int32{5, 0, 0}, 5},
		{"A4", []sent{{"A", [][]uint64{{1, 2}, {3, 4}}}}, [][]uint64{{1, 2}, {5, 6}}, []int32{2, 0, 0}, 4},
		{"A5 contiguous per prompt", []sent{{"A", [][]uint64{{1}}}, {"B", [][]uint64{{1, 2}}}}, [][]uint64{{1, 2}}, []int32{1, 2, 0}, 2},
		{"A6", []sent{{"A", [][]uint64{{1}}}}, [][]uint64{{}}, []int32{0, 0, 0}, 0},
		{"same block elsewhere in the chain", []sent{{"A", [][]uint64{{1, 2}}}}, [][]uint64{{2}}, []int32{0, 0, 0}, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newScheduler(t, testPlan(3))
			for _, x := range tt.sent {
				route(t, s, x.to, x.prompts...)
			}
			var d Decision
			s.Decide(2, promptOf(tt.ask...), &d)
			got := make([]int32, 3)
			for i := range int(d.N) {
				got[s.Name(d.Slots[i])[3]-'A'] = d.Match[i]
			}
			if diff := cmp.Diff(tt.match, got); diff != "" || d.Total != tt.total {
				t.Errorf("total %d, want %d; match (-want +got):\n%s", d.Total, tt.total, diff)
			}
		})
	}
}

func TestReasons(t *testing.T) {
	known := promptOf([]uint64{1, 2})
	other := promptOf([]uint64{1, 2})
	other.BlockTokens = 128
	tests := []struct {
		name   string
		n      int
		setup  func(s *Scheduler)
		prompt *Prompt
		want   Reason
		ranked int
	}{
		{"scored", 3, nil, known, Scored, 3},
		{"no blocks", 3, nil, &Prompt{Tokens: 9}, LoadOnly, 3},
		{"cut with another block size", 3, nil, other, LoadOnly, 3},
		{"nobody", 0, nil, known, NoEndpoint, 0},
		{"one cools", 3, func(s *Scheduler) { s.fleet.Fail(1, 0, 1) }, known, Scored, 2},
		{"all cool", 2, func(s *Scheduler) { s.fleet.Fail(1, 0, 1); s.fleet.Fail(1, 1, 1) }, known, AllCooling, 2},
		{"more than are ranked", 12, nil, known, Scored, MaxRanked},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newScheduler(t, testPlan(tt.n))
			if tt.setup != nil {
				tt.setup(s)
			}
			var d Decision
			p := *tt.prompt
			p.IDs = slices.Clone(p.IDs)
			if got := s.Decide(2, &p, &d); got != tt.want || d.Reason != tt.want || int(d.N) != tt.ranked {
				t.Errorf("reason %d (%d) with %d ranked, want %d with %d", got, d.Reason, d.N, tt.want, tt.ranked)
			}
			if d.Cur != -1 {
				t.Errorf("current slot %d before Commit", d.Cur)
			}
			s.Commit(2, &p, &d)
			if (d.Cur >= 0) != (tt.ranked > 0) {
				t.Errorf("current slot %d after Commit", d.Cur)
			}
			s.Done(3, &d, false)
		})
	}
}

func TestTiesAreUniform(t *testing.T) {
	const rounds = 8000
	s := newScheduler(t, testPlan(4))
	count := map[int32]int{}
	for range rounds {
		var d Decision
		s.Decide(1, &Prompt{}, &d)
		count[d.Slots[0]]++
	}
	for slot, n := range count {
		if share := float64(n) / rounds; share < .22 || share > .28 {
			t.Errorf("slot %d has a share of %.3f of four equal ones", slot, share)
		}
	}
}

func TestStaleMetricsAreNeutral(t *testing.T) {
	p := testPlan(2)
	s := newScheduler(t, p)
	publish(t, s, p, 1, 1*ms, metrics{kv: .9}, metrics{kv: .1})
	var d Decision
	s.Decide(2*ms, &Prompt{}, &d)
	if got := ranked(s, &d); got != "BA" || d.Neutral != 0 {
		t.Errorf("fresh: ranked %s, neutral %d", got, d.Neutral)
	}
	s.Decide(1002*ms, &Prompt{}, &d)
	if d.Neutral != 4 || s.Stats(1002*ms).Neutral != 4 { // queue and KV of both
		t.Errorf("stale: neutral %d, counted %d", d.Neutral, s.Stats(1002*ms).Neutral)
	}
	if age := s.Stats(1002 * ms).SnapshotAgeMs; age != 1001 {
		t.Errorf("snapshot age %d ms", age)
	}
}

func TestUniversalPrefixIsDiscounted(t *testing.T) {
	s := newScheduler(t, testPlan(2))
	for i := range uint64(40) {
		route(t, s, "A", []uint64{1, 2, 100 + i})
	}
	var d Decision
	s.Decide(2, promptOf([]uint64{1, 2, 500, 501}), &d)
	if d.Total != 2 || d.Matched != 0 || d.Universal != 2 {
		t.Errorf("cold: matched %d of %d, universal %d", d.Matched, d.Total, d.Universal)
	}
	s.Decide(2, promptOf([]uint64{1, 2, 100, 501}), &d)
	if got := ranked(s, &d); got != "AB" || d.Total != 2 || d.Matched != 1 {
		t.Errorf("warm: ranked %s, matched %d of %d", got, d.Matched, d.Total)
	}
	if d.uncached(d.Match[0]) != 64 || d.uncached(0) != 256 {
		t.Errorf("uncached %d on A and %d on B", d.uncached(d.Match[0]), d.uncached(0))
	}
	if s.Stats(2).UniversalHits == 0 {
		t.Error("not counted")
	}
}

func TestTruncation(t *testing.T) {
	p := testPlan(1)
	p.Prefix.MaxPrefixTokens = 64 * 3
	s := newScheduler(t, p)
	if s.MaxBlocks() != 3 {
		t.Fatalf("max blocks %d", s.MaxBlocks())
	}
	var d Decision
	pr := promptOf([]uint64{1, 2}, []uint64{3, 4, 5}, []uint64{6})
	s.Decide(1, pr, &d)
	s.Commit(1, pr, &d)
	if st := s.Stats(1); d.Total != 3 || st.IndexRecords != 3 {
		t.Errorf("total %d, records %d", d.Total, st.IndexRecords)
	}
}
