package discovery

import (
	"maps"
	"net/netip"
)

// key is what makes an endpoint the same one.
type key struct {
	id      string
	address netip.AddrPort
}

func (e *Endpoint) key() key { return key{e.ID(), e.Address} }

// equal says whether two endpoints are the same one and unchanged.
func (e *Endpoint) equal(o *Endpoint) bool {
	return e.Address == o.Address && e.Name == o.Name && e.Namespace == o.Namespace && e.Rank == o.Rank && maps.Equal(e.Labels, o.Labels)
}

// Diff says how to get from the list before to the list after. An endpoint is the same if ID and address are: an address that
// changes under the same name removes one endpoint and adds another, because load, cache and open streams belong to the
// server at the address. An endpoint whose labels or rank differ is changed, and stands there as it is after. The results
// are in the order of after (added, changed) and before (removed).
func Diff(before, after []Endpoint) (added, removed, changed []Endpoint) {
	known := make(map[key]*Endpoint, len(before))
	for i := range before {
		known[before[i].key()] = &before[i]
	}
	kept := make(map[key]bool, len(after))
	for _, e := range after {
		k := e.key()
		kept[k] = true
		switch b := known[k]; {
		case b == nil:
			added = append(added, e)
		case !b.equal(&e):
			changed = append(changed, e)
		}
	}
	for _, e := range before {
		if !kept[e.key()] {
			removed = append(removed, e)
		}
	}
	return added, removed, changed
}
