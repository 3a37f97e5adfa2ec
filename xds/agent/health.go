package agent

import (
	"context"
	"slices"
	"time"

	"github.com/zerohop/zerohop/xds/controlplane"
	"github.com/zerohop/zerohop/xds/publish"
)

// healthEvery is how often the filters' opinion of the endpoints is looked at.
const healthEvery = 250 * time.Millisecond

// health tells Envoy which endpoints of the cluster for destination mode list it may use by itself, that is, for its
// fallback policy: not those that drain, and not those that at least half of the workers with traffic have cooled down.
// When more than half of the endpoints are cooled down, the fault is hardly theirs, and all are left to Envoy.
type health struct {
	store   *publish.Store
	reports *publish.Fleet
	set     func([]controlplane.Endpoint)
	changed chan struct{} // a version is there whose endpoints may be others; has room for one

	told []controlplane.Endpoint
	seen *publish.Version // what told is of
}

// wake says that there is a version.
func (h *health) wake() {
	select {
	case h.changed <- struct{}{}:
	default:
	}
}

func (h *health) run(ctx context.Context) {
	tick := time.NewTicker(healthEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-h.changed:
			if !h.moved() {
				continue // numbers alone can wait for the tick
			}
		}
		h.look()
	}
}

// moved reports whether the endpoints of the newest version are others than those that were sent, or drain.
func (h *health) moved() bool {
	v, err := h.store.Newest()
	if err != nil || h.seen == nil {
		return err == nil
	}
	return !slices.EqualFunc(v.Endpoints, h.seen.Endpoints, func(a, b publish.Endpoint) bool {
		return a.Name == b.Name && a.Address == b.Address && a.Draining == b.Draining
	})
}

// look sends the endpoints if they differ from those sent before.
func (h *health) look() {
	v, err := h.store.Newest()
	if err != nil {
		return
	}
	h.seen = v
	eps := healthOf(v, h.reports.Loads(), h.workers())
	if h.told != nil && slices.Equal(eps, h.told) {
		return
	}
	h.told = eps
	h.set(slices.Clone(eps))
}

// workers returns how many workers had traffic.
func (h *health) workers() int {
	n := 0
	for _, e := range h.reports.Envoys() {
		for i := range e.Workers {
			if e.Workers[i].Picks > 0 {
				n++
			}
		}
	}
	return n
}

// healthOf judges the endpoints of v.
func healthOf(v *publish.Version, loads map[uint64]publish.Load, workers int) []controlplane.Endpoint {
	eps := make([]controlplane.Endpoint, len(v.Endpoints))
	serving, cooled := 0, 0
	for i := range v.Endpoints {
		e := &v.Endpoints[i]
		eps[i] = controlplane.Endpoint{Name: e.Name, Address: e.Address, Health: controlplane.Healthy}
		if e.Draining {
			eps[i].Health = controlplane.Draining
			continue
		}
		serving++
		if n := loads[v.ID(i)].CoolingDown; n > 0 && 2*n >= workers {
			eps[i].Health = controlplane.Unhealthy
			cooled++
		}
	}
	if 2*cooled > serving {
		for i := range eps {
			if eps[i].Health == controlplane.Unhealthy {
				eps[i].Health = controlplane.Healthy
			}
		}
	}
	return eps
}
