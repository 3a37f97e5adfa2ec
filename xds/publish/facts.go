package publish

import (
	"cmp"
	"slices"
	"strings"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/snapshot"
)

// Facts are what is known of an endpoint beside its numbers. They never change once they are published: whoever learns
// something makes new ones.
type Facts struct {
	Labels      map[string]string
	Rank        int      // data-parallel rank
	Models      []uint64 // XXH64 of the names of the served models
	ModelsKnown bool
}

// Wants are what snapshots carry beside numbers.
type Wants struct {
	labels       []string
	attributes   []attribute
	models, lora bool
}

// attribute is one that plugins call key and the scraper metric.
type attribute struct{ key, metric string }

// WantsOf returns what a snapshot carries for plugins that ask for w. A label whose key is longer than any in Kubernetes is
// not carried, nor an attribute that comes from none of the extractors, given by name.
func WantsOf(w *scorers.Wants, extractors ...string) *Wants {
	out := &Wants{models: w.Models, lora: w.LoRA}
	for _, key := range w.Labels {
		if key != "" && len(key) <= snapshot.MaxKey && !slices.Contains(out.labels, key) {
			out.labels = append(out.labels, key)
		}
	}
	slices.Sort(out.labels)
	for _, key := range w.Attributes {
		for _, producer := range extractors {
			if metric, ok := strings.CutPrefix(key, producer+"/"); ok && len(key) <= snapshot.MaxKey {
				out.attributes = append(out.attributes, attribute{key, metric})
				break
			}
		}
	}
	slices.SortFunc(out.attributes, attribute.compare)
	return out
}

func (a attribute) compare(b attribute) int { return cmp.Compare(a.key, b.key) }

// Equal reports whether snapshots would carry the same for both.
func (w *Wants) Equal(other *Wants) bool {
	return w.models == other.models && w.lora == other.lora && slices.Equal(w.labels, other.labels) &&
		slices.Equal(w.attributes, other.attributes)
}

// With returns what snapshots carry for plugins of both. Where that is too much, it is w.
func (w *Wants) With(other *Wants) *Wants {
	out := &Wants{models: w.models || other.models, lora: w.lora || other.lora}
	out.labels = slices.Compact(slices.Sorted(slices.Values(slices.Concat(w.labels, other.labels))))
	out.attributes = slices.CompactFunc(slices.SortedFunc(slices.Values(slices.Concat(w.attributes, other.attributes)), attribute.compare),
		func(a, b attribute) bool { return a.key == b.key })
	if len(out.labels) > snapshot.MaxLabels || len(out.attributes) > snapshot.MaxAttributes {
		return w
	}
	return out
}

// Want makes the following versions carry w, which must not change any more. Only the publisher may call it.
func (s *Store) Want(w *Wants) {
	if !s.wants.Equal(w) {
		s.wants = w
	}
}

// sheet reports whether there is anything for a facts section.
func (w *Wants) sheet() bool { return len(w.labels)+len(w.attributes) > 0 || w.models }

// places returns the room for adapters that records need.
func (w *Wants) places(endpoints []Endpoint) int {
	if !w.lora {
		return 0
	}
	most := 0
	for i := range endpoints {
		if l := endpoints[i].Sample.LoRA; l != nil {
			most = max(most, len(l.Active)+len(l.Waiting))
		}
	}
	return snapshot.Places(most)
}

// newSheet encodes the facts of endpoints; nil if nobody wants any. Ranks are carried along with the others: no plugin reads
// a rank alone.
func (w *Wants) newSheet(endpoints []Endpoint, ids []uint64) (*snapshot.Sheet, error) {
	if !w.sheet() {
		return nil, nil
	}
	f := &snapshot.Facts{Labels: w.labels, AskModels: w.models, Endpoints: make([]snapshot.EndpointFacts, len(endpoints))}
	for _, a := range w.attributes {
		f.Attributes = append(f.Attributes, a.key)
	}
	for i := range endpoints {
		e := &f.Endpoints[i]
		e.ID = ids[i]
		if known := endpoints[i].Facts; known != nil {
			e.Labels, e.Rank = known.Labels, known.Rank
			if w.models {
				e.Models, e.ModelsKnown = known.Models, known.ModelsKnown
			}
		}
	}
	return snapshot.NewSheet(f)
}

// extras returns what the blob of v carries beside numbers; nil if nobody wants any.
func (v *Version) extras() *snapshot.Extras {
	m := v.members
	if m.sheet == nil && !m.wants.lora {
		return nil
	}
	x := &snapshot.Extras{Sheet: m.sheet, Places: m.places}
	if n := len(m.wants.attributes); n > 0 {
		x.Attributes = make([][]float64, len(v.Endpoints))
		values := make([]float64, 0, n*len(v.Endpoints))
		for i := range x.Attributes {
			for _, a := range m.wants.attributes {
				values = append(values, v.Endpoints[i].Sample.Custom.Of(a.metric))
			}
			x.Attributes[i] = values[i*n:]
		}
	}
	if !m.wants.lora {
		return x
	}
	x.LoRA = make([]snapshot.LoRA, len(v.Endpoints))
	for i := range x.LoRA {
		if l := v.Endpoints[i].Sample.LoRA; l != nil {
			x.LoRA[i] = snapshot.LoRA{Known: true, Max: l.Max, Active: l.Active, Waiting: l.Waiting}
		}
	}
	return x
}
