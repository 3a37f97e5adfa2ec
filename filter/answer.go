package filter

import (
	"strconv"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/sched"
	"github.com/zerohop/zerohop/shared/plan"
)

// answer is what a dry run found out beside the scheduler's explanation.
type answer struct {
	reason   reason
	status   int  // of the answer that the request would get; 200 if an endpoint would get it
	fallback bool // it would go to the fallback cluster instead
	decided  bool // false if the body was refused before any decision
}

// writeAnswer writes the answer of a dry run as JSON. docs/explain.md lists its members.
func (v *VM) writeAnswer(w *writer, s *stream, now uint64, a *answer) {
	x := &v.explain.last
	if !a.decided {
		*x = sched.Explanation{Handler: v.sched.HandlerName()}
	}
	w.json(`{"outcome":`, reasonNames[a.reason])
	w.int(`,"status":`, int64(a.status))
	w.bool(`,"fallback":`, a.fallback)
	w.json(`,"profile":`, x.Profile)
	w.json(`,"handler":`, x.Handler)
	w.json(`,"parity":`, v.parity())
	w.json(`,"revision":`, v.plan.Revision)
	w.json(`,"snapshot":{"version":`, strconv.FormatUint(v.intake.version, 16)) // beyond what JSON's numbers hold
	w.int(`,"ageMs":`, int64(v.intake.ageMs(now)))
	w.put("}")
	v.writeRequest(w, s, x)
	w.int(`,"candidates":`, int64(x.Candidates))
	w.int(`,"left":`, int64(x.Left))
	v.writeHeld(w, x)
	w.json(`,"session":`, x.Session.String())
	v.writeSteps(w, x)
	v.writeBest(w, now, x)
	w.int(`,"ties":`, int64(x.Ties))
	w.put(`,"inactive":[`)
	for i := range v.plan.Inactive {
		p := &v.plan.Inactive[i]
		w.between(i, ",")
		w.json(`{"name":`, p.Name)
		w.json(`,"type":`, p.Type)
		w.put("}")
	}
	w.put("]}\n")
}

func (v *VM) writeRequest(w *writer, s *stream, x *sched.Explanation) {
	model, maxTokens := "", 0
	if s.scanner >= 0 {
		model, maxTokens = string(v.scanners[s.scanner].Model()), v.scanners[s.scanner].MaxTokens()
	}
	w.json(`,"request":{"model":`, model)
	w.int(`,"tokens":`, int64(s.d.Tokens))
	w.int(`,"maxTokens":`, int64(maxTokens))
	w.int(`,"blockTokens":`, int64(s.d.BlockTokens))
	w.int(`,"blocks":`, int64(s.d.Total))
	w.int(`,"universal":`, int64(s.d.Universal))
	w.int(`,"priority":`, int64(x.Priority))
	w.put(`,"headers":{`) // whether they are there; what is in them may be a secret
	h := v.headers(s)
	for i, name := range v.interest.names[:v.interest.count] {
		w.between(i, ",")
		w.json("", name)
		w.bool(":", h.Get(scorers.HeaderID(i)) != nil)
	}
	w.put("}}")
}

// writeHeld writes the endpoints that should get no request, and who refused the request, if an admitter did.
func (v *VM) writeHeld(w *writer, x *sched.Explanation) {
	w.put(`,"held":[`)
	for i := range x.Held {
		h := &x.Held[i]
		w.between(i, ",")
		v.writeEndpoint(w, h.Slot)
		w.json(`,"why":`, why(h))
		w.int(`,"leftMs":`, h.LeftMs)
		w.put("}")
	}
	w.put(`],"denied":`)
	if x.Reason != sched.Denied {
		w.put("null")
		return
	}
	w.plugin(x.Denial.Plugin, x.Denial.Type)
	w.float(`,"value":`, x.Denial.Value)
	w.float(`,"threshold":`, x.Denial.Threshold)
	w.put("}")
}

func (v *VM) writeSteps(w *writer, x *sched.Explanation) {
	w.put(`,"filters":[`)
	for i := range x.Filters {
		f := &x.Filters[i]
		w.between(i, ",")
		w.plugin(f.Plugin, f.Type)
		w.int(`,"before":`, int64(f.Before))
		w.int(`,"after":`, int64(f.After))
		w.put("}")
	}
	w.put(`],"removed":[`)
	for i := range x.Removed {
		r := &x.Removed[i]
		w.between(i, ",")
		v.writeEndpoint(w, r.Slot)
		w.json(`,"by":`, x.Filters[r.By].Plugin)
		w.put("}")
	}
	w.put(`],"saturation":[`)
	for i := range x.Saturation {
		d := &x.Saturation[i]
		w.between(i, ",")
		w.json(`{"plugin":`, d.Plugin)
		w.float(`,"value":`, d.Value)
		w.put("}")
	}
	w.put(`],"scorers":[`)
	for i := range x.Scorers {
		c := &x.Scorers[i]
		w.between(i, ",")
		w.plugin(c.Plugin, c.Type)
		w.float(`,"weight":`, c.Weight)
		w.put("}")
	}
	w.put("]")
}

func (v *VM) writeBest(w *writer, now uint64, x *sched.Explanation) {
	w.put(`,"best":[`)
	var in inputs
	for i := range x.Best {
		best := &x.Best[i]
		w.between(i, ",")
		v.writeEndpoint(w, best.Slot)
		w.float(`,"total":`, best.Total)
		w.int(`,"matched":`, int64(best.Matched))
		w.put(`,"scores":[`)
		for k, score := range best.Scores {
			w.between(k, ",")
			w.float("", score)
		}
		w.put("]")
		v.inputs(&in, now, best.Slot)
		for k, name := range inputNames {
			w.put(`,"`)
			w.put(name)
			w.float(`":`, in.numbers[k])
		}
		w.int(`,"inFlight":`, int64(in.inFlight))
		w.int(`,"inFlightTokens":`, in.tokens)
		w.put(`,"scrapeMs":`)
		w.scraped(&in, "null")
		w.bool(`,"fresh":`, in.fresh)
		w.put("}")
	}
	w.put("]")
}

// inputs is what an endpoint was scored with.
type inputs struct {
	numbers        [4]float64 // in the order of inputNames
	inFlight       int32
	tokens         int64
	ageMs          uint64 // of the numbers, if scraped
	scraped, fresh bool
}

var inputNames = [4]string{"waiting", "queue", "running", "kv"}

// inputs fills in with what slot is scored with.
//
//go:noinline
func (v *VM) inputs(in *inputs, now uint64, slot int32) {
	e := v.sched.View()
	*in = inputs{
		numbers:  [4]float64{e.Waiting[slot], e.Queue[slot], e.Running[slot], e.KVUsage[slot]},
		inFlight: e.InFlight[slot], tokens: e.InFlightTokens[slot], fresh: e.Fresh[slot],
	}
	if at := e.ScrapedAt[slot]; e.Scraped[slot] && now >= at {
		in.ageMs, in.scraped = (now-at)/1e6, true
	}
}

// writeEndpoint begins an object with the name of an endpoint.
//
//go:noinline
func (v *VM) writeEndpoint(w *writer, slot int32) {
	w.json(`{"endpoint":`, text(v.sched.Name(slot)))
	w.json(`,"address":`, text(v.sched.Address(slot)))
}

// parity returns the plan's parity.
func (v *VM) parity() string {
	if v.plan.Parity == "" {
		return plan.ParityNone
	}
	return v.plan.Parity
}
