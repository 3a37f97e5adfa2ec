package discovery

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/miekg/dns"
)

const (
	maxAliases = 16              // CNAMEs from a name to its records
	maxTTL     = 1<<31 - 1       // a larger TTL counts as 0 (RFC 2181)
	absentTTL  = 5 * time.Second // of "there is nothing" without SOA, which would say
)

// finding is what a refresh found.
type finding struct {
	endpoints []Endpoint
	warnings  []string
	ttl       time.Duration // the shortest of the records used
	nothing   string        // why there is none, if the answer says that there is none
}

// records are what there is for a name, beyond its aliases.
type records struct {
	owner   string // canonical name at the end of the aliases
	rrs     []dns.RR
	extra   []dns.RR // what the server added
	ttl     time.Duration
	nothing string // why there is no record
	noName  bool   // the reason is that the name does not exist
}

// follow goes from name over its aliases to the records of a type. Records of other names are not looked at: a server
// could put anything there.
func follow(answer []dns.RR, name string, rrtype uint16) (records, error) {
	r := records{owner: dns.CanonicalName(name), ttl: maxTTL * time.Second}
	for range maxAliases {
		alias := ""
		for _, rr := range answer {
			h := rr.Header()
			if h.Class != dns.ClassINET || dns.CanonicalName(h.Name) != r.owner {
				continue
			}
			cname, isAlias := rr.(*dns.CNAME)
			switch {
			case h.Rrtype == rrtype:
				r.rrs = append(r.rrs, rr)
			case isAlias && alias != "" && dns.CanonicalName(cname.Target) != alias:
				return r, fmt.Errorf("%s has two CNAME records", r.owner)
			case isAlias:
				alias = dns.CanonicalName(cname.Target)
			default:
				continue
			}
			r.ttl = min(r.ttl, ttlOf(h))
		}
		if len(r.rrs) > 0 || alias == "" {
			return r, nil
		}
		r.owner = alias
	}
	return r, fmt.Errorf("%s leads over more than %d CNAME records", name, maxAliases)
}

func ttlOf(h *dns.RR_Header) time.Duration {
	if h.Ttl > maxTTL {
		return 0
	}
	return time.Duration(h.Ttl) * time.Second
}

// negativeTTL returns how long an answer that says that there is nothing holds (RFC 2308).
func negativeTTL(authority []dns.RR) time.Duration {
	for _, rr := range authority {
		if soa, ok := rr.(*dns.SOA); ok {
			return min(ttlOf(&soa.Hdr), ttlOf(&dns.RR_Header{Ttl: soa.Minttl}))
		}
	}
	return absentTTL
}

// addresses returns the addresses in A or AAAA records, sorted and each once.
func addresses(rrs []dns.RR) []netip.Addr {
	var ips []netip.Addr
	for _, rr := range rrs {
		var b []byte
		switch rr := rr.(type) {
		case *dns.A:
			b = rr.A
		case *dns.AAAA:
			b = rr.AAAA
		}
		if ip, ok := netip.AddrFromSlice(b); ok {
			ips = append(ips, ip.Unmap())
		}
	}
	slices.SortFunc(ips, netip.Addr.Compare)
	return slices.Compact(ips)
}

// refuse says why an address that DNS gives cannot be an endpoint's, or nothing.
func refuse(ip netip.Addr) error {
	if ip.Is6() && ip.IsLinkLocalUnicast() {
		return fmt.Errorf("address %s needs a zone, which DNS cannot give", ip)
	}
	return validateIP(ip)
}

// host is a name with addresses and ports, as found.
type host struct {
	name    string // of its endpoints
	ips     []netip.Addr
	ports   []uint16
	ttl     time.Duration
	nothing string // why there is no address
}

// service is a target of SRV records.
type service struct {
	target string // canonical, with the dot at the end
	ports  []uint16
}

// services returns the targets of the lowest priority, sorted, with their ports in ascending order, and warnings about
// those that cannot be used. An empty result without warnings means that the service is said not to exist.
func services(rrs []dns.RR) ([]service, []string) {
	lowest := -1
	for _, rr := range rrs {
		if srv, ok := rr.(*dns.SRV); ok && (lowest < 0 || int(srv.Priority) < lowest) {
			lowest = int(srv.Priority)
		}
	}
	ports := make(map[string][]uint16)
	var warnings []string
	for _, rr := range rrs {
		srv, ok := rr.(*dns.SRV)
		if !ok || int(srv.Priority) != lowest || srv.Target == "." {
			continue
		}
		target := dns.CanonicalName(srv.Target)
		switch {
		case srv.Port == 0:
			warnings = append(warnings, fmt.Sprintf("SRV record with target %s is left out: its port is 0", target))
		case !plainName(target):
			warnings = append(warnings, fmt.Sprintf("SRV record with target %.300q is left out: the target has odd characters", target))
		default:
			ports[target] = append(ports[target], srv.Port)
		}
	}
	out := make([]service, 0, len(ports))
	for target, list := range ports {
		slices.Sort(list)
		out = append(out, service{target, slices.Compact(list)})
	}
	slices.SortFunc(out, func(a, b service) int { return cmp.Compare(a.target, b.target) })
	slices.Sort(warnings)
	return out, slices.Compact(warnings)
}

// plainName says whether a DNS name consists of letters, digits, '.', '-' and '_': it becomes part of endpoint names.
func plainName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '.' && c != '-' && c != '_'
	})
}

// errRefused says that nothing of an answer can be used.
var errRefused = errors.New("nothing of the answer can be used")

// assemble makes endpoints of hosts: those of an address stand together, in the order of their ports. Of two hosts with the
// same address and port the one with the lower name counts. byRank says that a port's position in the host's list, and not
// its number, names the endpoint.
func (o *DNSOptions) assemble(hosts []host, byRank bool) ([]Endpoint, []string, error) {
	var eps []Endpoint
	var warnings []string
	for _, h := range hosts {
		for _, ip := range h.ips {
			if err := refuse(ip); err != nil {
				warnings = append(warnings, h.name+": "+err.Error())
				continue
			}
			for i, port := range h.ports {
				e := Endpoint{Namespace: o.Namespace, Name: portName(h.name, ip, port), Address: netip.AddrPortFrom(ip, port), Rank: i}
				if byRank {
					e.Name = rankName(h.name, ip, i)
				}
				eps = append(eps, e)
			}
		}
	}
	if len(eps) == 0 && len(warnings) > 0 {
		return nil, nil, fmt.Errorf("%w: %s", errRefused, strings.Join(bounded(warnings), "; "))
	}
	slices.SortStableFunc(eps, func(a, b Endpoint) int {
		return cmp.Or(a.Address.Addr().Compare(b.Address.Addr()), rankOrder(byRank, &a, &b), cmp.Compare(a.Name, b.Name))
	})
	eps = slices.CompactFunc(eps, func(a, b Endpoint) bool { return a.Address == b.Address })
	eps, warnings = dropHomonyms(eps, warnings)
	if !byRank {
		rankByPort(eps)
	}
	if n := len(eps); n > o.MaxEndpoints {
		eps = eps[:o.MaxEndpoints]
		warnings = append(warnings, fmt.Sprintf("%s has %d endpoints, of which the last %d are left out: the limit is %d", o.Name, n, n-len(eps), o.MaxEndpoints))
	}
	return eps, warnings, nil
}

// dropHomonyms removes endpoints whose name is taken: x with the address 1-2-3-4-5-6-7-8 and x-1-2-3-4 with 5-6-7-8.
func dropHomonyms(eps []Endpoint, warnings []string) ([]Endpoint, []string) {
	taken := make(map[string]bool, len(eps))
	eps = slices.DeleteFunc(eps, func(e Endpoint) bool {
		if taken[e.Name] {
			warnings = append(warnings, fmt.Sprintf("%s at %s is left out: the name is taken", e.Name, e.Address))
			return true
		}
		taken[e.Name] = true
		return false
	})
	return eps, warnings
}

// rankOrder compares endpoints of one address.
func rankOrder(byRank bool, a, b *Endpoint) int {
	if byRank {
		return cmp.Compare(a.Rank, b.Rank)
	}
	return cmp.Compare(a.Address.Port(), b.Address.Port())
}

// rankByPort numbers the ports of each address, which may belong to several targets.
func rankByPort(eps []Endpoint) {
	for i := range eps {
		eps[i].Rank = 0
		if i > 0 && eps[i-1].Address.Addr() == eps[i].Address.Addr() {
			eps[i].Rank = eps[i-1].Rank + 1
		}
	}
}
