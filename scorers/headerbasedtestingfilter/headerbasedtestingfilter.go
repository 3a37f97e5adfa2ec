// Package headerbasedtestingfilter provides the plugin type header-based-testing-filter: the request names its endpoints. The
// conformance suite of the Gateway API Inference Extension needs it.
package headerbasedtestingfilter

import (
	"bytes"

	"github.com/cespare/xxhash/v2"

	"github.com/zerohop/zerohop/scorers"
)

// Type is the plugin type.
const Type = "header-based-testing-filter"

const header = "test-epp-endpoint-selection"

// Spec describes the plugin type.
var Spec = scorers.Spec{
	Type:        Type,
	Kinds:       scorers.KindFilter,
	LooseParams: true,
	New:         func(u *scorers.Setup) (any, error) { return &filter{header: u.Header(header)}, nil },
}

type filter struct {
	header scorers.HeaderID
	at     []address // by slot
}

// address is where an endpoint is, as hashes of text.
type address struct{ host, port uint64 }

// Filter implements scorers.Filter. The endpoints come in the order in which the header names them.
func (f *filter) Filter(c *scorers.Cycle, cand []int32) []int32 {
	list := c.Request.Headers.Get(f.header)
	n := 0
	for len(list) > 0 && n < len(cand) {
		item := list
		if i := bytes.IndexByte(list, ','); i >= 0 {
			item, list = list[:i], list[i+1:]
		} else {
			list = nil
		}
		host, port := split(scorers.Trim(item))
		if len(host) == 0 {
			continue
		}
		if k := f.find(cand, n, xxhash.Sum64(host), port); k >= 0 {
			cand[n], cand[k] = cand[k], cand[n]
			n++
		}
	}
	return cand[:n]
}

// Binding implements scorers.Rule.
func (*filter) Binding() bool { return true }

// find returns the index of the first candidate with this host and port, of any port if that is empty. It returns -1 if there
// is none, or if one of the first n candidates has this host already.
func (f *filter) find(cand []int32, n int, host uint64, port []byte) int {
	want := xxhash.Sum64(port)
	found := -1
	for i, s := range cand {
		a := &f.at[s]
		switch {
		case a.host != host:
		case i < n:
			return -1
		case found < 0 && (len(port) == 0 || a.port == want):
			found = i
		}
	}
	return found
}

// split divides ip, [ip], ip:port or [ip]:port.
func split(text []byte) (host, port []byte) {
	if len(text) > 0 && text[0] == '[' {
		end := bytes.IndexByte(text, ']')
		if end < 0 {
			return nil, nil
		}
		host, text = text[1:end], text[end+1:]
		if len(text) > 0 && text[0] == ':' {
			port = text[1:]
		}
		return host, port
	}
	if i := bytes.IndexByte(text, ':'); i >= 0 && bytes.IndexByte(text[i+1:], ':') < 0 {
		return text[:i], text[i+1:]
	}
	return text, nil // a name without port; several colons are those of IPv6
}

// Grow implements scorers.SlotWatcher.
func (f *filter) Grow(slots int) {
	if n := slots - len(f.at); n > 0 {
		f.at = append(f.at, make([]address, n)...)
	}
}

// Facts implements scorers.SlotWatcher.
func (f *filter) Facts(slot int32, facts *scorers.Facts) {
	host, port := split(facts.Address)
	f.at[slot] = address{xxhash.Sum64(host), xxhash.Sum64(port)}
}

// Forget implements scorers.SlotWatcher.
func (f *filter) Forget(slot int32) { f.at[slot] = address{} }
