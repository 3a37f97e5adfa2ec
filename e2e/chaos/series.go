package main

import (
	"math"
	"time"
)

// bin is the width of what is counted over time.
const bin = time.Second

// hitBin is the width for hit rates, which need some requests each.
const hitBin = 2 * time.Second

// point is a value at a time of the run, in seconds.
type point struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

// series are the curves of the report.
type series struct {
	Errors   map[string][]point `json:"errors_per_second"` // by reason
	InFlight map[string][]point `json:"in_flight"`         // by source
	HitRate  []point            `json:"hit_rate"`          // share of prompt tokens that endpoints found in their caches
	RSS      []point            `json:"envoy_rss_mib"`
	Linear   []point            `json:"linear_memory_mib"`
	Agent    []point            `json:"agent_rss_mib"`
}

// series makes the curves of a run.
func (rec *record) series() series {
	s := series{Errors: rec.errorsOverTime(), HitRate: rec.hitRate(), InFlight: map[string][]point{}}
	for i := range rec.samples {
		m := &rec.samples[i]
		x := rec.seconds(m.At)
		sum := func(source string, counts map[string]int) {
			n := 0
			for _, v := range counts {
				n += v
			}
			s.InFlight[source] = append(s.InFlight[source], point{x, float64(n)})
		}
		s.InFlight["clients"] = append(s.InFlight["clients"], point{x, float64(m.Clients)})
		sum("endpoints", m.Endpoints)
		if m.Agent != nil {
			sum("filters, as the agent says", m.Agent)
		}
		for _, v := range []struct {
			to *[]point
			n  int64
		}{{&s.RSS, m.RSS}, {&s.Linear, m.Linear}, {&s.Agent, m.AgentRSS}} {
			if v.n > 0 {
				*v.to = append(*v.to, point{x, math.Round(float64(v.n)/mib*10) / 10})
			}
		}
	}
	return s
}

// errorsOverTime counts errors by reason in bins, at the time at which they ended.
func (rec *record) errorsOverTime() map[string][]point {
	bins := int(rec.end.Sub(rec.start)/bin) + 1
	all := map[string][]point{}
	for i := range rec.outcomes {
		o := &rec.outcomes[i]
		if !o.failed() {
			continue
		}
		curve, ok := all[o.reason()]
		if !ok {
			curve = make([]point, bins)
			for j := range curve {
				curve[j].X = float64(j) * bin.Seconds()
			}
			all[o.reason()] = curve
		}
		if j := int(o.End.Sub(rec.start) / bin); j >= 0 && j < bins {
			curve[j].Y++
		}
	}
	return all
}

// hits is the share of cached tokens in the prompts of successes that began within a time; 0 if there are none.
func (rec *record) hits(from, to time.Time) float64 {
	cached, prompt := 0, 0
	for i := range rec.outcomes {
		if o := &rec.outcomes[i]; o.Class == Success && !o.Start.Before(from) && o.Start.Before(to) {
			cached += o.CachedTokens
			prompt += o.PromptTokens
		}
	}
	return float64(cached) / float64(max(prompt, 1))
}

// hitRate is the share of cached tokens in the prompts of successes, by the time at which they began.
func (rec *record) hitRate() []point {
	bins := int(rec.end.Sub(rec.start)/hitBin) + 1
	cached, prompt := make([]int, bins), make([]int, bins)
	for i := range rec.outcomes {
		o := &rec.outcomes[i]
		j := int(o.Start.Sub(rec.start) / hitBin)
		if o.Class == Success && j >= 0 && j < bins {
			cached[j] += o.CachedTokens
			prompt[j] += o.PromptTokens
		}
	}
	var curve []point
	for j := range bins {
		if prompt[j] > 0 {
			rate := float64(cached[j]) / float64(prompt[j])
			curve = append(curve, point{(float64(j) + 0.5) * hitBin.Seconds(), math.Round(rate*1000) / 1000})
		}
	}
	return curve
}
