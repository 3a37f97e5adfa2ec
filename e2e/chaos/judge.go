package main

import (
	"fmt"
	"strings"
	"time"
)

// Check is one thing that has to hold throughout a run.
type Check struct {
	Name    string   `json:"name"`
	What    string   `json:"what"`
	OK      bool     `json:"ok"`
	Summary string   `json:"summary"`
	Wrong   []string `json:"wrong,omitempty"` // the first of them
	Count   int      `json:"count"`           // of all that is wrong
}

// mostShown bounds what a check lists.
const mostShown = 20

func newCheck(name, what string) *Check { return &Check{Name: name, What: what, OK: true} }

func (c *Check) fail(format string, args ...any) {
	c.OK = false
	c.Count++
	if len(c.Wrong) < mostShown {
		c.Wrong = append(c.Wrong, fmt.Sprintf(format, args...))
	}
}

// FaultReport is what became of one fault.
type FaultReport struct {
	Kind    Kind           `json:"kind"`
	Target  string         `json:"target,omitempty"`
	Begin   float64        `json:"begin_s"`
	End     float64        `json:"end_s"`
	Errors  map[string]int `json:"errors"` // put down to it, by class
	Note    string         `json:"note,omitempty"`
	Problem string         `json:"problem,omitempty"`
}

// Report is the result of a run.
type Report struct {
	Seed       uint64         `json:"seed"`
	Minutes    float64        `json:"minutes"`
	Rate       int            `json:"rate"`
	Mode       string         `json:"mode"`
	Violations int            `json:"violations"`
	Requests   int            `json:"requests"`
	Outcomes   map[string]int `json:"outcomes"`
	Checks     []*Check       `json:"checks"`
	Faults     []FaultReport  `json:"faults"`
	Rests      []float64      `json:"rests_s"` // how long counts took to be zero
	Series     series         `json:"series"`
	Schedule   Schedule       `json:"schedule"`

	logs string
}

// judge compares what a run has seen with what is allowed.
func judge(rec *record) *Report {
	rep := &Report{
		Seed: rec.opts.seed, Minutes: rec.opts.length.Minutes(), Rate: rec.opts.rate, Mode: rec.opts.mode,
		Requests: len(rec.outcomes), Outcomes: map[string]int{}, Schedule: rec.schedule, logs: rec.logs,
	}
	if rep.Mode == "" {
		rep.Mode = "header"
	}
	for i := range rec.outcomes {
		rep.Outcomes[rec.outcomes[i].reason()]++
	}
	for _, r := range rec.rests {
		rep.Rests = append(rep.Rests, r.Took.Seconds())
	}
	rec.findWorkers()
	rec.findBegins()
	verdicts := rec.explain()
	rep.Faults = rec.faultReports(verdicts)
	rep.Checks = []*Check{
		rec.checkEnds(), rec.checkErrors(verdicts), rec.checkResponses(), rec.checkOnce(), rec.checkPlaces(),
		rec.checkAgreement(), rec.checkRest(), rec.checkShare(rep.Faults), rec.checkRecovery(rep.Faults),
		rec.checkRSS(), rec.checkLinear(), rec.checkAgentMemory(), rec.checkRun(),
	}
	for _, c := range rep.Checks {
		rep.Violations += c.Count
	}
	rep.Series = rec.series()
	return rep
}

// faultReports lists the faults with the errors that are put down to them.
func (rec *record) faultReports(verdicts []verdict) []FaultReport {
	all := make([]FaultReport, 0, len(rec.faults))
	for i := range rec.faults {
		f := &rec.faults[i]
		all = append(all, FaultReport{
			Kind: f.Kind, Target: f.Target, Begin: rec.seconds(f.Begin), End: rec.seconds(f.over(rec.end)), Errors: map[string]int{},
		})
		switch f.Kind {
		case Trap:
			n, own, others := rec.underWay(f)
			all[i].Note = fmt.Sprintf("worker %d; of %d requests under way %d are known to be of it and %d to be of others; hit rate %.3f in the 5 s before, %.3f from 2 to 5 s after",
				f.worker, n, own, others, rec.hits(f.Begin.Add(-5*time.Second), f.Begin), rec.hits(f.Begin.Add(2*time.Second), f.Begin.Add(5*time.Second)))
		case Stop:
			all[i].Note = fmt.Sprintf("%d requests were answered by others after the first-byte timeout", rec.movedOn(f))
		}
	}
	for _, v := range verdicts {
		if v.fault >= 0 {
			all[v.fault].Errors[v.outcome.reason()]++
		}
	}
	return all
}

// underWay counts the requests that were under way at a trap: all, and those that are known to be of its worker or of others.
func (rec *record) underWay(f *Fault) (all, own, others int) {
	for i := range rec.outcomes {
		o := &rec.outcomes[i]
		if !o.Start.Before(f.Begin) || !o.End.After(f.Begin) {
			continue
		}
		all++
		switch {
		case o.Worker == noWorker || f.worker == noWorker:
		case o.Worker == f.worker:
			own++
		default:
			others++
		}
	}
	return all, own, others
}

// movedOn counts requests whose first attempt met a stopped endpoint and that another one answered after the timeout.
func (rec *record) movedOn(f *Fault) int {
	n := 0
	for i := range rec.outcomes {
		o := &rec.outcomes[i]
		if o.Class == Success && o.Endpoint != f.Target && o.FirstByte.Sub(o.Start) > firstByteTimeout-clockSlack &&
			o.End.After(f.Begin) && o.Start.Before(f.over(rec.end)) {
			n++
		}
	}
	return n
}

// checkEnds looks for requests that did not end.
func (rec *record) checkEnds() *Check {
	c := newCheck("every request ends", fmt.Sprintf("by success or an error, within %v", patience))
	for i := range rec.outcomes {
		if o := &rec.outcomes[i]; o.Class == Hung {
			c.fail("%s", rec.describe(o))
		}
	}
	c.Summary = fmt.Sprintf("%d requests", len(rec.outcomes))
	return c
}

// checkErrors looks for errors that no fault allows.
func (rec *record) checkErrors(verdicts []verdict) *Check {
	c := newCheck("errors are allowed", "each is put down to a fault of the table that allows it")
	allowed := 0
	for _, v := range verdicts {
		switch {
		case v.fault >= 0:
			allowed++
		case v.outcome.Class != Hung && v.outcome.Class != Garbled: // counted elsewhere
			c.fail("%s", rec.describe(v.outcome))
		}
	}
	c.Summary = fmt.Sprintf("%d errors allowed, %d not", allowed, c.Count)
	return c
}

// checkResponses looks for responses that are not whole, or not to the request.
func (rec *record) checkResponses() *Check {
	c := newCheck("no response is lost or mixed up", "text, end and id of every response are those of its request")
	n := 0
	for i := range rec.outcomes {
		switch o := &rec.outcomes[i]; o.Class {
		case Garbled:
			c.fail("%s", rec.describe(o))
		case Success:
			n++
		}
	}
	c.Summary = fmt.Sprintf("%d responses compared", n)
	return c
}

// checkRest looks at the rests.
func (rec *record) checkRest() *Check {
	c := newCheck("zero at rest", fmt.Sprintf("%v after the last request no count is left at clients, Envoy, endpoints and agent", restPatience))
	for _, r := range rec.rests {
		if r.Error != "" {
			c.fail("at %.1f s: %s", rec.seconds(r.At), r.Error)
		}
	}
	if len(rec.rests) == 0 {
		c.fail("there was no rest")
	}
	c.Summary = fmt.Sprintf("%d rests", len(rec.rests))
	return c
}

// checkRun looks at what went wrong with the run itself, and at bugs that the filter recovered from.
func (rec *record) checkRun() *Check {
	c := newCheck("the run was as planned", "every fault was made, Envoy lived, the filter recovered from no panic")
	for _, n := range rec.notes {
		c.fail("%s", n)
	}
	if rec.panics > 0 {
		c.fail("the filter recovered from %d panics", rec.panics)
	}
	if planned := len(rec.schedule.Faults); len(rec.faults) != planned {
		c.fail("%d faults were made, planned are %d", len(rec.faults), planned)
	}
	c.Summary = fmt.Sprintf("%d faults of %d kinds", len(rec.faults), rec.kinds())
	return c
}

func (rec *record) kinds() int {
	kinds := map[Kind]bool{}
	for _, f := range rec.faults {
		kinds[f.Kind] = true
	}
	return len(kinds)
}

// print says the result.
func (rep *Report) print(say func(string, ...any)) {
	say("%d requests: %v", rep.Requests, rep.Outcomes)
	for _, c := range rep.Checks {
		verdict := "ok  "
		if !c.OK {
			verdict = "FAIL"
		}
		say("%s %s: %s", verdict, c.Name, c.Summary)
		if len(c.Wrong) > 0 {
			say("     %s", strings.Join(c.Wrong, "\n            "))
		}
	}
	say("%d violations", rep.Violations)
}
