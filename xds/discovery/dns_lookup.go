package discovery

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"

	"github.com/miekg/dns"
)

// surroundings says whom to ask, and which absolute names the configured name may stand for, in the order to try.
func (d *dnsSource) surroundings() (*resolver, []string, error) {
	if d.options.Resolver != "" {
		server, err := resolverAddress(d.options.Resolver)
		return &resolver{d.exchange, []string{server}}, []string{dns.Fqdn(d.options.Name)}, err
	}
	c, err := dns.ClientConfigFromFile(d.config)
	if err != nil {
		return nil, nil, fmt.Errorf("find a resolver: %w", err)
	}
	if len(c.Servers) == 0 {
		c.Servers = []string{"127.0.0.1"} // as the C library has it
	}
	r := &resolver{exchange: d.exchange}
	for _, s := range c.Servers[:min(len(c.Servers), maxServers)] {
		r.servers = append(r.servers, net.JoinHostPort(s, d.port))
	}
	return r, c.NameList(d.options.Name), nil
}

// lookUp finds out what there is.
func (d *dnsSource) lookUp(ctx context.Context) (*finding, error) {
	r, names, err := d.surroundings()
	if err != nil {
		return nil, err
	}
	if slices.Contains(names, d.found) {
		names = []string{d.found}
	}
	var absent *finding
	var errs []error
	for _, name := range names {
		f, err := d.lookUpName(ctx, r, name)
		switch {
		case err != nil:
			errs = append(errs, err)
		case f.nothing == "":
			d.found = name
			return f, nil
		case absent == nil:
			absent = f
		default:
			absent.nothing += ", " + f.nothing
			absent.ttl = min(absent.ttl, f.ttl)
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return absent, nil
}

// lookUpName finds out what there is under an absolute name.
func (d *dnsSource) lookUpName(ctx context.Context, r *resolver, name string) (*finding, error) {
	if d.options.Type == DNSService {
		return d.lookUpServices(ctx, r, name)
	}
	rec, ips, err := r.findAddresses(ctx, name)
	if err != nil || rec.nothing != "" {
		return &finding{ttl: rec.ttl, nothing: rec.nothing}, err
	}
	h := host{name: plainHost(d.options.Name), ips: ips, ports: d.options.Ports}
	eps, warnings, err := d.options.assemble([]host{h}, true)
	return &finding{endpoints: eps, warnings: warnings, ttl: rec.ttl}, err
}

func (d *dnsSource) lookUpServices(ctx context.Context, r *resolver, name string) (*finding, error) {
	rec, err := r.find(ctx, name, dns.TypeSRV)
	if err != nil || rec.nothing != "" {
		return &finding{ttl: rec.ttl, nothing: rec.nothing}, err
	}
	f := &finding{ttl: rec.ttl}
	found, refused := services(rec.rrs)
	switch {
	case len(found) == 0 && len(refused) > 0:
		return nil, fmt.Errorf("%w: %s", errRefused, strings.Join(bounded(refused), "; "))
	case len(found) == 0:
		f.nothing = "the SRV record says that there is no service " + name
		return f, nil
	}
	if n := len(found); n > d.options.MaxEndpoints {
		found = found[:d.options.MaxEndpoints]
		refused = append(refused, fmt.Sprintf("%s has %d targets, of which the last %d are left out", name, n, n-len(found)))
	}
	hosts, err := r.findHosts(ctx, found, rec.extra)
	if err != nil {
		return nil, err
	}
	some := false
	for i := range hosts {
		f.ttl = min(f.ttl, hosts[i].ttl)
		some = some || len(hosts[i].ips) > 0
		if hosts[i].nothing != "" {
			refused = append(refused, "target left out: "+hosts[i].nothing)
		}
	}
	if !some {
		f.nothing = fmt.Sprintf("none of the %d targets of %s has an address", len(hosts), name)
		return f, nil
	}
	f.endpoints, f.warnings, err = d.options.assemble(hosts, false)
	f.warnings = append(refused, f.warnings...)
	return f, err
}

// findHosts finds the addresses of targets: A records that came with the answer, or else by asking. AAAA records that came
// along do not count, since a server may leave out what does not fit, and a host's A records are preferred.
func (r *resolver) findHosts(ctx context.Context, targets []service, extra []dns.RR) ([]host, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	hosts := make([]host, len(targets))
	errs := make([]error, len(targets))
	slots := make(chan struct{}, parallel)
	var asking sync.WaitGroup
	for i, t := range targets {
		hosts[i] = host{name: plainHost(t.target), ports: t.ports}
		if rec, err := follow(extra, t.target, dns.TypeA); err == nil {
			if ips := addresses(rec.rrs); len(ips) > 0 {
				hosts[i].ips, hosts[i].ttl = ips, rec.ttl
				continue
			}
		}
		slots <- struct{}{}
		asking.Go(func() {
			defer func() { <-slots }()
			rec, ips, err := r.findAddresses(ctx, t.target)
			if err != nil {
				errs[i] = err
				cancel() // what is missing makes the rest useless
				return
			}
			hosts[i].ips, hosts[i].ttl, hosts[i].nothing = ips, rec.ttl, rec.nothing
		})
	}
	asking.Wait()
	return hosts, firstError(errs)
}

// firstError returns the first error that is not the consequence of another's.
func firstError(errs []error) error {
	var first error
	for _, err := range errs {
		if err != nil && (first == nil || errors.Is(first, errStopped)) {
			first = err
		}
	}
	return first
}

// plainHost writes a host as a part of endpoint names.
func plainHost(name string) string { return strings.TrimSuffix(dns.CanonicalName(name), ".") }
