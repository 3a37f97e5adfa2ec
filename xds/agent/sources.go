package agent

import (
	"log/slog"
	"reflect"

	"github.com/zerohop/zerohop/xds/config"
	"github.com/zerohop/zerohop/xds/discovery"
	"github.com/zerohop/zerohop/xds/scrape"
)

// sourcesOf returns the sources of endpoints that c names.
func sourcesOf(c *config.Config, log *slog.Logger) []discovery.Source {
	d := &c.Zerohop.Discovery
	var out []discovery.Source
	if c.Discovery != nil {
		out = append(out, discovery.NewFile(c.Discovery.Path, c.Discovery.Watch, log))
	}
	if d.File != "" {
		out = append(out, discovery.NewFile(d.File, d.Watch, log))
	}
	if len(d.Endpoints) > 0 {
		out = append(out, discovery.Static(d.Endpoints))
	}
	for i := range d.DNS {
		n := &d.DNS[i]
		out = append(out, discovery.NewDNS(discovery.DNSOptions{
			Name: n.Name, Type: n.Type, Ports: n.Ports, Namespace: n.Namespace, Resolver: n.Resolver,
			MinTTL: n.MinTTL, MaxTTL: n.MaxTTL, MaxEndpoints: c.Zerohop.Bounds.Endpoints,
		}))
	}
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
func scrapeOptions(s config.Scrape) scrape.Options {
	return scrape.Options{
		Interval: s.Interval, Timeout: s.Timeout, MaxPage: s.MaxPageBytes, Path: s.Path, Scheme: s.Scheme, Engine: s.Engine,
		TLS: scrape.TLS{
			CAFile: s.TLS.CAFile, CertFile: s.TLS.CertFile, KeyFile: s.TLS.KeyFile,
			ServerName: s.TLS.ServerName, InsecureSkipVerify: s.TLS.InsecureSkipVerify,
		},
		BearerTokenFile: s.BearerTokenFile,
	}
}
