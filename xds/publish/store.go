// Package publish is where the agent and Envoy meet: a Store holds the newest snapshot, which is immutable and encoded
// once; Handler serves it over HTTP by long poll, whole or as a delta, and takes the filters' reports; Fleet adds those up.
// The package does not know where the numbers come from.
package publish

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/zerohop/zerohop/shared/snapshot"
	"github.com/zerohop/zerohop/xds/scrape"
)

// Endpoint is one endpoint of a version. Name and Address together are its identity: the same name may stand at several
// addresses, as while a pod is replaced.
type Endpoint struct {
	Name     string // namespace/name
	Address  string // ip:port
	Draining bool   // it gets no new requests
	Facts    *Facts // what else is known; nil if nothing is
	Sample   scrape.Sample
}

// Version is one published state. It never changes, so that any goroutine may read it.
type Version struct {
	Number    uint64
	At        time.Time // when it was encoded; ages in Blob are relative to it
	Blob      []byte    // see package snapshot
	Endpoints []Endpoint

	members  *members
	past     []*delta      // from versions before, the newest last
	replaced chan struct{} // closed when a newer version is there
}

// members are the endpoints of a version without their numbers. Versions with the same ones share it.
type members struct {
	ids              []uint64
	names, addresses [][]byte
	wants            *Wants          // that sheet was made for
	sheet            *snapshot.Sheet // nil if there is nothing to carry
	places           int             // room for adapters
}

// ID returns the id (snapshot.EndpointID) of v.Endpoints[i].
func (v *Version) ID(i int) uint64 { return v.members.ids[i] }

// ErrNone says that nothing has been published yet.
var ErrNone = errors.New("nothing is published yet")

// Store holds the newest version. One goroutine publishes; any number wait.
type Store struct {
	start  time.Time // ages are counted in whole milliseconds from here
	wants  *Wants    // belongs to the publisher
	newest atomic.Pointer[Version]
	counts storeCounts

	waiting  atomic.Int64 // callers of Wait
	answered atomic.Int64 // of these, those that the newest version woke
}

type storeCounts struct{ versions, failures, deltas atomic.Uint64 }

// NewStore returns a store without endpoints. Its versions count up from the time in nanoseconds, so that an agent that
// was restarted never repeats a number, and a reader can tell by a single number whether it has the newest state.
func NewStore(now time.Time) *Store {
	s := &Store{start: now, wants: &Wants{}}
	s.newest.Store(&Version{Number: uint64(now.UnixNano()), At: now, members: &members{wants: s.wants}, replaced: make(chan struct{})})
	return s
}

// Publish makes endpoints the newest version and wakes all who wait. It keeps the slice, which must not change any more.
// On error the version before stays.
func (s *Store) Publish(endpoints []Endpoint, now time.Time) error {
	old := s.newest.Load()
	v := &Version{Number: old.Number + 1, At: now, Endpoints: endpoints, replaced: make(chan struct{})}
	var err error
	if v.members, err = s.membersOf(endpoints, old); err == nil {
		v.Blob, err = s.encode(v)
	}
	if err != nil {
		s.counts.failures.Add(1)
		return fmt.Errorf("encode snapshot: %w", err)
	}
	v.past = old.successors(v)
	s.newest.Store(v)
	s.answered.Store(s.waiting.Load())
	s.counts.versions.Add(1)
	close(old.replaced)
	return nil
}

// membersOf returns the members of a version after old. Nearly always they are the same.
func (s *Store) membersOf(endpoints []Endpoint, old *Version) (*members, error) {
	was := old.members
	same := slices.EqualFunc(endpoints, old.Endpoints, func(a, b Endpoint) bool { return a.Name == b.Name && a.Address == b.Address })
	told := same && was.wants == s.wants && (!s.wants.sheet() ||
		slices.EqualFunc(endpoints, old.Endpoints, func(a, b Endpoint) bool { return a.Facts == b.Facts }))
	places := s.wants.places(endpoints)
	if told && places <= was.places {
		return was, nil
	}
	m := &members{wants: s.wants, places: places}
	if same {
		m.ids, m.names, m.addresses = was.ids, was.names, was.addresses
	} else {
		m.identify(endpoints)
	}
	if told {
		m.sheet = was.sheet
		return m, nil
	}
	var err error
	m.sheet, err = s.wants.newSheet(endpoints, m.ids)
	return m, err
}

func (m *members) identify(endpoints []Endpoint) {
	n := len(endpoints)
	m.ids, m.names, m.addresses = make([]uint64, n), make([][]byte, n), make([][]byte, n)
	for i := range endpoints {
		m.names[i], m.addresses[i] = []byte(endpoints[i].Name), []byte(endpoints[i].Address)
		m.ids[i] = snapshot.EndpointID(m.names[i], m.addresses[i])
	}
}

// encode returns the blob of v.
func (s *Store) encode(v *Version) ([]byte, error) {
	records := make([]snapshot.Endpoint, len(v.Endpoints))
	for i := range records {
		records[i] = s.record(v, i)
	}
	return snapshot.AppendExtras(nil, v.Number, records, v.extras())
}

// record converts endpoint i of v for the codec.
func (s *Store) record(v *Version, i int) snapshot.Endpoint {
	e, m := &v.Endpoints[i], v.members
	r := snapshot.Endpoint{
		ID: m.ids[i], Name: m.names[i], Address: m.addresses[i],
		ScrapeAgeMs: s.ageMs(&e.Sample, v.At), ScrapeSeq: e.Sample.Seq,
		Waiting: e.Sample.Waiting, Running: e.Sample.Running, KVUsage: e.Sample.KVUsage,
		BlockSize: e.Sample.BlockSize, NumBlocks: e.Sample.NumBlocks,
	}
	if e.Draining {
		r.Flags |= snapshot.Draining
	}
	return r
}

// ageMs returns the age of the metrics, or snapshot.NeverScraped. Both times are cut to milliseconds since start before
// they are subtracted: the age of every endpoint that is not scraped in between then grows by the same number from one
// version to the next, and a delta need not carry it.
func (s *Store) ageMs(sample *scrape.Sample, now time.Time) uint32 {
	if sample.At.IsZero() {
		return snapshot.NeverScraped
	}
	age := now.Sub(s.start).Milliseconds() - sample.At.Sub(s.start).Milliseconds()
	return uint32(min(max(age, 0), int64(snapshot.NeverScraped)-1))
}

// Newest returns the newest version, or ErrNone.
func (s *Store) Newest() (*Version, error) {
	v := s.newest.Load()
	if v.Blob == nil {
		return nil, ErrNone
	}
	return v, nil
}

// Wait returns the newest version as soon as its number is not seen, or nil when ctx ends before.
func (s *Store) Wait(ctx context.Context, seen uint64) *Version {
	for {
		v := s.newest.Load()
		if v.Blob != nil && v.Number != seen {
			return v
		}
		if !s.await(ctx, v) {
			return nil
		}
	}
}

// await blocks until v is replaced; it returns false if ctx ends before.
func (s *Store) await(ctx context.Context, v *Version) bool {
	s.waiting.Add(1)
	defer s.waiting.Add(-1)
	select {
	case <-v.replaced:
		return true
	case <-ctx.Done():
		return false
	}
}

const (
	// pollShare is the time per waiting poll that has to lie between two versions. An answered poll costs about 50 µs, so that
	// polls take up a third of a core at most, whatever the number of Envoys.
	pollShare = 150 * time.Microsecond
	// maxPace bounds how much older the numbers may become by that.
	maxPace = 100 * time.Millisecond
)

// Pace returns the least time that should lie between the newest version and the next one, by the number of those who
// waited for the newest: with few it is nearly nothing, with 300 it is 45 ms.
func (s *Store) Pace() time.Duration {
	return min(time.Duration(s.answered.Load())*pollShare, maxPace)
}

// StoreStats counts what a store did.
type StoreStats struct {
	Versions uint64 // published
	Failures uint64 // versions that could not be encoded
	Deltas   uint64 // encoded, each once for all who poll
}

// Stats returns the counts.
func (s *Store) Stats() StoreStats {
	return StoreStats{Versions: s.counts.versions.Load(), Failures: s.counts.failures.Load(), Deltas: s.counts.deltas.Load()}
}
