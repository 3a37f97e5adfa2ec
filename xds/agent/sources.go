package agent

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"reflect"

	"github.com/zerohop/zerohop/xds/config"
	"github.com/zerohop/zerohop/xds/discovery"
	"github.com/zerohop/zerohop/xds/scrape"
)

// source is a source of endpoints and what tells it from others: sources with equal keys would find the same.
type source struct {
	discovery.Source
	key string
}

// sourcesOf returns the sources of endpoints that c names.
func sourcesOf(c *config.Config, log *slog.Logger) []source {
	d := &c.Zerohop.Discovery
	var out []source
	if c.Discovery != nil {
		out = append(out, fileSource(c.Discovery.Path, c.Discovery.Watch, log))
	}
	if d.File != "" {
		out = append(out, fileSource(d.File, d.Watch, log))
	}
	if len(d.Endpoints) > 0 {
		out = append(out, source{discovery.Static(d.Endpoints), fmt.Sprintf("list %v", d.Endpoints)})
	}
	for i := range d.DNS {
		n := &d.DNS[i]
		key := fmt.Sprintf("dns %q %s %v %q %q", n.Name, n.Type, n.Ports, n.Namespace, n.Resolver)
		out = append(out, source{discovery.NewDNS(discovery.DNSOptions{
			Name: n.Name, Type: n.Type, Ports: n.Ports, Namespace: n.Namespace, Resolver: n.Resolver,
			MinTTL: n.MinTTL, MaxTTL: n.MaxTTL, MaxEndpoints: c.Zerohop.Bounds.Endpoints,
		}), key})
	}
	return out
}

func fileSource(path string, follow bool, log *slog.Logger) source {
	return source{discovery.NewFile(path, follow, log), fmt.Sprintf("file %q", path)}
}

// memories are what sources said last, by key.
type memories map[string]*discovery.Memory

// of returns the sources with their memories, and forgets all others.
func (m memories) of(sources []source) []discovery.Source {
	out := make([]discovery.Source, len(sources))
	used := make(map[string]bool)
	for i, s := range sources {
		if used[s.key] { // named twice: a memory serves one source at a time
			out[i] = s.Source
			continue
		}
		used[s.key] = true
		if m[s.key] == nil {
			m[s.key] = &discovery.Memory{}
		}
		out[i] = m[s.key].Of(s.Source)
	}
	maps.DeleteFunc(m, func(key string, _ *discovery.Memory) bool { return !used[key] })
	return out
}

// HasSource reports whether c says where endpoints come from.
func HasSource(c *config.Config) bool { return len(sourcesOf(c, slog.New(slog.DiscardHandler))) > 0 }

// sameSources reports whether sourcesOf would return the same for both.
func sameSources(a, b *config.Config) bool {
	return reflect.DeepEqual(a.Discovery, b.Discovery) && reflect.DeepEqual(a.Zerohop.Discovery, b.Zerohop.Discovery) &&
		a.Zerohop.Bounds.Endpoints == b.Zerohop.Bounds.Endpoints
}

// scrapeOptions converts the settings.
func scrapeOptions(s config.Scrape, m *config.Metrics) scrape.Options {
	return scrape.Options{
		Interval: s.Interval, Timeout: s.Timeout, MaxPage: s.MaxPageBytes, Path: s.Path, Scheme: s.Scheme,
		Engine: cmp.Or(m.Engine, s.Engine), EngineLabel: m.EngineLabel, Engines: m.Engines,
		TLS: scrape.TLS{
			CAFile: s.TLS.CAFile, CertFile: s.TLS.CertFile, KeyFile: s.TLS.KeyFile,
			ServerName: s.TLS.ServerName, InsecureSkipVerify: s.TLS.InsecureSkipVerify,
		},
		BearerTokenFile: s.BearerTokenFile,
	}
}

// modelOptions converts the settings for asking for models: as for scraping, but for the page.
func modelOptions(s config.Scrape, m config.Models) scrape.Options {
	o := scrapeOptions(s, &config.Metrics{})
	o.Models, o.Path, o.Interval, o.MaxPage = true, m.Path, m.Interval, 0
	return o
}
