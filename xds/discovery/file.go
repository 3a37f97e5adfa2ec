package discovery

import (
	"net/netip"
	"strconv"

	"github.com/zerohop/zerohop/shared/snapshot"
	"github.com/zerohop/zerohop/xds/strictyaml"
)

// defaultNamespace stands in for an omitted namespace.
const defaultNamespace = "default"

// ParseFile reads an endpoint file (YAML or JSON):
//
//	endpoints:
//	- name: pod-a           # unique within its namespace
//	  namespace: default    # optional
//	  address: 10.0.0.7     # IPv4 or IPv6
//	  port: "8000"          # a string, as the EPP has it
//	  labels: {role: decode}
//
// A list without elements is valid: nothing can be routed then. The error lists every problem with its field.
func ParseFile(doc []byte) ([]Endpoint, error) {
	var p strictyaml.Problems
	root, err := strictyaml.Parse(doc, &p)
	if err != nil {
		return nil, err
	}
	root.Fields("endpoints")
	if !root.Field("endpoints").Exists() {
		p.Addf("endpoints", "is missing; write a list of {name, address, port}")
	}
	eps := ParseEndpoints(root.Field("endpoints"))
	if err := p.Err(); err != nil {
		return nil, err
	}
	return eps, nil
}

// ParseEndpoints reads the list of an endpoint file where it stands in another document. Problems are reported by list.
func ParseEndpoints(list strictyaml.Node) []Endpoint {
	nodes := list.List()
	eps := make([]Endpoint, len(nodes))
	names, addresses := make(map[string]int), make(map[netip.AddrPort]int)
	for i, n := range nodes {
		eps[i] = parseEndpoint(n)
		e := &eps[i]
		if !snapshot.ValidName([]byte(e.ID())) {
			n.Field("name").Problemf("%q has control characters or, with its namespace, more than %d bytes", e.ID(), snapshot.MaxName)
		}
		if e.Name != "" {
			reportDuplicate(n.Field("name"), names, e.ID(), e.ID(), i)
		}
		if e.Address.IsValid() {
			reportDuplicate(n.Field("address"), addresses, e.Address, e.Address.String(), i)
		}
	}
	return eps
}

func parseEndpoint(n strictyaml.Node) Endpoint {
	if !n.Fields("name", "namespace", "address", "port", "labels") {
		if !n.Exists() {
			n.Problemf("is empty")
		}
		return Endpoint{}
	}
	e := Endpoint{Namespace: defaultNamespace, Name: n.Field("name").Required()}
	if ns := n.Field("namespace").Text(); ns != "" {
		e.Namespace = ns
	}
	ip, port := parseIP(n), parsePort(n)
	if ip.IsValid() && port != 0 {
		e.Address = netip.AddrPortFrom(ip, port)
	}
	if labels := n.Field("labels"); labels.Exists() {
		e.Labels = make(map[string]string)
		for _, k := range labels.Keys() {
			e.Labels[k] = labels.Field(k).Text()
		}
	}
	return e
}

func parseIP(n strictyaml.Node) netip.Addr {
	s := n.Field("address").Required()
	if s == "" {
		return netip.Addr{}
	}
	ip, err := netip.ParseAddr(s)
	field := n.Field("address")
	switch {
	case err != nil:
		field.Problemf("%q is not an IPv4 or IPv6 address; host names are not resolved", s)
	case ip.Zone() != "":
		field.Problemf("%q has a zone, which Envoy's ORIGINAL_DST cluster must not see", s)
	case validateIP(ip.Unmap()) != nil:
		field.Problemf("%q is no address of a single host", s)
	default:
		return ip.Unmap()
	}
	return netip.Addr{}
}

func parsePort(n strictyaml.Node) uint16 {
	s := n.Field("port").Required()
	if s == "" {
		return 0
	}
	port, err := strconv.ParseUint(s, 10, 16)
	if err != nil || port == 0 {
		n.Field("port").Problemf("%q is not a port; write \"1\" to \"65535\"", s)
		return 0
	}
	return uint16(port)
}

func reportDuplicate[K comparable](n strictyaml.Node, seen map[K]int, key K, text string, i int) {
	if first, dup := seen[key]; dup {
		n.Problemf("%s is already taken by endpoints[%d]", text, first)
		return
	}
	seen[key] = i
}
