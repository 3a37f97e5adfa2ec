package publish

import (
	"sync"

	"github.com/zerohop/zerohop/shared/snapshot"
)

// Versions before the newest from which there are deltas. A poller is as many versions behind as are published during its
// round trip: with one every 10 ms, 16 of them are 160 ms.
const (
	maxPast      = 16
	maxPastBytes = 8 << 20
)

// delta leads from one version to the one that holds it. It is encoded when the first poller asks for it.
type delta struct {
	number uint64 // of the version that it starts from
	base   []byte // its blob

	once sync.Once
	blob []byte // nil if the newer version must travel whole
}

// successors returns the deltas of next, the version after v, not encoded yet. Blobs are kept, not versions, so that a
// chain of versions does not stay in memory; with other endpoints no delta is possible, and the old blobs are let go.
func (v *Version) successors(next *Version) []*delta {
	if v.Blob == nil || v.members != next.members {
		return nil
	}
	room := min(maxPast, maxPastBytes/max(len(next.Blob), 1))
	out := make([]*delta, 0, maxPast)
	for _, d := range v.past[max(0, len(v.past)-max(room-1, 0)):] {
		out = append(out, &delta{number: d.number, base: d.base})
	}
	if room > 0 {
		out = append(out, &delta{number: v.Number, base: v.Blob})
	}
	return out
}

// Delta returns the delta from version seen to v, the newest, or nil if v must travel whole. It is the same slice for all
// who ask.
func (s *Store) Delta(v *Version, seen uint64) []byte {
	for i := len(v.past) - 1; i >= 0; i-- {
		d := v.past[i]
		if d.number != seen {
			continue
		}
		d.once.Do(func() {
			if b, ok := snapshot.AppendDelta(nil, d.base, v.Blob); ok {
				d.blob = b
				s.counts.deltas.Add(1)
			}
		})
		return d.blob
	}
	return nil
}
