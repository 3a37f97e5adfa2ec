package sessionaffinity

import (
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/zerohop/zerohop/scorers"
)

// Session implements scorers.SessionTeller.
func (b *Bindings) Session(c *scorers.Cycle) (slot int32, named bool) {
	hash := b.session(c)
	if hash == 0 {
		return -1, false
	}
	if at, bound := b.table.Get(hash); bound && b.valid(at) {
		return at.Slot, true
	}
	return -1, true
}

// Session implements scorers.SessionTeller. A value that is no token is no session.
func (t *Token) Session(c *scorers.Cycle) (slot int32, named bool) {
	value := c.Request.Headers.Get(t.header)
	if len(value) == 0 || len(value) > len(t.buf) {
		return -1, false
	}
	n, ok := decode(t.buf[:], value)
	if !ok {
		return -1, false
	}
	return int32(slices.Index(c.Endpoints.NameHash, xxhash.Sum64(t.buf[:n]))), true
}
