package fleet

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/zerohop/zerohop/scorers"
)

// Facts is what a source of endpoints says of them beside their scraped numbers. Endpoints have the source's indices. It is
// read during an Apply only, and nothing of it is kept.
type Facts interface {
	// Sum changes whenever a label, a rank or a set of models does. Beside the same endpoints and the same sum they are not
	// read again.
	Sum() uint64
	// Labels is the number of label keys that the source carries, and LabelKey one of them. Every says that it carries every
	// label there is, so that a key that is not among them is one that no endpoint has.
	Labels() int
	LabelKey(l int) []byte
	Every() bool
	Label(i, l int) (value []byte, ok bool)
	Rank(i int) int
	// AsksModels says that endpoints are asked for their models: those that are not known could not be found out.
	AsksModels() bool
	// AppendModels appends the XXH64 of each served model; false if they are not known.
	AppendModels(dst []uint64, i int) ([]uint64, bool)
	// AppendAdapters appends the XXH64 of the adapters in use, or of those that requests wait for; false if the engine has
	// never said.
	AppendAdapters(dst []uint64, i int, waiting bool) ([]uint64, bool)
	MaxLoRA(i int) int
	// AttrIndex returns where the attribute "producer/name" is; -1 if the source does not carry it.
	AttrIndex(key string) int
	// Attr returns NaN where the endpoint has no such attribute.
	Attr(i, a int) float64
}

// known is what the table keeps of the facts.
type known struct {
	wants   scorers.Wants
	columns []int32 // by LabelID: index in keys, or one of the two below
	keys    []string
	every   bool
	unknown bool // a column is columnUnknown
	sum     uint64
	read    bool // facts were read since the wants changed

	labels []span   // by slot, then by key
	arena  []byte   // values
	models []uint64 // the models of the facts before, to be written over
	hash   []uint64
	attrs  []int // by AttrID: index in the source
}

// Columns of labels that the source does not carry.
const (
	columnAbsent  = -1
	columnUnknown = -2
)

// span says where a value is in the arena; start is one more than the offset, 0 for a label that the endpoint has not.
type span struct{ start, len uint32 }

// Want says what plugins read. The caller tells them everything anew; columns of the view that need the next Apply are empty
// until then.
func (t *Table) Want(w *scorers.Wants) {
	k := &t.known
	k.wants, k.read = *w, false
	t.mapLabels()
	v := &t.view
	n := len(t.places)
	v.Attr, v.Topo, v.MaxLoRA = nil, nil, nil
	v.Adapters, v.WaitingAdapters, v.Models = scorers.Sets{}, scorers.Sets{}, scorers.Sets{}
	for range w.Attributes {
		v.Attr = append(v.Attr, nil)
	}
	t.growFacts(n)
	for _, s := range t.live {
		t.place(s)
		k.hash[s] = t.hashFacts(s)
	}
}

// mapLabels finds the column of each label that plugins read.
func (t *Table) mapLabels() {
	k := &t.known
	k.columns, k.unknown = k.columns[:0], false
	for _, key := range k.wants.Labels {
		column := int32(slices.Index(k.keys, key))
		if column < 0 {
			column = columnUnknown
			if k.every {
				column = columnAbsent
			}
		}
		k.columns = append(k.columns, column)
		k.unknown = k.unknown || column == columnUnknown
	}
}

// LabelsUnknown reports whether plugins read a label that nobody has said anything about yet.
func (t *Table) LabelsUnknown() bool { return t.known.unknown }

// growFacts makes the optional columns long enough for n slots.
func (t *Table) growFacts(n int) {
	v, k := &t.view, &t.known
	extend(&k.hash, n)
	extend(&k.labels, n*len(k.keys))
	for a := range v.Attr {
		old := len(v.Attr[a])
		extend(&v.Attr[a], n)
		for s := old; s < n; s++ {
			v.Attr[a][s] = math.NaN()
		}
	}
	if k.wants.Topology != nil {
		extend(&v.Topo, n)
	}
	if k.wants.Models {
		extendSets(&v.Models, n)
	}
	if k.wants.LoRA {
		extend(&v.MaxLoRA, n)
		extendSets(&v.Adapters, n)
		extendSets(&v.WaitingAdapters, n)
	}
}

// extend makes s at least n long. It is not copied into its callers, for the size of the module.
//
//go:noinline
func extend[T any](s *[]T, n int) {
	if len(*s) < n {
		*s = append(*s, make([]T, n-len(*s))...)
	}
}

//go:noinline
func extendSets(s *scorers.Sets, n int) {
	extend(&s.Off, n)
	extend(&s.Len, n)
	extend(&s.Known, n)
}

// clearFacts forgets what is known of the endpoint in slot s.
func (t *Table) clearFacts(s int32) {
	v, k := &t.view, &t.known
	v.Rank[s], v.NameHash[s] = 0, 0
	k.hash[s] = 0
	clear(k.labels[int(s)*len(k.keys) : (int(s)+1)*len(k.keys)])
	for a := range v.Attr {
		v.Attr[a][s] = math.NaN()
	}
	if v.Topo != nil {
		v.Topo[s] = [4]uint64{}
	}
	if v.MaxLoRA != nil {
		v.MaxLoRA[s] = 0
	}
	for _, set := range [...]*scorers.Sets{&v.Models, &v.Adapters, &v.WaitingAdapters} {
		if set.Off != nil {
			set.Off[s], set.Len[s], set.Known[s] = 0, 0, false
		}
	}
}

// compare appends the live slots whose facts are not what they were.
func (t *Table) compare(changed []int32) []int32 {
	for _, s := range t.live {
		if h := t.hashFacts(s); h != t.known.hash[s] {
			t.known.hash[s] = h
			t.place(s)
			changed = append(changed, s)
		}
	}
	return changed
}

// place fills in where the endpoint in slot s is.
func (t *Table) place(s int32) {
	k := &t.known
	if k.wants.Topology == nil {
		return
	}
	keys := k.wants.Topology
	for level, key := range [...]string{keys.Host, keys.Rack, keys.Zone, keys.Region} {
		t.view.Topo[s][level] = 0
		if key == "" {
			continue
		}
		if value, p := t.label(s, k.wants.TopologyIDs[level]); p == scorers.Present && len(value) > 0 {
			t.view.Topo[s][level] = xxhash.Sum64(value)
		}
	}
}

// label returns a label of the endpoint in slot s.
func (t *Table) label(s int32, id scorers.LabelID) ([]byte, scorers.Presence) {
	k := &t.known
	column := k.columns[id]
	switch column {
	case columnUnknown:
		return nil, scorers.Unknown
	case columnAbsent:
		return nil, scorers.Absent
	}
	x := k.labels[int(s)*len(k.keys)+int(column)]
	if x.start == 0 {
		return nil, scorers.Absent
	}
	return k.arena[x.start-1 : x.start-1+x.len], scorers.Present
}

// hashFacts condenses what plugins are told of slot s. It is never 0.
func (t *Table) hashFacts(s int32) uint64 {
	k := &t.known
	var d xxhash.Digest
	d.Reset()
	number := func(n uint64) {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], n)
		_, _ = d.Write(b[:])
	}
	number(t.view.ID[s])
	number(uint64(t.view.Rank[s]))
	for id := range k.columns {
		value, p := t.label(s, scorers.LabelID(id))
		number(uint64(p)<<32 | uint64(len(value)))
		_, _ = d.Write(value)
	}
	if k.wants.Models {
		if t.view.Models.Known[s] {
			number(1)
		}
		for _, h := range t.view.Models.Of(s) {
			number(h)
		}
	}
	return max(d.Sum64(), 1)
}

// Facts fills f with what is known of slot. It is valid until the next Apply.
func (t *Table) Facts(slot int32, f *scorers.Facts) {
	n := len(t.known.columns)
	f.Reset(t.Name(slot), t.Address(slot), int(t.view.Rank[slot]), n)
	for id := range n {
		value, p := t.label(slot, scorers.LabelID(id))
		f.SetLabel(scorers.LabelID(id), value, p)
	}
}

// optionalBytes returns the memory of the columns that exist only where plugins ask.
func optionalBytes(v *scorers.Endpoints) int {
	n := 32*cap(v.Topo) + 4*cap(v.MaxLoRA)
	for a := range v.Attr {
		n += 8 * cap(v.Attr[a])
	}
	for _, set := range [...]*scorers.Sets{&v.Models, &v.Adapters, &v.WaitingAdapters} {
		n += 9*cap(set.Off) + 8*cap(set.Hash)
	}
	return n
}

// bytes returns the memory of the facts.
func (k *known) bytes() int {
	return 8*cap(k.labels) + cap(k.arena) + 8*cap(k.hash)
}
