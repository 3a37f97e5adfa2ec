package sched

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/zerohop/zerohop/shared/plan"
)

// TestLoadIsNeverNegative leads requests through retries, redirects, answers and ends in any order, while endpoints come and
// go and plans change: what is booked is never below what one request can hold, and nothing is left when all have ended.
func TestLoadIsNeverNegative(t *testing.T) {
	const n = 5
	all := testPlan(n)
	var plans [3]*plan.Plan
	for i, p := range []*plan.Plan{testPlan(n), estimating(n), estimating(n, withAnswer)} {
		p.Agent.Cluster = "agent"
		p.Plugins[3].Parameters = plan.Params{{Name: "maxNumOfEndpoints", Num: float64(i + 1)}}
		plans[i] = p
	}
	rapid.Check(t, func(r *rapid.T) {
		s, err := New(plans[2], 1)
		if err != nil {
			r.Fatal(err)
		}
		now, seq := uint64(1*ms), uint32(0)
		var live []*Decision
		draw := func(r *rapid.T) (int, *Decision) {
			if len(live) == 0 {
				r.Skip("no request")
			}
			i := rapid.IntRange(0, len(live)-1).Draw(r, "request")
			return i, live[i]
		}
		list := func(r *rapid.T) {
			some, m := &plan.Plan{}, []metrics(nil)
			for i := range n {
				if rapid.IntRange(0, 3).Draw(r, "there") > 0 {
					some.Endpoints = append(some.Endpoints, all.Endpoints[i])
					m = append(m, metrics{waiting: rapid.Uint32Range(0, 9).Draw(r, "waiting")})
				}
			}
			seq++
			publish(t, s, some, seq, now, m...)
		}
		list(r)
		r.Repeat(map[string]func(*rapid.T){
			"send": func(r *rapid.T) {
				d := new(Decision)
				p := promptOf(rapid.SliceOfN(rapid.Uint64Range(1, 3), 0, 5).Draw(r, "blocks"))
				p.MaxTokens = rapid.IntRange(0, 200).Draw(r, "cap")
				p.Streams = rapid.Bool().Draw(r, "stream")
				s.Decide(now, p, d)
				s.Commit(now, p, d)
				live = append(live, d)
			},
			"retry": func(r *rapid.T) {
				_, d := draw(r)
				if next := s.Next(now, d); next >= 0 && d.Attempt < 20 {
					gen := s.Gen(next)
					if rapid.Bool().Draw(r, "meanwhile") {
						list(r)
					}
					s.Retry(now, d, next, gen)
				}
			},
			"redirect": func(r *rapid.T) {
				_, d := draw(r)
				slots := append([]int32{-1}, s.fleet.Live()...)
				if d.Attempt > 0 {
					s.Redirect(now, d, rapid.SampledFrom(slots).Draw(r, "slot"))
				}
			},
			"status": func(r *rapid.T) {
				_, d := draw(r)
				s.Status(now, d, rapid.SampledFrom([]int{200, 404, 429, 503}).Draw(r, "code"))
			},
			"first byte": func(r *rapid.T) {
				_, d := draw(r)
				s.FirstByte(d)
			},
			"began": func(r *rapid.T) {
				_, d := draw(r)
				s.Began(now, d)
			},
			"sweep": func(*rapid.T) { s.Sweep(now) },
			"end": func(r *rapid.T) {
				i, d := draw(r)
				s.Done(now, d, rapid.Bool().Draw(r, "failed"))
				s.Done(now, d, true)
				live = append(live[:i], live[i+1:]...)
			},
			"endpoints": list,
			"reload": func(r *rapid.T) {
				if err := s.Reconfigure(rapid.SampledFrom(plans[:]).Draw(r, "plan")); err != nil {
					r.Fatal(err)
				}
			},
			"time passes": func(r *rapid.T) { now += rapid.Uint64Range(1, 2000).Draw(r, "ms") * ms },
			"": func(r *rapid.T) {
				requests := 0
				for name, l := range booked(s) {
					requests += int(l.InFlight)
					if l.InFlight < 0 || l.Tokens < 0 || l.InFlight == 0 && l.Tokens != 0 {
						r.Fatalf("%s has %+v", name, l)
					}
				}
				streams := 0
				for _, slot := range s.fleet.Live() {
					streams += int(s.fleet.Owed(slot))
				}
				want := 0
				for _, d := range live {
					if d.State&owesByte != 0 && s.fleet.Valid(d.Cur, d.CurGen) {
						want++
					}
				}
				if streams != want {
					r.Fatalf("first bytes of %d streams are awaited, want %d", streams, want)
				}
				if requests > len(live) {
					r.Fatalf("%d requests are booked, of %d", requests, len(live))
				}
			},
		})
		for _, d := range live {
			s.Done(now, d, false)
		}
		if left := booked(s); len(left) > 0 {
			r.Fatalf("all have ended, and there is %v", left)
		}
	})
}
