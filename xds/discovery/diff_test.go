package discovery

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

var equateAddresses = cmpopts.EquateComparable(netip.AddrPort{})

// endpoint returns the endpoint default/NAME at an address, with labels given as "key=value".
func endpoint(name, address string, labels ...string) Endpoint {
	e := Endpoint{Namespace: "default", Name: name, Address: netip.MustParseAddrPort(address)}
	for _, l := range labels {
		if e.Labels == nil {
			e.Labels = make(map[string]string)
		}
		k, v, _ := strings.Cut(l, "=")
		e.Labels[k] = v
	}
	return e
}

func TestDiff(t *testing.T) {
	a1, a2, b2 := endpoint("a", "10.0.0.1:80"), endpoint("a", "10.0.0.2:80"), endpoint("b", "10.0.0.2:80")
	a1role := endpoint("a", "10.0.0.1:80", "role=decode")
	a1other := endpoint("a", "10.0.0.1:80", "role=prefill")
	a1rank := a1
	a1rank.Rank = 1
	a1none := a1
	a1none.Labels = map[string]string{}
	a1port := endpoint("a", "10.0.0.1:81")
	a1ns := a1
	a1ns.Namespace = "prod"
	tests := []struct {
		name                    string
		before, after           []Endpoint
		added, removed, changed []Endpoint
	}{
		{name: "nothing"},
		{name: "the same in another order", before: []Endpoint{a1, b2}, after: []Endpoint{b2, a1}},
		{name: "first list", after: []Endpoint{a1, b2}, added: []Endpoint{a1, b2}},
		{name: "last list", before: []Endpoint{a1, b2}, removed: []Endpoint{a1, b2}},
		{name: "one comes, one goes", before: []Endpoint{a1}, after: []Endpoint{b2}, added: []Endpoint{b2}, removed: []Endpoint{a1}},
		{name: "address changes under the same name", before: []Endpoint{a1}, after: []Endpoint{a2}, added: []Endpoint{a2}, removed: []Endpoint{a1}},
		{name: "port changes under the same name", before: []Endpoint{a1}, after: []Endpoint{a1port}, added: []Endpoint{a1port}, removed: []Endpoint{a1}},
		{name: "name changes at the same address", before: []Endpoint{a2}, after: []Endpoint{b2}, added: []Endpoint{b2}, removed: []Endpoint{a2}},
		{name: "namespace changes", before: []Endpoint{a1}, after: []Endpoint{a1ns}, added: []Endpoint{a1ns}, removed: []Endpoint{a1}},
		{
			name:    "two swap their addresses",
			before:  []Endpoint{endpoint("x", "10.0.0.1:80"), endpoint("y", "10.0.0.2:80")},
			after:   []Endpoint{endpoint("x", "10.0.0.2:80"), endpoint("y", "10.0.0.1:80")},
			added:   []Endpoint{endpoint("x", "10.0.0.2:80"), endpoint("y", "10.0.0.1:80")},
			removed: []Endpoint{endpoint("x", "10.0.0.1:80"), endpoint("y", "10.0.0.2:80")},
		},
		{name: "label added", before: []Endpoint{a1, b2}, after: []Endpoint{a1role, b2}, changed: []Endpoint{a1role}},
		{name: "label changed", before: []Endpoint{a1role}, after: []Endpoint{a1other}, changed: []Endpoint{a1other}},
		{name: "label removed", before: []Endpoint{a1role}, after: []Endpoint{a1}, changed: []Endpoint{a1}},
		{name: "no labels, written in two ways", before: []Endpoint{a1}, after: []Endpoint{a1none}},
		{name: "rank changed", before: []Endpoint{a1}, after: []Endpoint{a1rank}, changed: []Endpoint{a1rank}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			added, removed, changed := Diff(tt.before, tt.after)
			for _, c := range []struct {
				name      string
				want, got []Endpoint
			}{{"added", tt.added, added}, {"removed", tt.removed, removed}, {"changed", tt.changed, changed}} {
				if d := cmp.Diff(c.want, c.got, equateAddresses); d != "" {
					t.Errorf("%s (-want +got):\n%s", c.name, d)
				}
			}
		})
	}
}

// TestDiffLeadsFromOneListToTheOther applies the difference of random lists.
func TestDiffLeadsFromOneListToTheOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, after := drawUnique(t, "before"), drawUnique(t, "after")
		added, removed, changed := Diff(before, after)
		state := make(map[key]Endpoint)
		for _, e := range before {
			state[e.key()] = e
		}
		for _, e := range removed {
			if _, ok := state[e.key()]; !ok {
				t.Fatalf("%v is removed but was not there", e)
			}
			delete(state, e.key())
		}
		for _, e := range changed {
			if was, ok := state[e.key()]; !ok || was.equal(&e) {
				t.Fatalf("%v is changed but was %v", e, was)
			}
			state[e.key()] = e
		}
		for _, e := range added {
			if was, ok := state[e.key()]; ok {
				t.Fatalf("%v is added but was there as %v", e, was)
			}
			state[e.key()] = e
		}
		want := make(map[key]Endpoint)
		for _, e := range after {
			want[e.key()] = e
		}
		if !maps.EqualFunc(want, state, func(a, b Endpoint) bool { return a.equal(&b) }) {
			t.Fatalf("from %v to %v leads to %v", before, after, slices.Collect(maps.Values(state)))
		}
	})
}

// drawUnique returns a list as a source sends it.
func drawUnique(t *rapid.T, label string) []Endpoint {
	l := drawList(t, label)
	u := newUnion(discardLog, []Source{Static(nil)}, func(Update) {})
	u.take(0, Update{Endpoints: l})
	return u.combine().Endpoints
}

// drawList returns a list with everything that a source should not send: names and addresses that repeat, and invalid ones.
func drawList(t *rapid.T, label string) []Endpoint {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Endpoint {
		e := Endpoint{
			Namespace: rapid.SampledFrom([]string{"default", "prod", ""}).Draw(t, "namespace"),
			Name:      rapid.SampledFrom([]string{"a", "b", "c", "d", "", "x\n"}).Draw(t, "name"),
			Rank:      rapid.IntRange(-1, 2).Draw(t, "rank"),
		}
		ip := rapid.SampledFrom([]string{"10.0.0.1", "10.0.0.2", "::1", "::ffff:10.0.0.1", "0.0.0.0", "ff02::1", "fe80::1%eth0"}).Draw(t, "ip")
		e.Address = netip.AddrPortFrom(netip.MustParseAddr(ip), rapid.Uint16Range(0, 3).Draw(t, "port"))
		if rapid.Bool().Draw(t, "labelled") {
			e.Labels = map[string]string{"l": rapid.SampledFrom([]string{"1", "2"}).Draw(t, "label")}
		}
		return e
	}), 0, 12).Draw(t, label)
}
