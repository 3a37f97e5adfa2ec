package main

import (
	"strings"
	"testing"
	"time"

	"github.com/zerohop/zerohop/e2e/vllmsim/simserver"
)

// base is when the records of these tests begin.
var base = time.Unix(1_000_000, 0)

func at(seconds float64) time.Time { return base.Add(time.Duration(seconds * float64(time.Second))) }

// success is a request that e0 answered between two times.
func success(id string, from, to float64) Outcome {
	return Outcome{ID: id, Start: at(from), FirstByte: at(to), End: at(to), Status: 200, Endpoint: "e0", Class: Success, PromptTokens: 10}
}

// peace is a record without faults in which all is well.
func peace() *record {
	rec := &record{
		opts: options{seed: 1, length: 100 * time.Second, rate: 1}, start: base, end: at(100),
		schedule: Schedule{Length: 100 * time.Second, Rests: []time.Duration{95 * time.Second}},
		names:    map[string]string{"a0": "e0", "a1": "e1"},
		edits:    []Edit{{At: base, Addrs: []string{"a0", "a1"}}},
		agents:   []span{{from: base}},
		rests:    []Rest{{At: at(95), Took: time.Second}},
		journal:  map[string][]simserver.JournalEntry{},
	}
	for i := range 94 {
		id := string(rune('A'+i%26)) + string(rune('a'+i/26))
		rec.outcomes = append(rec.outcomes, success(id, float64(i)+0.1, float64(i)+0.5))
		rec.serve("a0", id, float64(i)+0.2)
	}
	for i := range 400 {
		rec.samples = append(rec.samples, Sample{
			At: at(float64(i) / 4), Clients: 1, Endpoints: map[string]int{"a0": 1, "a1": 0}, Agent: map[string]int{"a0": 1, "a1": 0},
			RSS: 200 * mib, Linear: 50 * mib, AgentRSS: 40 * mib,
		})
	}
	return rec
}

// serve writes a request into the journal of an endpoint.
func (rec *record) serve(addr, id string, from float64) {
	for _, s := range []simserver.JournalStep{simserver.JournalArrived, simserver.JournalBegan, simserver.JournalEnded} {
		rec.journal[addr] = append(rec.journal[addr], simserver.JournalEntry{At: at(from), Step: s, ID: id})
	}
}

// wrong returns the names of the checks that fail.
func wrong(rep *Report) string {
	var names []string
	for _, c := range rep.Checks {
		if !c.OK {
			names = append(names, c.Name)
		}
	}
	return strings.Join(names, ", ")
}

// TestJudge breaks a record that is well in one way each, and wants the check that is for it to fail, and only that.
func TestJudge(t *testing.T) {
	fault := func(k Kind, from, to float64) Fault {
		return Fault{Planned: Planned{Kind: k, Target: "e1"}, Begin: at(from), End: at(to), Addr: "a1"}
	}
	for _, tt := range []struct {
		name  string
		spoil func(*record)
		want  string // part of the name of the check; empty: none fails
	}{
		{"peace", func(*record) {}, ""},
		{"a request hangs", func(r *record) { r.outcomes[3].Class = Hung }, "every request ends"},
		{"an error without fault", func(r *record) { r.outcomes[3].Class = Cut }, "errors are allowed"},
		{"a success without journal", func(r *record) { r.outcomes[3].ID = "nobody" }, "served twice"},
		{"served twice by one", func(r *record) { r.serve("a0", r.outcomes[3].ID, 3.3) }, "served twice"},
		{"served by two", func(r *record) { r.serve("a1", r.outcomes[3].ID, 3.3) }, "served twice"},
		{"sent after the first byte", func(r *record) {
			r.journal["a1"] = append(r.journal["a1"], simserver.JournalEntry{At: at(5), Step: simserver.JournalArrived, ID: r.outcomes[3].ID})
		}, "served twice"},
		{"another response", func(r *record) { r.outcomes[3].Class = Garbled }, "mixed up"},
		{"a decoy is met", func(r *record) { r.decoys = []string{"hit"} }, "outside the snapshot"},
		{"an endpoint is met long after it left", func(r *record) {
			r.edits = append(r.edits, Edit{At: at(50), Addrs: []string{"a1"}})
		}, "outside the snapshot"},
		{"the filters count too much", func(r *record) {
			for i := 200; i < 240; i++ {
				r.samples[i].Agent = map[string]int{"a0": 9, "a1": 0}
			}
		}, "counts in flight"},
		{"the filters count too little", func(r *record) {
			for i := 200; i < 240; i++ {
				r.samples[i].Endpoints = map[string]int{"a0": 9, "a1": 0}
			}
		}, "counts in flight"},
		{"the filters count too much for half a second", func(r *record) {
			r.samples[200].Agent = map[string]int{"a0": 9, "a1": 0}
			r.samples[201].Agent = map[string]int{"a0": 9, "a1": 0}
		}, ""},
		{"the filters count a little too much everywhere", func(r *record) {
			for i := 200; i < 240; i++ {
				r.samples[i].Agent = map[string]int{"a0": 4, "a1": 4}
			}
		}, "counts in flight"},
		{"something is left at rest", func(r *record) { r.rests[0].Error = "3 requests" }, "zero at rest"},
		{"resident memory grows", func(r *record) {
			for i := range r.samples {
				r.samples[i].RSS += int64(i) * mib
			}
		}, "Envoy's memory"},
		{"linear memory grows", func(r *record) {
			for i := range r.samples {
				r.samples[i].Linear += int64(i) * mib
			}
		}, "linear memory"},
		{"linear memory grows by what a long run is not allowed", func(r *record) {
			r.opts.length = 10 * time.Minute
			for i := range r.samples {
				r.samples[i].Linear += int64(i) * mib / 4
			}
		}, "linear memory"},
		{"linear memory grows by what a short run is allowed", func(r *record) {
			for i := range r.samples {
				r.samples[i].Linear += int64(i) * mib / 4
			}
		}, ""},
		{"the agent keeps a huge page", func(r *record) { r.samples[100].AgentRSS = 300 * mib }, "agent's memory"},
		{"a panic", func(r *record) { r.panics = 1 }, "as planned"},
		{"a fault could not be made", func(r *record) { r.notes = []string{"no"} }, "as planned"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rec := peace()
			tt.spoil(rec)
			got := wrong(judge(rec))
			if (tt.want == "") != (got == "") || !strings.Contains(got, tt.want) || strings.Contains(got, ", ") {
				t.Errorf("fails: %q, want %q", got, tt.want)
			}
		})
	}
	t.Run("fast errors attract traffic", func(t *testing.T) {
		rec := peace()
		rec.faults = []Fault{fault(Errors, 10, 40)}
		rec.schedule.Faults = make([]Planned, 1)
		for i := range 20 {
			id := "x" + string(rune('a'+i))
			rec.outcomes = append(rec.outcomes, Outcome{ID: id, Start: at(15), FirstByte: at(15.1), End: at(15.1), Status: 500, Endpoint: "e1", Class: Status5})
			rec.journal["a1"] = append(rec.journal["a1"], simserver.JournalEntry{At: at(15), Step: simserver.JournalArrived, ID: id})
		}
		rec.serve("a1", rec.outcomes[0].ID, 41) // it comes back
		rec.outcomes[0].Endpoint = "e1"
		rec.outcomes[0].FirstByte, rec.outcomes[0].End = at(42), at(42)
		rec.journal["a0"] = rec.journal["a0"][3:]
		if got := wrong(judge(rec)); got != "fast errors attract no traffic" {
			t.Errorf("fails: %q", got)
		}
	})
	t.Run("an endpoint does not come back", func(t *testing.T) {
		rec := peace()
		rec.faults = []Fault{fault(Kill, 10, 15)}
		rec.schedule.Faults = make([]Planned, 1)
		if got := wrong(judge(rec)); got != "a recovered endpoint comes back" {
			t.Errorf("fails: %q", got)
		}
	})
}

// TestAllows compares errors with faults of e1 that lasted from 10 to 15 s.
func TestAllows(t *testing.T) {
	for _, tt := range []struct {
		name string
		kind Kind
		o    Outcome
		want bool
	}{
		{"broken by the kill", Kill, Outcome{Class: Cut, Endpoint: "e1", Start: at(9), FirstByte: at(9.5), Began: at(9.4), End: at(10.1)}, true},
		{"broken by the kill, and seen late", Kill, Outcome{Class: Cut, Endpoint: "e1", Start: at(9), FirstByte: at(11), Began: at(9.4), End: at(11)}, true},
		{"broken, and not in the journal", Kill, Outcome{Class: Cut, Endpoint: "e1", Start: at(9), FirstByte: at(9.5), End: at(10.1)}, false},
		{"killed without a byte", Kill, Outcome{Class: NoAnswer, Start: at(9), End: at(10.1)}, false},
		{"killed without a byte, and answered with an error", Kill, Outcome{Class: Unserved, Start: at(9), FirstByte: at(10.1), End: at(10.1)}, false},
		{"begun after the kill", Kill, Outcome{Class: Cut, Endpoint: "e1", Start: at(11), FirstByte: at(11.1), Began: at(11), End: at(12)}, false},
		{"broken elsewhere", Kill, Outcome{Class: Cut, Endpoint: "e2", Start: at(9), FirstByte: at(9.5), Began: at(9.4), End: at(10.1)}, false},
		{"ended before", Kill, Outcome{Class: Cut, Endpoint: "e1", Start: at(8), FirstByte: at(8.5), Began: at(8.4), End: at(9)}, false},
		{"the endpoint's 500", Errors, Outcome{Class: Status5, Endpoint: "e1", Start: at(12), FirstByte: at(12.1), End: at(12.1)}, true},
		{"a 500 of another", Errors, Outcome{Class: Status5, Endpoint: "e2", Start: at(12), FirstByte: at(12.1), End: at(12.1)}, false},
		{"a 500 long after", Errors, Outcome{Class: Status5, Endpoint: "e1", Start: at(16), FirstByte: at(16.1), End: at(16.1)}, false},
		{"reset in its midst", Broken, Outcome{Class: Cut, Endpoint: "e1", Start: at(12), FirstByte: at(12.1), End: at(12.2)}, true},
		{"reset before a byte", Broken, Outcome{Class: Unserved, Start: at(12), FirstByte: at(12.1), End: at(12.1)}, false},
		{"stopped", Stop, Outcome{Class: Timeout, Start: at(12), FirstByte: at(17), End: at(17)}, false},
		{"under way at the trap", Trap, Outcome{Class: Lost, Start: at(9), FirstByte: at(10.1), End: at(10.1)}, true},
		{"broken by the trap", Trap, Outcome{Class: Cut, Endpoint: "e2", Start: at(9), FirstByte: at(9.1), End: at(10.1)}, true},
		{"on the worker of the trap", Trap, Outcome{Class: Lost, Worker: 2, Start: at(9), FirstByte: at(10.1), End: at(10.1)}, true},
		{"on another worker", Trap, Outcome{Class: Lost, Worker: 1, Start: at(9), FirstByte: at(10.1), End: at(10.1)}, false},
		{"long after the trap", Trap, Outcome{Class: Lost, Start: at(12), FirstByte: at(12.1), End: at(12.1)}, false},
		{"refused at the trap", Trap, Outcome{Class: Refused, Start: at(9), FirstByte: at(10.1), End: at(10.1)}, false},
		{"no agent", AgentKill, Outcome{Class: Refused, Start: at(12), FirstByte: at(12.1), End: at(12.1)}, false},
		{"a burst", Burst, Outcome{Class: Refused, Start: at(12), FirstByte: at(12.1), End: at(12.1)}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := Fault{Planned: Planned{Kind: tt.kind, Target: "e1"}, Begin: at(10), End: at(15), Addr: "a1", worker: 2}
			if tt.o.Worker == 0 {
				tt.o.Worker = noWorker
			}
			if got := f.allows(&tt.o, at(100)); got != tt.want {
				t.Errorf("allowed: %t, want %t", got, tt.want)
			}
		})
	}
}
