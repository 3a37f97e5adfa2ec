// Package telemetry is the agent's own /metrics page for Prometheus. Collectors read the state of the other packages when
// the page is asked for; nothing is counted twice, and an endpoint or group that is gone is gone from the page.
package telemetry

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/zerohop/zerohop/xds/access"
	"github.com/zerohop/zerohop/xds/publish"
)

// Sources are what the page tells of. All but Store may be nil; what they tell of is then left out. The functions are
// called from any goroutine.
type Sources struct {
	Store   *publish.Store
	Handler *publish.Handler
	Fleet   *publish.Fleet
	Policy  *access.Policy
	Groups  func() map[string]Group // by group of nodes (node.cluster)
	Config  func() Config
}

// Group is the xDS side of a group of Envoys.
type Group struct {
	Connected int    // Envoys that are connected
	Rejecting int    // of these, those that refused what they were sent last or cannot be sent it
	Nacks     uint64 // refusals so far
}

// Config is the state of the agent's configuration.
type Config struct {
	Loaded, Failed uint64    // loads so far, the first one included
	LastSuccess    time.Time // of the newest load that was taken over
	SourcesOK      bool      // every source of endpoints is healthy
}

// maxPages bounds how many pages are made at a time; a page of 1,000 endpoints is about 2 MB.
const maxPages = 4

// New returns the handler of the page.
func New(s Sources, log *slog.Logger) http.Handler {
	return promhttp.HandlerFor(registry(s), promhttp.HandlerOpts{
		ErrorLog:            slog.NewLogLogger(log.Handler(), slog.LevelError),
		ErrorHandling:       promhttp.ContinueOnError,
		MaxRequestsInFlight: maxPages,
	})
}

func registry(s Sources) *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), collectors.NewBuildInfoCollector())
	r.MustRegister(&collector{s})
	return r
}

// collector is the agent's own part of the page.
type collector struct {
	Sources
}

// metric is a metric's name, type and labels.
type metric struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
}

func gauge(name, help string, labels ...string) metric {
	return declare(prometheus.GaugeValue, name, help, labels)
}

func counter(name, help string, labels ...string) metric {
	return declare(prometheus.CounterValue, name, help, labels)
}

func declare(kind prometheus.ValueType, name, help string, labels []string) metric {
	return metric{prometheus.NewDesc(prometheus.BuildFQName("zerohop", "agent", name), help, labels, nil), kind}
}

// Describe implements prometheus.Collector. It describes nothing: which metrics there are depends on the sources, and the
// registry checks each page for consistency all the same.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	p := page{out}
	now := time.Now()
	c.snapshot(p, now)
	if c.Handler != nil {
		c.polls(p)
	}
	if c.Fleet != nil {
		c.fleet(p)
	}
	if c.Policy != nil {
		c.access(p)
	}
	if c.Groups != nil {
		for name, g := range c.Groups() {
			p.set(xdsNodes, float64(g.Connected), name)
			p.set(xdsRejecting, float64(g.Rejecting), name)
			p.set(xdsNacks, float64(g.Nacks), name)
		}
	}
	if c.Config != nil {
		cfg := c.Config()
		p.set(configLoads, float64(cfg.Loaded), "ok")
		p.set(configLoads, float64(cfg.Failed), "failed")
		if !cfg.LastSuccess.IsZero() {
			p.set(configSuccess, seconds(cfg.LastSuccess))
		}
		p.set(discoveryOK, truth(cfg.SourcesOK))
	}
}

// page is the page being made.
type page struct{ out chan<- prometheus.Metric }

func (p page) set(m metric, value float64, labels ...string) {
	metric, err := prometheus.NewConstMetric(m.desc, m.kind, value, labels...)
	if err != nil {
		metric = prometheus.NewInvalidMetric(m.desc, err)
	}
	p.out <- metric
}

// seconds returns t as Unix time.
func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
