package agent

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/xds/controlplane"
	"github.com/zerohop/zerohop/xds/publish"
)

// version publishes endpoints a, b, …, of which those with true drain.
func version(t *testing.T, s *publish.Store, draining ...bool) *publish.Version {
	t.Helper()
	eps := make([]publish.Endpoint, len(draining))
	for i := range eps {
		eps[i] = publish.Endpoint{Name: string(rune('a' + i)), Address: "10.0.0.1:" + string(rune('1'+i)), Draining: draining[i]}
	}
	if err := s.Publish(eps, time.Now()); err != nil {
		t.Fatal(err)
	}
	v, err := s.Newest()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestHealthOf(t *testing.T) {
	const h, d, u = controlplane.Healthy, controlplane.Draining, controlplane.Unhealthy
	tests := []struct {
		name     string
		draining []bool
		cooling  []int // workers that avoid each
		workers  int
		want     []controlplane.Health
	}{
		{"none", nil, nil, 2, nil},
		{"all well", []bool{false, false}, []int{0, 0}, 2, []controlplane.Health{h, h}},
		{"draining", []bool{false, true}, []int{0, 2}, 2, []controlplane.Health{h, d}},
		{"half of the workers", []bool{false, false, false}, []int{0, 1, 0}, 2, []controlplane.Health{h, u, h}},
		{"fewer", []bool{false, false, false}, []int{0, 1, 0}, 3, []controlplane.Health{h, h, h}},
		{"half of the endpoints", []bool{false, false}, []int{2, 0}, 2, []controlplane.Health{u, h}},
		{"more than half", []bool{false, false, false}, []int{2, 2, 0}, 2, []controlplane.Health{h, h, h}},
		{"more than half of those that serve", []bool{false, true, true}, []int{2, 0, 0}, 2, []controlplane.Health{h, d, d}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := version(t, publish.NewStore(time.Now()), tt.draining...)
			loads := make(map[uint64]publish.Load)
			for i, n := range tt.cooling {
				loads[v.ID(i)] = publish.Load{CoolingDown: n}
			}
			var got []controlplane.Health
			for _, e := range healthOf(v, loads, tt.workers) {
				got = append(got, e.Health)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestHealthMoves checks which versions are looked at at once, and what is sent.
func TestHealthMoves(t *testing.T) {
	store := publish.NewStore(time.Now())
	sent := 0
	h := &health{store: store, reports: publish.NewFleet(store), set: func([]controlplane.Endpoint) { sent++ }}
	step := func(what string, moved bool, total int, draining ...bool) {
		t.Helper()
		if draining != nil {
			version(t, store, draining...)
		}
		if got := h.moved(); got != moved {
			t.Errorf("%s: moved is %t", what, got)
		}
		h.look()
		if sent != total {
			t.Errorf("%s: sent %d times, want %d", what, sent, total)
		}
	}
	step("nothing", false, 0)
	step("first", true, 1, false, false)
	step("other numbers", false, 1, false, false)
	step("one drains", true, 2, false, true)
	step("one is gone", true, 3, false)
}
