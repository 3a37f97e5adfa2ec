package agent

import (
	"maps"
	"slices"
	"time"

	"github.com/zerohop/zerohop/shared/snapshot"
	"github.com/zerohop/zerohop/xds/config"
	"github.com/zerohop/zerohop/xds/publish"
)

// wantsOf returns what snapshots carry for the plugins of c.
func wantsOf(c *config.Config) *publish.Wants {
	return publish.WantsOf(&c.Wants, c.Metrics.Extractors...)
}

// describe makes the facts of m those of its endpoint and models. Equal ones stay the same: what differs is encoded anew.
func (f *fleet) describe(k key, m *member) {
	e := &m.endpoint
	next := publish.Facts{Labels: e.Labels, Rank: e.Rank}
	if m.models != nil {
		next.Models, next.ModelsKnown = m.models.Hashes, true
	}
	if old := m.facts; old != nil {
		if old.ModelsKnown == next.ModelsKnown && slices.Equal(old.Models, next.Models) && old.Rank == next.Rank && maps.Equal(old.Labels, next.Labels) {
			return
		}
	}
	for name, value := range e.Labels {
		if len(value) > snapshot.MaxValue && (m.facts == nil || m.facts.Labels[name] != value) {
			f.log.Warn("a label counts as absent: its value is longer than Kubernetes allows", "endpoint", k.id, "label", name,
				"bytes", len(value), "most", snapshot.MaxValue)
		}
	}
	m.facts = &next
}

// learnModels stores an answer and reports whether it has news. Asking that starts anew knows nothing at first: what is known
// stays until it does.
func (f *fleet) learnModels(r result) bool {
	m := f.members[r.key]
	if m == nil || !m.asking.takes(r) {
		return false
	}
	f.tried(m)
	if r.sample.Models == nil || r.sample.Models == m.models {
		return false
	}
	m.models = r.sample.Models
	before := m.facts
	f.describe(r.key, m)
	return m.facts != before
}

// forgetWants reports whether the time has come at which snapshots carry only what the plan in force reads, and sees to it.
func (f *fleet) forgetWants() bool {
	if f.narrow.IsZero() || time.Now().Before(f.narrow) {
		return false
	}
	f.narrow = time.Time{}
	f.store.Want(f.set.wants)
	return true
}
