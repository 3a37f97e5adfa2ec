package snapshot

import (
	"encoding/binary"
	"math"
)

// extrasView is the part of a View that is about extras. It is zero if there are none.
type extrasView struct {
	extended           bool // the header says whether there are extras
	places, attributes int
	sum                uint64
	labels             int
	keys               []byte // of the labels, then of the attributes
	values, sets       []byte
	rows               []byte // count rows
	stride             int    // of a row
}

// openExtras checks a facts section completely, and returns false if it cannot be read.
func openExtras(b []byte, f frame) (extrasView, bool) {
	x := extrasView{extended: f.header >= factsHeader, places: f.places, attributes: f.attributes}
	if len(b) == 0 {
		return x, f.attributes == 0
	}
	if len(b) < facHeader {
		return x, false
	}
	h, le := b[:facHeader], binary.LittleEndian
	keys, values, sets := uint64(le.Uint32(h[facKeysLen:])), uint64(le.Uint32(h[facValuesLen:])), uint64(le.Uint32(h[facSetsLen:]))
	x.sum = le.Uint64(h[facSum:])
	x.labels, x.stride = int(le.Uint16(h[facLabels:])), int(le.Uint16(h[facStride:]))
	at := uint64(facHeader)
	if x.labels > MaxLabels || x.attributes > MaxAttributes || x.stride < facValues+4*x.labels ||
		at+keys+values+sets+uint64(f.count)*uint64(x.stride) > uint64(len(b)) {
		return x, false
	}
	for _, s := range [...]struct {
		part *[]byte
		n    uint64
	}{{&x.keys, keys}, {&x.values, values}, {&x.sets, sets}, {&x.rows, uint64(f.count) * uint64(x.stride)}} {
		*s.part = b[at : at+s.n : at+s.n]
		at += s.n
	}
	return x, x.keysValid() && x.rowsValid(f.count)
}

func (x *extrasView) keysValid() bool {
	at := uint32(0)
	for range x.labels + x.attributes {
		key, ok := textAt(x.keys, at)
		if !ok || len(key) == 0 || len(key) > MaxKey {
			return false
		}
		at += 2 + uint32(len(key))
	}
	return true
}

func (x *extrasView) rowsValid(count int) bool {
	le := binary.LittleEndian
	for i := range count {
		row := x.row(i)
		if at := le.Uint32(row[facModels:]); at != facNone {
			if set, ok := setAt(x.sets, at); !ok || len(set) > 8*MaxModels {
				return false
			}
		}
		for l := range x.labels {
			if at := le.Uint32(row[facValues+4*l:]); at != facNone {
				if value, ok := textAt(x.values, at); !ok || len(value) > MaxValue {
					return false
				}
			}
		}
	}
	return true
}

func (x *extrasView) row(i int) []byte { return x.rows[i*x.stride:][:x.stride] }

// textAt returns the text at offset at of b, and whether it lies inside.
func textAt(b []byte, at uint32) ([]byte, bool) { return counted(b, at, 1) }

// setAt returns the set of hashes at offset at of b, and whether it lies inside.
func setAt(b []byte, at uint32) ([]byte, bool) { return counted(b, at, 8) }

// counted returns what stands at offset at of b: a number of things of the given size, and the things.
func counted(b []byte, at uint32, size uint64) ([]byte, bool) {
	lo := uint64(at) + 2
	if lo > uint64(len(b)) {
		return nil, false
	}
	hi := lo + size*uint64(binary.LittleEndian.Uint16(b[at:]))
	if hi > uint64(len(b)) {
		return nil, false
	}
	return b[lo:hi:hi], true
}

// roomy reports whether record i names no more adapters than it has room for.
func (v *View) roomy(i int) bool {
	if !v.extras.extended {
		return true
	}
	r := v.records[i*v.stride:]
	return int(r[recActive])+int(r[recPending]) <= v.extras.places
}

// FactsView reads what a snapshot says of its endpoints beside their numbers. Endpoints have the View's indices. What it
// returns points into the bytes given to Open. A snapshot without facts gives one that knows nothing.
type FactsView struct{ view View }

// Facts returns the snapshot's facts.
func (v View) Facts() FactsView { return FactsView{v} }

// Carried reports whether the snapshot says anything beside numbers.
func (f *FactsView) Carried() bool { return f.view.extras.extended }

// Sum differs between snapshots in which labels, ranks or models differ; those of the same endpoints have the same facts if
// the sums are equal. It is 0 if there are none.
func (f *FactsView) Sum() uint64 { return f.view.extras.sum }

// Labels returns the number of label keys that the snapshot carries.
func (f *FactsView) Labels() int { return f.view.extras.labels }

// Every returns false: an endpoint may have labels that the snapshot does not carry.
func (f *FactsView) Every() bool { return false }

// LabelKey returns key l.
func (f *FactsView) LabelKey(l int) []byte { return f.key(l) }

// LabelIndex returns the index of a label key; -1 if the snapshot does not carry it.
func (f *FactsView) LabelIndex(key string) int {
	for l := range f.view.extras.labels {
		if string(f.key(l)) == key {
			return l
		}
	}
	return -1
}

// Attributes returns the number of attributes that the snapshot carries.
func (f *FactsView) Attributes() int { return f.view.extras.attributes }

// AttrKey returns the name of attribute a.
func (f *FactsView) AttrKey(a int) []byte { return f.key(f.view.extras.labels + a) }

// AttrIndex returns the index of an attribute; -1 if the snapshot does not carry it.
func (f *FactsView) AttrIndex(key string) int {
	for a := range f.view.extras.attributes {
		if string(f.AttrKey(a)) == key {
			return a
		}
	}
	return -1
}

// key returns key n of all keys.
func (f *FactsView) key(n int) []byte {
	at := uint32(0)
	for {
		key, _ := textAt(f.view.extras.keys, at) // Open has read them all
		if n == 0 {
			return key
		}
		n--
		at += 2 + uint32(len(key))
	}
}

// Label returns the value that endpoint i has for label l, and whether it has that label.
func (f *FactsView) Label(i, l int) (value []byte, ok bool) {
	at := binary.LittleEndian.Uint32(f.view.extras.row(i)[facValues+4*l:])
	if at == facNone {
		return nil, false
	}
	return textAt(f.view.extras.values, at)
}

// Rank returns the data-parallel rank of endpoint i.
func (f *FactsView) Rank(i int) int {
	if f.view.extras.rows == nil {
		return 0
	}
	return int(binary.LittleEndian.Uint16(f.view.extras.row(i)[facRank:]))
}

// AsksModels reports whether endpoints are asked for their models.
func (f *FactsView) AsksModels() bool {
	x := &f.view.extras
	return len(x.rows) >= facValues && binary.LittleEndian.Uint16(x.rows[facFlags:])&facAsked != 0
}

// AppendModels appends to dst the XXH64 of each model that endpoint i serves, ascending; false if they are not known.
func (f *FactsView) AppendModels(dst []uint64, i int) ([]uint64, bool) {
	if f.view.extras.rows == nil {
		return dst, false
	}
	at := binary.LittleEndian.Uint32(f.view.extras.row(i)[facModels:])
	if at == facNone {
		return dst, false
	}
	set, _ := setAt(f.view.extras.sets, at)
	return appendHashes(dst, set), true
}

// appendHashes appends the hashes that b consists of.
//
//go:noinline
func appendHashes(dst []uint64, b []byte) []uint64 {
	for ; len(b) >= 8; b = b[8:] {
		dst = append(dst, binary.LittleEndian.Uint64(b))
	}
	return dst
}

// AppendAdapters appends to dst the XXH64 of the adapters that endpoint i uses, or of those that requests wait for; false if
// its engine has never told.
func (f *FactsView) AppendAdapters(dst []uint64, i int, waiting bool) ([]uint64, bool) {
	r := f.record(i)
	if r == nil {
		return dst, false
	}
	from, n := 0, int(r[recActive])
	if waiting {
		from, n = n, int(r[recPending])
	}
	return appendHashes(dst, r[recordLen+8*from:][:8*n]), true
}

// MaxLoRA returns how many adapters fit into the engine of endpoint i at once; 0 if it has never told.
func (f *FactsView) MaxLoRA(i int) int {
	if r := f.record(i); r != nil {
		return int(binary.LittleEndian.Uint16(r[recMaxLoRA:]))
	}
	return 0
}

// record returns the record of endpoint i if it tells of adapters, and else nil.
func (f *FactsView) record(i int) []byte {
	r := f.view.records[i*f.view.stride:][:f.view.stride]
	if !f.view.extras.extended || binary.LittleEndian.Uint16(r[recFlags:])&HasLoRA == 0 {
		return nil
	}
	return r
}

// Attr returns attribute a of endpoint i; NaN if it has none.
func (f *FactsView) Attr(i, a int) float64 {
	r := f.view.records[i*f.view.stride:]
	return math.Float64frombits(binary.LittleEndian.Uint64(r[recordLen+8*(f.view.extras.places+a):]))
}
