package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zerohop/zerohop/e2e/vllmsim/simserver"
)

const (
	// clockSlack is how much later than it happened a client or the run notes an event, on a machine with more to do than CPUs.
	clockSlack = 250 * time.Millisecond

	// rebuild is how long a VM may take to be there again: 20 ms of back-off, then instantiation.
	rebuild = time.Second
)

// wasmDetails are Envoy's response code details for a stream whose VM is gone.
const wasmDetails = "wasm_fail"

// resolve makes an outcome more exact by what Envoy's access log says of it.
func (o *Outcome) resolve(details string) {
	if details == "" {
		return
	}
	if o.Class == Unserved && o.Code == "503" && strings.Contains(details, wasmDetails) {
		o.Class, o.Code = Lost, ""
	}
	o.Detail = strings.TrimSpace(o.Detail + " [Envoy: " + details + "]")
}

// failed reports whether an outcome is an error.
func (o *Outcome) failed() bool { return o.Class != Success && o.Class != Left }

// reason names the error for reports.
func (o *Outcome) reason() string {
	if o.Code != "" {
		return string(o.Class) + ": " + o.Code
	}
	return string(o.Class)
}

// over returns when a fault was undone; one that was not lasted until the end.
func (f *Fault) over(end time.Time) time.Time {
	if f.End.IsZero() {
		return end
	}
	return f.End
}

// allows reports whether a fault allows the outcome.
func (f *Fault) allows(o *Outcome, end time.Time) bool {
	return slices.ContainsFunc(ruleOf(f.Kind).Allowed, func(a Allowance) bool {
		return a.Class == o.Class && f.within(a.Scope, o, end)
	})
}

// within reports whether a request is one of those that a scope means.
func (f *Fault) within(s Scope, o *Outcome, end time.Time) bool {
	switch s {
	case OnEndpoint:
		return o.Endpoint == f.Target && o.Start.Before(f.over(end).Add(clockSlack)) && o.End.After(f.Begin)
	case BegunOnEndpoint:
		// A client with much to do sees the first byte late: the endpoint's journal knows.
		return o.Endpoint == f.Target && !o.Began.IsZero() && o.Began.Before(f.Begin.Add(clockSlack)) && o.End.After(f.Begin)
	case OnVM:
		other := o.Worker != noWorker && f.worker != noWorker && o.Worker != f.worker
		return !other && o.Start.Before(f.Begin.Add(rebuild)) && o.End.After(f.Begin)
	}
	return false
}

// verdict is what an error is put down to.
type verdict struct {
	outcome *Outcome
	fault   int // index into the faults; -1 if none allows it
}

// findWorkers looks up whose VM each trap lost.
func (rec *record) findWorkers() {
	for i := range rec.faults {
		f := &rec.faults[i]
		f.worker = noWorker
		for j := range rec.outcomes {
			o := &rec.outcomes[j]
			if f.Kind == Trap && o.Trap && !o.Start.Before(f.Begin) && o.Start.Before(f.over(rec.end)) {
				f.worker = o.Worker
			}
		}
	}
}

// findBegins looks up when endpoints began the responses that ended in errors.
func (rec *record) findBegins() {
	all := rec.steps()
	for i := range rec.outcomes {
		o := &rec.outcomes[i]
		if !o.failed() {
			continue
		}
		for _, s := range all[o.ID] {
			if s.Step == simserver.JournalBegan && rec.names[s.addr] == o.Endpoint {
				o.Began = s.At
			}
		}
	}
}

// explain puts every error down to a fault that allows it.
func (rec *record) explain() []verdict {
	var all []verdict
	for i := range rec.outcomes {
		o := &rec.outcomes[i]
		if !o.failed() {
			continue
		}
		at := slices.IndexFunc(rec.faults, func(f Fault) bool { return f.allows(o, rec.end) })
		all = append(all, verdict{o, at})
	}
	return all
}

// describe says of an error what is needed to look into it.
func (rec *record) describe(o *Outcome) string {
	first := "no byte"
	if !o.FirstByte.IsZero() {
		first = "first byte after " + o.FirstByte.Sub(o.Start).Round(time.Millisecond).String()
	}
	return fmt.Sprintf("%s at %.3f s: %s, status %d by %q, %s, end after %v; %s; faults then: %s", o.ID, rec.seconds(o.Start), o.reason(), o.Status,
		o.Endpoint, first, o.End.Sub(o.Start).Round(time.Millisecond), o.Detail, rec.faultsDuring(o.Start, o.End))
}

// faultsDuring lists the faults that overlap a time.
func (rec *record) faultsDuring(from, to time.Time) string {
	var names []string
	for i := range rec.faults {
		f := &rec.faults[i]
		if f.Begin.Before(to) && f.over(rec.end).After(from) {
			names = append(names, strings.TrimSpace(string(f.Kind)+" "+f.Target))
		}
	}
	if names == nil {
		return none
	}
	return strings.Join(names, ", ")
}

// seconds is a time of the run.
func (rec *record) seconds(t time.Time) float64 { return t.Sub(rec.start).Seconds() }
