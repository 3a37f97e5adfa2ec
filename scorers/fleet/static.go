package fleet

import (
	"math"
	"slices"

	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/shared/snapshot"
)

// static is a source made of a plan's endpoints. It allocates; plans change rarely.
type static []plan.Endpoint

// Len implements source.
func (s static) Len() int { return len(s) }

// Endpoint implements source.
func (s static) Endpoint(i int, e *snapshot.Endpoint) {
	name, address := []byte(s[i].Name), []byte(s[i].Address)
	*e = snapshot.Endpoint{
		ID: snapshot.EndpointID(name, address), Name: name, Address: address, ScrapeAgeMs: snapshot.NeverScraped,
	}
}

// staticFacts are the facts of a plan's endpoints. Nothing is scraped of them, and their labels are all there are.
type staticFacts struct {
	endpoints static
	keys      []string
}

func factsOf(endpoints static) *staticFacts {
	f := &staticFacts{endpoints: endpoints}
	for _, e := range endpoints {
		for _, l := range e.Labels {
			if !slices.Contains(f.keys, l.Key) {
				f.keys = append(f.keys, l.Key)
			}
		}
	}
	return f
}

// Sum implements Facts. A plan is read whenever it comes.
func (f *staticFacts) Sum() uint64 { return 0 }

func (f *staticFacts) Labels() int { return len(f.keys) }

func (f *staticFacts) LabelKey(l int) []byte { return []byte(f.keys[l]) }

func (f *staticFacts) Every() bool { return true }

func (f *staticFacts) Label(i, l int) ([]byte, bool) {
	for _, label := range f.endpoints[i].Labels {
		if label.Key == f.keys[l] {
			return []byte(label.Value), true
		}
	}
	return nil, false
}

func (f *staticFacts) Rank(int) int { return 0 }

func (f *staticFacts) AsksModels() bool { return true }

func (f *staticFacts) AppendModels(dst []uint64, _ int) ([]uint64, bool) { return dst, false }

func (f *staticFacts) AppendAdapters(dst []uint64, _ int, _ bool) ([]uint64, bool) {
	return dst, false
}

func (f *staticFacts) MaxLoRA(int) int { return 0 }

func (f *staticFacts) AttrIndex(string) int { return -1 }

func (f *staticFacts) Attr(int, int) float64 { return math.NaN() }
