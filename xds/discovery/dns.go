package discovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/miekg/dns"
)

// What is asked for.
const (
	DNSAddress = "A/AAAA" // addresses of a name: A records or, if it has none, AAAA records
	DNSService = "SRV"    // hosts and ports of a service
)

// Defaults of DNSOptions.
const (
	DefaultMinTTL       = time.Second
	DefaultMaxTTL       = 30 * time.Second
	DefaultMaxEndpoints = 1024
)

const (
	// confirmations is the number of answers in a row that must say that there is nothing before the list is emptied.
	confirmations = 3
	// jitterShare is by how much a refresh may come later than the TTL says, so that many agents do not ask at once. It is
	// never earlier: a cache would give the old answer.
	jitterShare = 0.1
	// refreshTimeout bounds everything that one refresh asks.
	refreshTimeout = 15 * time.Second
)

// DNSOptions say what to ask and whom.
type DNSOptions struct {
	Name         string         // such as vllm.models.svc.cluster.local, or _http._tcp.vllm.models.svc.cluster.local for SRV
	Type         string         // DNSAddress (default) or DNSService
	Ports        []uint16       // DNSAddress: the ports of each host, of which each is a rank; DNSService: none
	Namespace    string         // of the endpoints; default "default"
	Resolver     string         // ip or ip:port; default is what /etc/resolv.conf says
	MinTTL       time.Duration  // default DefaultMinTTL
	MaxTTL       time.Duration  // default DefaultMaxTTL
	MaxEndpoints int            // default DefaultMaxEndpoints
	Jitter       func() float64 // random numbers in [0,1); default rand.Float64
}

// Validate returns everything that is wrong with the options, each problem with its field.
func (o *DNSOptions) Validate() error {
	var errs []error
	problem := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if _, ok := dns.IsDomainName(o.Name); !ok || o.Name == "" || o.Name == "." {
		problem("name: %q is not a DNS name", o.Name)
	} else if _, err := netip.ParseAddr(o.Name); err == nil {
		problem("name: %s is an address; list it as an endpoint", o.Name)
	} else if !plainName(o.Name) {
		problem("name: %q has other characters than letters, digits, '.', '-' and '_'", o.Name)
	}
	switch o.Type {
	case "", DNSAddress:
		if len(o.Ports) == 0 {
			problem("ports: give the ports of each host; only type %s finds ports by itself", DNSService)
		}
		for i, port := range o.Ports {
			if port == 0 {
				problem("ports[%d]: 0 is not a port", i)
			} else if first := slices.Index(o.Ports, port); first < i {
				problem("ports[%d]: %d is already ports[%d]", i, port, first)
			}
		}
	case DNSService:
		if len(o.Ports) > 0 {
			problem("ports: type %s finds ports by itself; remove them or use type %s", DNSService, DNSAddress)
		}
	default:
		problem("type: %q is neither %s nor %s", o.Type, DNSAddress, DNSService)
	}
	if o.Resolver != "" {
		if _, err := resolverAddress(o.Resolver); err != nil {
			errs = append(errs, fmt.Errorf("resolver: %w", err))
		}
	}
	d := o.withDefaults()
	if o.MinTTL < 0 || o.MaxTTL < 0 || d.MinTTL > d.MaxTTL {
		problem("minTTL, maxTTL: %v to %v is not a range of positive durations", d.MinTTL, d.MaxTTL)
	}
	if o.MaxEndpoints < 0 {
		problem("maxEndpoints: %d is negative", o.MaxEndpoints)
	}
	return errors.Join(errs...)
}

func (o DNSOptions) withDefaults() DNSOptions {
	o.Type = cmp.Or(o.Type, DNSAddress)
	o.Namespace = cmp.Or(o.Namespace, defaultNamespace)
	o.MinTTL = cmp.Or(o.MinTTL, DefaultMinTTL)
	o.MaxTTL = cmp.Or(o.MaxTTL, max(DefaultMaxTTL, o.MinTTL))
	o.MaxEndpoints = cmp.Or(o.MaxEndpoints, DefaultMaxEndpoints)
	if o.Jitter == nil {
		o.Jitter = rand.Float64
	}
	return o
}

// resolverAddress returns ip:port of a resolver that is given as ip or ip:port.
func resolverAddress(s string) (string, error) {
	if ip, err := netip.ParseAddr(s); err == nil {
		return net.JoinHostPort(ip.String(), "53"), nil
	}
	a, err := netip.ParseAddrPort(s)
	if err != nil || a.Port() == 0 {
		return "", fmt.Errorf("%q is neither an IP address nor ip:port", s)
	}
	return a.String(), nil
}

// NewDNS returns a source that asks DNS, such as for the pods of a headless Service, and asks again when the answer's TTL,
// kept within MinTTL and MaxTTL, has passed. Options that are invalid (see [DNSOptions.Validate]) make a source that says
// so and finds nothing.
//
// # Addresses
//
// Each address of the name is a host, and each port of each host an endpoint NAME-10-0-0-7-rank-0, where the rank is the
// position of the port in Ports. AAAA records count only if there is no A record: a host with both would be two endpoints.
//
// # Services
//
// Each pair of an address of a target and a port of it is an endpoint TARGET-10-0-0-7-port-8000. The rank is the position
// of the port among the host's ports. Only the records of the lowest priority number are used: the others are a reserve for
// when those cannot be reached, which is not known here. Weights are ignored, since the scheduler measures what the weights
// only guess.
//
// # Which name
//
// A name is what it is to the C library: search domains and ndots of /etc/resolv.conf apply unless it ends in a dot. So
// vllm.models.svc.cluster.local works in a pod, and vllm.models too. With a Resolver the name is absolute. The first name that
// has endpoints is kept until the agent ends: it is one query instead of five, and when the endpoints are gone no wildcard
// of another domain takes their place. /etc/resolv.conf is read at each refresh; its other options are not looked at.
//
// # Failures
//
//   - No answer, an answer that does not fit the question, SERVFAIL and other errors: the list stays, for as long as it
//     takes, and Err says why. The next try comes after MinTTL, then twice that, up to MaxTTL.
//   - The name does not exist (NXDOMAIN) or has no record of the type: this is how a headless Service without ready pods
//     looks, but also a resolver that has just started. The list stays with Err until three answers in a row, each after
//     the TTL of the one before, have said so. Then it is empty.
//   - Unspecified, multicast and broadcast addresses, IPv6 link-local ones (which need a zone), port 0 and odd names of
//     targets are left out with a warning. An answer of which nothing is left is a failure. Loopback, private and IPv4
//     link-local addresses are taken.
//   - More than MaxEndpoints endpoints: the rest, in the order of the list, is left out with a warning.
func NewDNS(o DNSOptions) Source {
	return &dnsSource{options: o.withDefaults(), invalid: o.Validate(), config: "/etc/resolv.conf", port: "53", exchange: exchange}
}

// dnsSource is the state of one name. It belongs to the goroutine of Run.
type dnsSource struct {
	options  DNSOptions
	invalid  error
	config   string // path of resolv.conf
	port     string // of its servers
	exchange exchanger

	found     string        // the absolute name that exists
	negatives int           // answers in a row that said that there is nothing
	backOff   time.Duration // since the last refresh, if it failed: doubled by each
}

func (d *dnsSource) String() string { return "DNS name " + d.options.Name }

// Run implements Source.
func (d *dnsSource) Run(ctx context.Context, update func(Update)) {
	if d.invalid != nil {
		update(Update{Err: fmt.Errorf("options of DNS name %q: %w", d.options.Name, d.invalid)})
		<-ctx.Done()
		return
	}
	t := teller{update: update}
	next := time.NewTimer(0)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		}
		found, err := d.refresh(ctx)
		if ctx.Err() != nil {
			return
		}
		u, wait := d.judge(found, err)
		t.tell(u)
		next.Reset(wait + time.Duration(jitterShare*d.options.Jitter()*float64(wait)))
	}
}

func (d *dnsSource) refresh(ctx context.Context) (*finding, error) {
	ctx, cancel := context.WithTimeout(ctx, refreshTimeout)
	defer cancel()
	return d.lookUp(ctx)
}

// judge turns what a refresh found into an update and says when to ask again.
func (d *dnsSource) judge(f *finding, err error) (Update, time.Duration) {
	if err != nil {
		d.negatives = 0
		d.backOff = min(max(2*d.backOff, d.options.MinTTL), d.options.MaxTTL)
		return Update{Err: fmt.Errorf("%s: %w", d, err)}, d.backOff
	}
	d.backOff = 0
	wait := min(max(f.ttl, d.options.MinTTL), d.options.MaxTTL)
	if f.nothing == "" {
		d.negatives = 0
		return Update{Endpoints: f.endpoints, Warnings: bounded(f.warnings)}, wait
	}
	d.negatives = min(d.negatives+1, confirmations)
	if d.negatives < confirmations {
		return Update{Err: fmt.Errorf("%s: %s; the list becomes empty when %d answers in a row say so", d, f.nothing, confirmations)}, wait
	}
	return Update{Endpoints: []Endpoint{}, Warnings: bounded(append([]string{d.String() + ": " + f.nothing}, f.warnings...))}, wait
}

// dashed writes an address as a part of a name.
func dashed(ip netip.Addr) string {
	b := []byte(ip.String())
	for i, c := range b {
		if c == '.' || c == ':' {
			b[i] = '-'
		}
	}
	return string(b)
}

// rankName and portName are the names of endpoints. Neither depends on what else is found.
func rankName(host string, ip netip.Addr, rank int) string {
	return host + "-" + dashed(ip) + "-rank-" + strconv.Itoa(rank)
}

func portName(host string, ip netip.Addr, port uint16) string {
	return host + "-" + dashed(ip) + "-port-" + strconv.Itoa(int(port))
}
