package snapshot

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/cespare/xxhash/v2"
)

// The bounds of facts. A label's key and value are Kubernetes' longest, a prefix and a name.
const (
	MaxLabels     = 32
	MaxAttributes = 16
	MaxKey        = 317 // bytes in the key of a label or of an attribute
	MaxValue      = 253 // bytes in the value of a label
	MaxModels     = 1024
	MaxPlaces     = 64 // adapters in a record
	MaxRank       = math.MaxUint16
)

// Facts are what is known of endpoints beside their numbers. They change seldom.
type Facts struct {
	Labels     []string // keys of the labels that are carried
	Attributes []string // attributes that Extras carries, "producer/name"
	AskModels  bool     // endpoints are asked for their models: those that are not known are unknown to the source, too
	Endpoints  []EndpointFacts
}

// EndpointFacts are the facts of one endpoint.
type EndpointFacts struct {
	ID          uint64
	Rank        int               // data-parallel rank; one outside 0..MaxRank counts as 0
	Labels      map[string]string // all there are; those that are not carried are ignored, and one that is too long is absent
	Models      []uint64          // XXH64 of the names of the served models, in any order; more than MaxModels are unknown
	ModelsKnown bool
}

// Sheet is Facts in encoded form, made once for many snapshots of the same endpoints.
type Sheet struct {
	section    []byte
	ids        []uint64
	attributes int
}

// NewSheet encodes f, of which it keeps nothing.
func NewSheet(f *Facts) (*Sheet, error) {
	if len(f.Labels) > MaxLabels || len(f.Attributes) > MaxAttributes {
		return nil, ErrTooLarge
	}
	var keys []byte
	for _, list := range [...][]string{f.Labels, f.Attributes} {
		for _, key := range list {
			if key == "" || len(key) > MaxKey {
				return nil, ErrFacts
			}
			keys = appendText(keys, key)
		}
	}
	order := make([]int, len(f.Endpoints))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(f.Endpoints[a].ID, f.Endpoints[b].ID) })
	s := &Sheet{ids: make([]uint64, len(order)), attributes: len(f.Attributes)}
	w := sheetWriter{values: make(map[string]uint32), sets: make(map[string]uint32)}
	if f.AskModels {
		w.flags = facAsked
	}
	for i, at := range order {
		s.ids[i] = f.Endpoints[at].ID
		w.add(&f.Endpoints[at], f.Labels)
	}
	var err error
	s.section, err = w.section(keys, len(f.Labels))
	return s, err
}

// sheetWriter collects the parts of a facts section. Endpoints share values and sets.
type sheetWriter struct {
	values, sets               map[string]uint32 // to the offset
	valueBytes, setBytes, rows []byte
	flags                      uint16 // of every row
	scratch                    []byte
}

// section returns all parts together.
func (w *sheetWriter) section(keys []byte, labels int) ([]byte, error) {
	total := uint64(facHeader) + uint64(len(keys)) + uint64(len(w.valueBytes)) + uint64(len(w.setBytes)) + uint64(len(w.rows))
	if total > math.MaxInt32 {
		return nil, ErrTooLarge
	}
	b := make([]byte, facHeader, total)
	le := binary.LittleEndian
	le.PutUint16(b[facLabels:], uint16(labels))
	le.PutUint16(b[facStride:], uint16(facValues+4*labels))
	le.PutUint32(b[facKeysLen:], uint32(len(keys)))
	le.PutUint32(b[facValuesLen:], uint32(len(w.valueBytes)))
	le.PutUint32(b[facSetsLen:], uint32(len(w.setBytes)))
	b = append(append(append(append(b, keys...), w.valueBytes...), w.setBytes...), w.rows...)
	le.PutUint64(b[facSum:], xxhash.Sum64(b[facSum+8:]))
	return b, nil
}

func (w *sheetWriter) add(e *EndpointFacts, labels []string) {
	le := binary.LittleEndian
	rank := e.Rank
	if rank < 0 || rank > MaxRank {
		rank = 0
	}
	w.rows = le.AppendUint16(w.rows, uint16(rank))
	w.rows = le.AppendUint16(w.rows, w.flags)
	w.rows = le.AppendUint32(w.rows, w.set(e))
	for _, key := range labels {
		value, ok := e.Labels[key]
		if !ok || len(value) > MaxValue {
			w.rows = le.AppendUint32(w.rows, facNone)
			continue
		}
		at, ok := w.values[value]
		if !ok {
			at = uint32(len(w.valueBytes))
			w.values[value] = at
			w.valueBytes = appendText(w.valueBytes, value)
		}
		w.rows = le.AppendUint32(w.rows, at)
	}
}

// set returns the offset of the endpoint's set of models.
func (w *sheetWriter) set(e *EndpointFacts) uint32 {
	if !e.ModelsKnown || len(e.Models) > MaxModels {
		return facNone
	}
	models := slices.Clone(e.Models)
	slices.Sort(models)
	models = slices.Compact(models)
	w.scratch = binary.LittleEndian.AppendUint16(w.scratch[:0], uint16(len(models)))
	for _, m := range models {
		w.scratch = binary.LittleEndian.AppendUint64(w.scratch, m)
	}
	at, ok := w.sets[string(w.scratch)]
	if !ok {
		at = uint32(len(w.setBytes))
		w.sets[string(w.scratch)] = at
		w.setBytes = append(w.setBytes, w.scratch...)
	}
	return at
}

// appendText appends a length and the text.
func appendText(dst []byte, text string) []byte {
	return append(binary.LittleEndian.AppendUint16(dst, uint16(len(text))), text...)
}

// Extras are what a snapshot carries of its endpoints only where somebody reads it.
type Extras struct {
	Sheet      *Sheet      // of exactly the endpoints of the snapshot; nil if there is none
	LoRA       []LoRA      // of each endpoint, as given to AppendExtras; nil if nobody reads them
	Places     int         // room for adapters in every record, see Places; the same in two snapshots or there is no delta
	Attributes [][]float64 // of each endpoint, in the order of Facts.Attributes; what is missing here is NaN there
}

// LoRA are the adapters of one endpoint as XXH64 of their names.
type LoRA struct {
	Known           bool // the engine has told of adapters, of which it may have none
	Max             uint16
	Active, Waiting []uint64
}

// Places returns how much room records should have if the endpoint with the most adapters, in use or waited for, has n: a
// number that changes seldom.
func Places(n int) int {
	if n <= 0 {
		return 0
	}
	places := 4
	for places < min(n, MaxPlaces) {
		places *= 2
	}
	return places
}

// check returns why x does not suit the endpoints, which are given with their order by id.
func (x *Extras) check(eps []Endpoint, order []int) error {
	if x == nil {
		return nil
	}
	if x.Places < 0 || x.Places > MaxPlaces || x.LoRA != nil && len(x.LoRA) != len(eps) || x.Attributes != nil && len(x.Attributes) != len(eps) {
		return ErrFacts
	}
	if x.Sheet == nil {
		return nil
	}
	if len(x.Sheet.ids) != len(eps) {
		return ErrFacts
	}
	for i, at := range order {
		if eps[at].ID != x.Sheet.ids[i] {
			return &endpointError{at, ErrFacts}
		}
	}
	return nil
}

// frame adds what x needs to f.
func (x *Extras) frame(f frame) frame {
	f.header = factsHeader
	if x.LoRA != nil {
		f.places = x.Places
	}
	if x.Sheet != nil {
		f.facts, f.attributes = len(x.Sheet.section), x.Sheet.attributes
	}
	f.stride += 8 * (f.places + f.attributes)
	return f
}

// put writes what x says of endpoint at into its record.
func (x *Extras) put(r []byte, at int, f frame) {
	le := binary.LittleEndian
	flags := le.Uint16(r[recFlags:]) &^ (HasLoRA | LoRACut)
	if x.LoRA != nil && x.LoRA[at].Known {
		l := &x.LoRA[at]
		active := min(len(l.Active), f.places)
		waiting := min(len(l.Waiting), f.places-active)
		flags |= HasLoRA
		if active < len(l.Active) || waiting < len(l.Waiting) {
			flags |= LoRACut
		}
		le.PutUint16(r[recMaxLoRA:], l.Max)
		r[recActive], r[recPending] = byte(active), byte(waiting)
		for i, h := range l.Active[:active] {
			le.PutUint64(r[recordLen+8*i:], h)
		}
		for i, h := range l.Waiting[:waiting] {
			le.PutUint64(r[recordLen+8*(active+i):], h)
		}
	}
	le.PutUint16(r[recFlags:], flags)
	for a := range f.attributes {
		v := math.NaN()
		if x.Attributes != nil && a < len(x.Attributes[at]) {
			v = x.Attributes[at][a]
		}
		if v != v {
			v = math.NaN() // one NaN, so that equal endpoints have equal bytes
		}
		le.PutUint64(r[recordLen+8*(f.places+a):], math.Float64bits(v))
	}
}
