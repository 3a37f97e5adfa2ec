package sched

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/shared/plan"
)

// estimating returns a plan of n endpoints with an inflight-load-producer.
func estimating(n int, params ...plan.Param) *plan.Plan {
	p := testPlan(n)
	p.Plugins = append(p.Plugins, plan.Plugin{Name: "load", Type: "inflight-load-producer", Parameters: params})
	return p
}

var withAnswer = plan.Param{Name: "addEstimatedOutputTokens", Kind: plan.Bool, Num: 1}

// TestBookedTokens follows two blocks of prompt, of which A holds one, through a retry at another endpoint.
func TestBookedTokens(t *testing.T) {
	const answer = 192
	tests := []struct {
		name                         string
		plan                         *plan.Plan
		first, second, after, ending int64 // tokens at A, at the next, at that after the first byte, and at the end
	}{
		{"no estimator", testPlan(3), 64, 128, 0, 0},
		{"prompt alone", estimating(3), 64, 128, 0, 0},
		{"with the answer", estimating(3, withAnswer), 64 + answer, 128 + answer, 128 + answer, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newScheduler(t, tt.plan)
			var d Decision
			start(t, s, &d)
			wantLoads(t, s, "committed", map[string]load{"A": {1, tt.first}})
			next := s.Next(11*ms, &d)
			s.Retry(12*ms, &d, next, s.Gen(next))
			name := string(s.Name(next)[3:])
			wantLoads(t, s, "retried", map[string]load{name: {1, tt.second}})
			s.FirstByte(&d)
			s.FirstByte(&d)
			wantLoads(t, s, "first byte", map[string]load{name: {1, tt.after}})
			s.Done(13*ms, &d, false)
			s.Done(14*ms, &d, false)
			wantLoads(t, s, "done", nil)

			s = newScheduler(t, tt.plan)
			start(t, s, &d)
			s.Done(20*ms, &d, true)
			wantLoads(t, s, "failed before the first byte", nil)
		})
	}
}

// TestEstimateOutlivesReload ends requests that another plan booked.
func TestEstimateOutlivesReload(t *testing.T) {
	before, after := estimating(2, withAnswer), testPlan(2)
	s := newScheduler(t, before)
	var held, plain Decision
	start(t, s, &held)
	if err := s.Reconfigure(after); err != nil {
		t.Fatal(err)
	}
	start(t, s, &plain)
	if err := s.Reconfigure(before); err != nil {
		t.Fatal(err)
	}
	s.FirstByte(&held)
	s.FirstByte(&plain)
	s.Done(30*ms, &plain, false)
	if got := booked(s); len(got) != 1 {
		t.Errorf("%v, want what the first one holds until its end", got)
	}
	s.Done(31*ms, &held, false)
	wantLoads(t, s, "done", nil)
}

// TestHeldTokensOfGoneEndpoints ends a request whose slot has been given away: nothing of its tokens is released there.
func TestHeldTokensOfGoneEndpoints(t *testing.T) {
	p := estimating(2, withAnswer)
	s := newScheduler(t, p)
	var d, e Decision
	start(t, s, &d)
	s.FirstByte(&d)
	other := testPlan(3)
	other.Endpoints = other.Endpoints[1:]
	publish(t, s, other, 1, 11*ms, metrics{waiting: 50}, metrics{})
	pr := promptOf([]uint64{7})
	s.Decide(12*ms, pr, &e)
	s.Commit(12*ms, pr, &e)
	if e.Cur != d.Cur {
		t.Fatal("the slot was not given to C, the test tests nothing")
	}
	s.Done(13*ms, &d, false)
	wantLoads(t, s, "the old endpoint's request has ended", map[string]load{"C": {1, 64 + 96}})
	s.Done(14*ms, &e, false)
	wantLoads(t, s, "done", nil)
}

// TestR19PicksKeepTheirOrder wants the picker's endpoints as first, second and third attempt, whatever the work at them.
func TestR19PicksKeepTheirOrder(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for round := range 200 {
		n := 4 + rnd.IntN(9)
		p := testPlan(n)
		p.Plugins[3].Parameters = plan.Params{{Name: "maxNumOfEndpoints", Num: 3}}
		s := newScheduler(t, p)
		m := make([]metrics, n)
		for i := range m {
			m[i] = metrics{waiting: rnd.Uint32N(9), kv: rnd.Float32()}
		}
		publish(t, s, p, 1, 1*ms, m...)
		for i := range uint64(rnd.IntN(5)) {
			route(t, s, letter(rnd.IntN(n)), []uint64{1, i})
		}
		var d Decision
		pr := promptOf([]uint64{1, 2, 3})
		s.Decide(2*ms, pr, &d)
		s.Commit(2*ms, pr, &d)
		if d.Picked != 3 {
			t.Fatalf("%d picks, want 3", d.Picked)
		}
		picks := slices.Clone(d.Slots[:3])
		list := s.Following(3*ms, &d, append(make([]int32, 0, n), d.Cur))
		if diff := cmp.Diff(picks, list[:3]); diff != "" || len(list) != n {
			t.Fatalf("round %d, %d of %d endpoints listed (-picks +list):\n%s", round, len(list), n, diff)
		}
		s.fleet.Fail(4*ms, picks[1], 4*ms)
		if got := s.Next(5*ms, &d); got != picks[2] {
			t.Fatalf("round %d: next is %d while the second of %v cools down", round, got, picks)
		}
		s.Retry(6*ms, &d, picks[2], s.Gen(picks[2]))
		least := s.Next(7*ms, &d)
		for i := 3; i < int(d.N); i++ {
			if s.work(&d, d.Slots[i], d.Match[i]) < s.work(&d, least, d.Match[slices.Index(d.Slots[:], least)]) {
				t.Fatalf("round %d: next is %d, and %d has less work", round, least, d.Slots[i])
			}
		}
	}
}
