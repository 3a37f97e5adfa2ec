// Package publish hands snapshots to Envoy. A Store holds the newest version, which is immutable and encoded once;
// Handler serves it over HTTP by long poll. The package does not know where the numbers come from.
package publish

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/zerohop/zerohop/shared/snapshot"
	"github.com/zerohop/zerohop/xds/scrape"
)

// Endpoint is one endpoint of a version.
type Endpoint struct {
	Name    string // namespace/name
	Address string // ip:port
	Sample  scrape.Sample
}

// Version is one published state. It never changes, so that any goroutine may read it.
type Version struct {
	Number    uint64
	At        time.Time // when it was encoded; ages in Blob are relative to it
	Blob      []byte    // see package snapshot
	Endpoints []Endpoint

	replaced chan struct{} // closed when a newer version is there
}

// ErrNone says that nothing has been published yet.
var ErrNone = errors.New("nothing is published yet")

// Store holds the newest version. One goroutine publishes; any number wait.
type Store struct {
	newest atomic.Pointer[Version]
}

// NewStore returns a store without endpoints. Its versions count up from the time in nanoseconds, so that an agent that
// was restarted never repeats a number, and a reader can tell by a single number whether it has the newest state.
func NewStore(now time.Time) *Store {
	s := &Store{}
	s.newest.Store(&Version{Number: uint64(now.UnixNano()), At: now, replaced: make(chan struct{})})
	return s
}

// Publish makes endpoints the newest version and wakes all who wait. It keeps the slice, which must not change any more.
// On error the version before stays.
func (s *Store) Publish(endpoints []Endpoint, now time.Time) error {
	old := s.newest.Load()
	v := &Version{Number: old.Number + 1, At: now, Endpoints: endpoints, replaced: make(chan struct{})}
	records := make([]snapshot.Endpoint, len(endpoints))
	for i := range endpoints {
		records[i] = record(&endpoints[i], now)
	}
	var err error
	if v.Blob, err = snapshot.Append(nil, v.Number, records); err != nil {
		return fmt.Errorf("encode snapshot: %w", err)
	}
	s.newest.Store(v)
	close(old.replaced)
	return nil
}

// record converts e for the codec.
func record(e *Endpoint, now time.Time) snapshot.Endpoint {
	name, address := []byte(e.Name), []byte(e.Address)
	m := &e.Sample.Metrics
	return snapshot.Endpoint{
		ID: snapshot.EndpointID(name, address), Name: name, Address: address,
		ScrapeAgeMs: ageMs(&e.Sample, now), ScrapeSeq: e.Sample.Seq,
		Waiting: m.Waiting, Running: m.Running, KVUsage: m.KVUsage, BlockSize: m.BlockSize, NumBlocks: m.NumBlocks,
	}
}

// ageMs returns the age of the metrics, or snapshot.NeverScraped.
func ageMs(s *scrape.Sample, now time.Time) uint32 {
	if s.At.IsZero() {
		return snapshot.NeverScraped
	}
	return uint32(min(max(now.Sub(s.At).Milliseconds(), 0), int64(snapshot.NeverScraped)-1))
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
		select {
		case <-v.replaced:
		case <-ctx.Done():
			return nil
		}
	}
}
