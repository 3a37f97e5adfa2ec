package agent

import (
	"context"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/zerohop/zerohop/xds/discovery"
	"github.com/zerohop/zerohop/xds/publish"
	"github.com/zerohop/zerohop/xds/scrape"
)

// coalesce is the least time between two versions: the results of many endpoints go out together.
const coalesce = 10 * time.Millisecond

// result is one try of one endpoint.
type result struct {
	index  int
	sample scrape.Sample
}

// fleet owns what is known of all endpoints and publishes it. Everything but ready belongs to the goroutine of run.
type fleet struct {
	endpoints []publish.Endpoint
	tried     []bool
	untried   int
	results   chan result
	store     *publish.Store
	log       *slog.Logger
	ready     atomic.Bool // every endpoint has been tried
}

func newFleet(eps []discovery.Endpoint, store *publish.Store, log *slog.Logger) *fleet {
	f := &fleet{
		endpoints: make([]publish.Endpoint, len(eps)), tried: make([]bool, len(eps)), untried: len(eps),
		results: make(chan result), store: store, log: log,
	}
	for i := range eps {
		f.endpoints[i] = publish.Endpoint{Name: eps[i].ID(), Address: eps[i].Address.String()}
	}
	f.ready.Store(len(eps) == 0)
	return f
}

// report sends the result of endpoint i to run.
func (f *fleet) report(ctx context.Context, i int, s scrape.Sample) {
	select {
	case f.results <- result{i, s}:
	case <-ctx.Done():
	}
}

// run publishes the endpoints at once, unscraped, and again whenever there are results, until ctx ends. Failed tries count
// as results: the ages of the old numbers go out with them.
func (f *fleet) run(ctx context.Context) {
	f.publish()
	gap := time.NewTimer(0)
	defer gap.Stop()
	<-gap.C
	waiting := false // a version is due when gap fires
	for {
		select {
		case <-ctx.Done():
			return
		case r := <-f.results:
			f.take(r)
			if !waiting {
				gap.Reset(coalesce)
				waiting = true
			}
		case <-gap.C:
			f.publish()
			waiting = false
		}
	}
}

// take stores a result.
func (f *fleet) take(r result) {
	f.endpoints[r.index].Sample = r.sample
	if !f.tried[r.index] {
		f.tried[r.index] = true
		f.untried--
	}
}

// publish makes the present state the newest version.
func (f *fleet) publish() {
	if err := f.store.Publish(slices.Clone(f.endpoints), time.Now()); err != nil {
		f.log.Error("snapshot is not published; the one before stays", "error", err)
		return
	}
	if f.untried == 0 {
		f.ready.Store(true)
	}
}
