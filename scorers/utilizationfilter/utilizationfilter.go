// Package utilizationfilter provides the plugin type utilization-filter: it drops the endpoints of which a number is above a
// limit.
package utilizationfilter

import (
	"errors"
	"math"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
)

// Type is the plugin type.
const Type = "utilization-filter"

const (
	paramConditions = "conditions"
	paramFallback   = "fallbackOnEmpty"
	paramLoad       = "inFlightLoadProducerName"
)

// The numbers that a condition can be about.
const (
	metricActive  = "active-requests"
	metricRunning = "running-requests"
	metricWaiting = "waiting-queue"
	metricKV      = "kv-cache-utilization"
)

// Spec describes the plugin type.
var Spec = scorers.Spec{
	Type:      Type,
	Kinds:     scorers.KindFilter,
	Stability: "alpha",
	Params: []scorers.Param{
		{Name: paramConditions, Shape: scorers.List, Required: true, Doc: "limits that an endpoint must all keep", Fields: []scorers.Param{
			{
				Name: "metric", Kind: plan.String, Required: true, Doc: "number that is limited",
				Choices: []string{metricActive, metricRunning, metricWaiting, metricKV},
			},
			{Name: "maxValue", Required: true, Min: 0, Max: math.Inf(1), Doc: "greatest number that is kept; at most 1 for " + metricKV},
		}},
		{Name: paramFallback, Kind: plan.Bool, Default: false, Doc: "keep all endpoints if none would be left"},
		{Name: paramLoad, Kind: plan.String, Default: "", Ref: "inflight-load-producer", Doc: "name of the producer of " + metricActive},
	},
	Consumes: []scorers.Need{{Key: scorers.DataInFlight, Param: paramLoad, Optional: true}},
	New:      newFilter,
}

type filter struct {
	conditions []condition
	fallback   bool
	parity     bool
}

type condition struct {
	metric string
	limit  float64
}

func newFilter(u *scorers.Setup) (any, error) {
	f := &filter{fallback: u.Params.Bool(paramFallback, false), parity: u.Parity}
	var problems []error
	for i := range u.Params.Len(paramConditions) {
		at := plan.Element(paramConditions, i)
		c := condition{u.Params.String(at+".metric", ""), u.Params.Float(at+".maxValue", 0)}
		if c.metric == metricKV && c.limit > 1 {
			problems = append(problems, errors.New(at+".maxValue: "+metricKV+" is a share; want at most 1"))
		}
		f.conditions = append(f.conditions, c)
	}
	return f, errors.Join(problems...)
}

// Filter implements scorers.Filter.
func (f *filter) Filter(c *scorers.Cycle, cand []int32) []int32 {
	n := 0
	for i, s := range cand {
		keep := f.keeps(c.Endpoints, s)
		c.Pass[i] = keep
		if keep {
			n++
		}
	}
	if n == 0 && f.fallback {
		return cand
	}
	return c.Keep(cand, n)
}

// keeps reports whether the endpoint keeps every limit. Its scraped numbers say nothing while they are not fresh.
func (f *filter) keeps(e *scorers.Endpoints, s int32) bool {
	scraped := e.Fresh[s] || f.parity && e.Scraped[s]
	for i := range f.conditions {
		c := &f.conditions[i]
		v := 0.0
		switch {
		case c.metric == metricActive:
			v = float64(e.InFlight[s])
		case !scraped:
			continue
		case c.metric == metricRunning:
			v = e.Running[s]
		case c.metric == metricWaiting:
			v = e.Queue[s]
		default:
			v = e.KVUsage[s]
		}
		if v > c.limit {
			return false
		}
	}
	return true
}
