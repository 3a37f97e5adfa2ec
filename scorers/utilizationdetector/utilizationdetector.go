// Package utilizationdetector provides the plugin type utilization-detector: endpoints are saturated by how many requests wait
// and how full their KV cache is. As a filter it drops the saturated ones.
package utilizationdetector

import (
	"math"

	"github.com/zerohop/zerohop/scorers"
)

// Type is the plugin type.
const Type = "utilization-detector"

const (
	paramQueue    = "queueDepthThreshold"
	paramKV       = "kvCacheUtilThreshold"
	paramAge      = "metricsStalenessThreshold"
	paramHeadroom = "headroom"

	defaultQueue = 5
	defaultKV    = .8
	defaultAge   = 200e6 // nanoseconds
)

// Spec describes the plugin type.
var Spec = scorers.Spec{
	Type:  Type,
	Kinds: scorers.KindFilter | scorers.KindDetector,
	Params: []scorers.Param{
		{
			Name: paramQueue, Default: float64(defaultQueue), Min: 0, Max: math.Inf(1), MinOpen: true, Integer: true,
			Doc: "waiting requests at which an endpoint is saturated",
		},
		{
			Name: paramKV, Default: defaultKV, Min: 0, Max: 1, MinOpen: true,
			Doc: "share of KV blocks in use at which an endpoint is saturated",
		},
		{
			Name: paramAge, Default: float64(defaultAge), Min: 0, Max: math.Inf(1), MinOpen: true, Duration: true,
			Doc: "age from which metrics count as none; never less than three scrape intervals",
		},
		{Name: paramHeadroom, Default: 0.0, Min: 0, Max: math.Inf(1), Doc: "share by which the filter lets the thresholds be exceeded"},
	},
	New: newDetector,
}

type detector struct {
	_ [0]func() // not comparable, for the size of the module

	queue, kv  float64 // saturated
	queueLimit float64 // what the filter drops
	kvLimit    float64
	staleAfter uint64 // nanoseconds
}

func newDetector(u *scorers.Setup) (any, error) {
	d := &detector{queue: u.Params.Float(paramQueue, defaultQueue), kv: u.Params.Float(paramKV, defaultKV)}
	headroom := 1 + u.Params.Float(paramHeadroom, 0)
	d.queueLimit, d.kvLimit = d.queue*headroom, d.kv*headroom
	d.staleAfter = max(uint64(min(u.Params.Float(paramAge, defaultAge), math.MaxInt64)), u.ScrapeNs)
	return d, nil
}

// Saturation implements scorers.Detector.
func (d *detector) Saturation(c *scorers.Cycle, cand []int32) float64 {
	if len(cand) == 0 {
		return 1
	}
	e, sum := c.Endpoints, 0.0
	for _, s := range cand {
		if !d.known(c, s) {
			sum++
			continue
		}
		ratio := max(e.Queue[s]/d.queue, e.KVUsage[s]/d.kv)
		if ratio != ratio {
			ratio = 1 // what is no number is no news
		}
		sum += max(ratio, 0)
	}
	return sum / float64(len(cand))
}

// Filter implements scorers.Filter.
func (d *detector) Filter(c *scorers.Cycle, cand []int32) []int32 {
	e, n := c.Endpoints, 0
	for i, s := range cand {
		keep := d.known(c, s) && e.Queue[s] < d.queueLimit && e.KVUsage[s] < d.kvLimit
		c.Pass[i] = keep
		if keep {
			n++
		}
	}
	if n == 0 {
		return cand
	}
	return c.Keep(cand, n)
}

// known reports whether the endpoint has metrics that are not stale.
func (d *detector) known(c *scorers.Cycle, s int32) bool {
	e := c.Endpoints
	return e.Scraped[s] && c.Now-min(c.Now, e.ScrapedAt[s]) <= d.staleAfter
}
