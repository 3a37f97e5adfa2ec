package config

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/zerohop/zerohop/xds/discovery"
	"github.com/zerohop/zerohop/xds/strictyaml"
)

// The envelope of the second document.
const (
	zerohopVersion = "zerohop.dev/v1alpha1"
	zerohopKind    = "ZerohopConfig"
)

// The fields of a ZerohopConfig that are lists.
const (
	pathEndpoints = "discovery.endpoints"
	pathDNS       = "discovery.dns"
)

// sectionFields has the names that an object of a ZerohopConfig may have, by the object's path; the root's is "".
var sectionFields = func() map[string][]string {
	out := map[string][]string{"": {"apiVersion", "kind"}}
	add := func(path string) {
		for path != "" {
			section, field := "", path
			if i := strings.LastIndexByte(path, '.'); i >= 0 {
				section, field = path[:i], path[i+1:]
			}
			if !slices.Contains(out[section], field) {
				out[section] = append(out[section], field)
			}
			path = section
		}
	}
	for i := range settings {
		add(settings[i].path)
	}
	add(pathEndpoints)
	add(pathDNS)
	return out
}()

// zerohop reads a ZerohopConfig; root does not exist if there is none.
func (l *loader) zerohop(root strictyaml.Node) {
	z := DefaultZerohop()
	l.lines = map[string]int{pathFileDiscovery: l.lines[pathFileDiscovery]}
	for _, section := range sortedKeys(sectionFields) {
		if n := at(root, section); n.Exists() {
			n.Fields(sectionFields[section]...)
		}
	}
	for i := range settings {
		s := &settings[i]
		n := at(root, s.path)
		if !n.Exists() {
			l.defaulted(s.path, s.form.show(&z), s.why)
			continue
		}
		l.lines[s.path] = n.Line()
		s.form.read(n, &z)
	}
	if n := at(root, pathEndpoints); n.Exists() {
		z.Discovery.Endpoints = discovery.ParseEndpoints(n)
	}
	if n := at(root, pathDNS); n.Exists() {
		for _, e := range n.List() {
			z.Discovery.DNS = append(z.Discovery.DNS, l.dns(e))
		}
		l.dnsDuplicates(n.List(), z.Discovery.DNS)
	}
	l.together(root, &z)
	l.zerohopPlan = z
}

// at walks down a path of field names.
func at(n strictyaml.Node, path string) strictyaml.Node {
	if path == "" {
		return n
	}
	for field := range strings.SplitSeq(path, ".") {
		n = n.Field(field)
	}
	return n
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// leastTTL bounds the time between two queries.
const leastTTL = 100 * time.Millisecond

// dns reads one DNS source.
func (l *loader) dns(n strictyaml.Node) DNS {
	d := DNS{Type: discovery.DNSAddress, Namespace: "default", MinTTL: discovery.DefaultMinTTL, MaxTTL: discovery.DefaultMaxTTL}
	if !n.Fields("name", "type", "ports", "namespace", "resolver", "minTTL", "maxTTL") {
		if !n.Exists() {
			n.Problemf("is empty")
		}
		return d
	}
	d.Name = n.Field("name").Required()
	if what := hostName(d.Name); what != "" && d.Name != "" {
		n.Field("name").Problemf("%q %s", d.Name, what)
	}
	l.or(n.Field("type"), scalar(d.Type), "a headless Service has one address for each pod", func(f strictyaml.Node) {
		d.Type = f.Choice(discovery.DNSAddress, discovery.DNSService)
	})
	l.or(n.Field("namespace"), d.Namespace, "as in an endpoint file", func(f strictyaml.Node) { d.Namespace = f.Required() })
	l.or(n.Field("resolver"), `""`, "what /etc/resolv.conf says", func(f strictyaml.Node) { d.Resolver = resolver(f) })
	l.or(n.Field("minTTL"), d.MinTTL.String(), "one query a second at most", func(f strictyaml.Node) { readSpan(f, &d.MinTTL, leastTTL, day) })
	l.or(n.Field("maxTTL"), d.MaxTTL.String(), "a new endpoint is found within that time", func(f strictyaml.Node) { readSpan(f, &d.MaxTTL, leastTTL, day) })
	if d.MinTTL > d.MaxTTL {
		n.Field("minTTL").Problemf("%v is more than maxTTL, %v", d.MinTTL, d.MaxTTL)
	}
	d.Ports = ports(n.Field("ports"))
	switch {
	case d.Type == discovery.DNSAddress && !n.Field("ports").Exists():
		n.Field("ports").Problemf("is missing; an address has no port of its own, write for example [8000]")
	case d.Type == discovery.DNSService && n.Field("ports").Exists():
		n.Field("ports").Problemf("stands beside type SRV, whose answers have ports; remove it")
	}
	return d
}

// or reads an optional field, or notes its default.
func (l *loader) or(n strictyaml.Node, value, why string, read func(strictyaml.Node)) {
	if !n.Exists() {
		l.defaulted(n.Path(), value, why)
		return
	}
	read(n)
}

// resolver reads the address of a DNS server, with or without port.
func resolver(n strictyaml.Node) string {
	s := n.Text()
	if s == "" {
		return ""
	}
	if ip, err := netip.ParseAddr(s); err == nil {
		return netip.AddrPortFrom(ip, 53).String()
	}
	if a, err := netip.ParseAddrPort(s); err != nil || a.Port() == 0 {
		n.Problemf("%q is not ip or ip:port; write for example 10.96.0.10:53", s)
	}
	return s
}

// ports reads a list of different ports.
func ports(n strictyaml.Node) []uint16 {
	var out []uint16
	if !n.Exists() {
		return nil
	}
	nodes := n.List()
	for _, e := range nodes {
		port := 0
		if !e.Exists() {
			e.Problemf("is empty")
			continue
		}
		if readWhole(e, &port, 1, 65535); port == 0 {
			continue
		}
		if slices.Contains(out, uint16(port)) {
			e.Problemf("%d stands here twice", port)
			continue
		}
		out = append(out, uint16(port))
	}
	if n.IsList() && len(nodes) == 0 {
		n.Problemf("is empty; write for example [8000]")
	}
	return out
}

// dnsDuplicates reports a source that is there twice: its endpoints would be too.
func (l *loader) dnsDuplicates(nodes []strictyaml.Node, sources []DNS) {
	for i := range sources {
		for j := range i {
			a, b := &sources[i], &sources[j]
			if a.Name != "" && strings.EqualFold(a.Name, b.Name) && a.Type == b.Type && a.Resolver == b.Resolver {
				nodes[i].Field("name").Problemf("%s is already asked for by %s", a.Name, nodes[j].Path())
				break
			}
		}
	}
}
