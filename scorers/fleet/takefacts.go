package fleet

import (
	"math"

	"github.com/zerohop/zerohop/scorers"
)

// takeFacts takes over the facts of the endpoints in t.order and appends to changed the slots whose facts differ. fresh says
// that endpoints came or went.
func (t *Table) takeFacts(f Facts, fresh bool, changed []int32) []int32 {
	k := &t.known
	if f == nil {
		if k.every || len(k.keys) > 0 { // what an earlier source said is over
			k.keys, k.every, k.labels = nil, false, nil
			t.mapLabels()
		} else if !fresh {
			return changed
		}
		return t.compare(changed)
	}
	t.takeNumbers(f)
	sum := f.Sum()
	if !fresh && k.read && sum == k.sum {
		return changed
	}
	k.sum, k.read = sum, true
	t.takeKeys(f)
	t.takeLabels(f)
	return t.compare(changed)
}

// takeKeys takes over which labels the source carries.
func (t *Table) takeKeys(f Facts) {
	k := &t.known
	same := len(k.keys) == f.Labels() && k.every == f.Every()
	for l := 0; same && l < len(k.keys); l++ {
		same = k.keys[l] == string(f.LabelKey(l))
	}
	if same {
		return
	}
	k.keys, k.every = make([]string, f.Labels()), f.Every()
	for l := range k.keys {
		k.keys[l] = string(f.LabelKey(l))
	}
	k.labels = make([]span, len(t.places)*len(k.keys))
	t.mapLabels()
}

// takeLabels takes over labels, ranks and models.
func (t *Table) takeLabels(f Facts) {
	v, k := &t.view, &t.known
	k.arena = k.arena[:0]
	before := v.Models.Hash
	v.Models.Hash, v.Models.Asked = k.models[:0], f.AsksModels()
	for i, s := range t.order {
		if s < 0 {
			continue
		}
		row := k.labels[int(s)*len(k.keys) : (int(s)+1)*len(k.keys)]
		for l := range row {
			row[l] = span{}
			if value, ok := f.Label(i, l); ok {
				row[l] = span{uint32(len(k.arena) + 1), uint32(len(value))}
				k.arena = append(k.arena, value...)
			}
		}
		v.Rank[s] = int32(f.Rank(i))
		if k.wants.Models {
			start, was, known := len(v.Models.Hash), v.Models.Known[s], false
			v.Models.Hash, known = f.AppendModels(v.Models.Hash, i)
			if !known && was && v.Models.Asked {
				// A source that has just begun to ask: what the one before knew counts until an answer comes.
				old := v.Models.Off[s]
				v.Models.Hash, known = append(v.Models.Hash, before[old:old+v.Models.Len[s]]...), true
			}
			v.Models.Known[s] = known
			v.Models.Off[s], v.Models.Len[s] = int32(start), int32(len(v.Models.Hash)-start)
		}
	}
	k.models = before
	v.Models.Asked = v.Models.Asked || len(v.Models.Hash) > 0 // who tells of models was asked
}

// takeNumbers takes over adapters and attributes, which change with every scrape.
func (t *Table) takeNumbers(f Facts) {
	v, k := &t.view, &t.known
	if !k.wants.LoRA && len(v.Attr) == 0 {
		return
	}
	k.attrs = k.attrs[:0]
	for _, key := range k.wants.Attributes {
		k.attrs = append(k.attrs, f.AttrIndex(key))
	}
	v.Adapters.Hash, v.WaitingAdapters.Hash = v.Adapters.Hash[:0], v.WaitingAdapters.Hash[:0]
	for i, s := range t.order {
		if s < 0 {
			continue
		}
		for a, at := range k.attrs {
			v.Attr[a][s] = math.NaN()
			if at >= 0 {
				v.Attr[a][s] = f.Attr(i, at)
			}
		}
		if k.wants.LoRA {
			v.MaxLoRA[s] = int32(f.MaxLoRA(i))
			takeAdapters(&v.Adapters, f, i, s, false)
			takeAdapters(&v.WaitingAdapters, f, i, s, true)
		}
	}
}

func takeAdapters(set *scorers.Sets, f Facts, i int, s int32, waiting bool) {
	start := len(set.Hash)
	set.Hash, set.Known[s] = f.AppendAdapters(set.Hash, i, waiting)
	set.Off[s], set.Len[s] = int32(start), int32(len(set.Hash)-start)
}
