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

// Filter implements scorers.Filter. It goes through the candidates once for each condition, along one column of numbers.
func (f *filter) Filter(c *scorers.Cycle, cand []int32) []int32 {
	e, pass := c.Endpoints, c.Pass[:len(cand)]
	for i := range pass {
		pass[i] = true
	}
	for i := range f.conditions {
		k, column := &f.conditions[i], []float64(nil)
		switch k.metric {
		case metricActive:
			for i, s := range cand {
				pass[i] = pass[i] && float64(e.InFlight[s]) <= k.limit
			}
			continue
		case metricRunning:
			column = e.Running
		case metricWaiting:
			column = e.Queue
		case metricKV:
			column = e.KVUsage
		}
		f.limit(e, cand, pass, column, k.limit)
	}
	n := 0
	for _, keep := range pass {
		if keep {
			n++
		}
	}
	if n == 0 && f.fallback {
		return cand
	}
	return c.Keep(cand, n)
}

// limit drops what is above most in a column of scraped numbers, which say nothing while they are not fresh.
func (f *filter) limit(e *scorers.Endpoints, cand []int32, pass []bool, column []float64, most float64) {
	for i, s := range cand {
		if column[s] > most && (e.Fresh[s] || f.parity && e.Scraped[s]) {
			pass[i] = false
		}
	}
}
