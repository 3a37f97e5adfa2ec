package plugintest

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/zerohop/zerohop/scorers"
)

// Request makes req the request of the next cycle.
func (b *Bed) Request(req Req) {
	c := &b.Cycle
	c.Endpoints, c.Dry, c.Neutral = &b.ends, req.Dry, 0
	r := scorers.Request{
		PromptTokens: req.Tokens, MaxTokens: req.MaxTokens, BlockTokens: req.BlockTokens, TotalBlocks: req.Blocks,
		Universal: req.Universal, Priority: req.Priority, TTFTms: req.TTFTms, TPOTms: req.TPOTms, Peer: -1, HasBody: req.HasBody,
		Match: make([]int32, len(b.ends.ID)),
	}
	if r.BlockTokens == 0 {
		r.BlockTokens = 64
	}
	for i := range b.eps {
		r.Match[Slot(i)] = b.eps[i].Match
		if req.Peer != "" && b.eps[i].Name == req.Peer {
			r.Peer = Slot(i)
		}
	}
	if req.Model != "" {
		r.Model, r.ModelHash = []byte(req.Model), xxhash.Sum64String(req.Model)
	}
	b.heads.Reset(len(b.Wants.Headers))
	for name, value := range req.Headers {
		if i := slices.Index(b.Wants.Headers, strings.ToLower(name)); i >= 0 {
			b.heads.Set(scorers.HeaderID(i), []byte(value), scorers.MaxHeaderText)
		}
		for i, wanted := range b.Wants.Headers {
			cookie := scorers.CookieName(wanted)
			if cookie == "" || !strings.EqualFold(name, "cookie") {
				continue
			}
			if v := scorers.Cookie([]byte(value), cookie); v != nil {
				b.heads.Set(scorers.HeaderID(i), v, scorers.MaxHeaderText)
			}
		}
	}
	r.Headers = b.heads
	c.Request = r
}

// Endpoints makes eps the endpoints. Where an endpoint has another name or address than before, its slot is taken to be given
// away; one that keeps both has its facts told again.
func (b *Bed) Endpoints(eps []EP) {
	old := b.eps
	b.eps = slices.Clone(eps)
	for i := range b.eps {
		e := &b.eps[i]
		if e.Name == "" {
			e.Name = "ns/ep-" + strconv.Itoa(i)
		}
		if e.Address == "" {
			e.Address = "10.0.0." + strconv.Itoa(i+1) + ":8000"
		}
	}
	n := 2*max(len(old), len(eps)) + 2
	for len(b.gen) < n {
		b.gen = append(b.gen, 1)
	}
	n = len(b.gen)
	b.ends = columns(n, b.Wants)
	for i := range b.eps {
		b.fill(i)
	}
	b.Cycle.Endpoints = &b.ends
	b.Cycle.Pass = make([]bool, n)
	b.tell(old)
}

// tell calls the hooks of a plugin that follows slots.
func (b *Bed) tell(old []EP) {
	w, watches := b.Plugin.(scorers.SlotWatcher)
	for i := range old {
		if i < len(b.eps) && b.eps[i].Name == old[i].Name && b.eps[i].Address == old[i].Address {
			continue
		}
		b.gen[Slot(i)]++
		if watches {
			w.Forget(Slot(i))
		}
	}
	if !watches {
		return
	}
	w.Grow(len(b.gen))
	var f scorers.Facts
	for i := range b.eps {
		e := &b.eps[i]
		f.Reset([]byte(e.Name), []byte(e.Address), e.Rank, len(b.Wants.Labels))
		for id, key := range b.Wants.Labels {
			value, ok := e.Labels[key]
			switch {
			case b.conf.UnknownLabels:
			case ok:
				f.SetLabel(scorers.LabelID(id), []byte(value), scorers.Present)
			default:
				f.SetLabel(scorers.LabelID(id), nil, scorers.Absent)
			}
		}
		w.Facts(Slot(i), &f)
	}
}

// columns returns the arrays for n free slots.
func columns(n int, w *scorers.Wants) scorers.Endpoints {
	e := scorers.Endpoints{
		ID: make([]uint64, n), NameHash: make([]uint64, n), Waiting: make([]float64, n), Running: make([]float64, n),
		KVUsage: make([]float64, n), Fresh: make([]bool, n), Queue: make([]float64, n), Scraped: make([]bool, n),
		ScrapedAt: make([]uint64, n), InFlight: make([]int32, n), InFlightTokens: make([]int64, n), Rank: make([]int32, n),
		BlockSize: make([]uint32, n), NumBlocks: make([]uint32, n),
	}
	for range w.Attributes {
		column := make([]float64, n)
		for i := range column {
			column[i] = math.NaN()
		}
		e.Attr = append(e.Attr, column)
	}
	if w.LoRA {
		e.MaxLoRA, e.Adapters, e.WaitingAdapters = make([]int32, n), sets(n), sets(n)
	}
	if w.Models {
		e.Models = sets(n)
		e.Models.Asked = true
	}
	if w.Topology != nil {
		e.Topo = make([][4]uint64, n)
	}
	return e
}

func sets(n int) scorers.Sets {
	return scorers.Sets{Off: make([]int32, n), Len: make([]int32, n), Known: make([]bool, n)}
}

// fill writes endpoint i into the arrays.
func (b *Bed) fill(i int) {
	e, v, s := &b.eps[i], &b.ends, Slot(i)
	v.ID[s], v.NameHash[s], v.Rank[s] = uint64(i)+1, xxhash.Sum64String(e.Name), int32(e.Rank)
	v.Waiting[s], v.Running[s], v.KVUsage[s], v.Queue[s] = e.Waiting+e.Own, e.Running, e.KV, e.Waiting
	v.InFlight[s], v.InFlightTokens[s] = e.InFlight, e.Tokens
	v.Scraped[s] = !e.Unscraped
	v.Fresh[s] = !e.Unscraped && e.AgeMs < StaleMs
	if !e.Unscraped {
		v.ScrapedAt[s] = b.Cycle.Now - uint64(e.AgeMs*1e6)
	}
	for id, key := range b.Wants.Attributes {
		if value, ok := e.Attrs[key]; ok {
			v.Attr[id][s] = value
		}
	}
	if b.Wants.LoRA {
		v.MaxLoRA[s] = e.MaxLoRA
		put(&v.Adapters, s, e.Active, true)
		put(&v.WaitingAdapters, s, e.WaitingModels, true)
	}
	if b.Wants.Models {
		put(&v.Models, s, e.Models, e.Models != nil)
	}
	b.fillTopology(e, s)
	b.predict(e.Pred, s)
}

func put(set *scorers.Sets, slot int32, names []string, known bool) {
	set.Off[slot], set.Len[slot], set.Known[slot] = int32(len(set.Hash)), int32(len(names)), known
	for _, name := range names {
		set.Hash = append(set.Hash, xxhash.Sum64String(name))
	}
}

func (b *Bed) fillTopology(e *EP, slot int32) {
	t := b.Wants.Topology
	if t == nil {
		return
	}
	for level, key := range [...]string{t.Host, t.Rack, t.Zone, t.Region} {
		if value := e.Labels[key]; key != "" && value != "" {
			b.ends.Topo[slot][level] = xxhash.Sum64String(value)
		}
	}
}

func (b *Bed) predict(p *Pred, slot int32) {
	if p == nil {
		return
	}
	if b.ends.Predicted == nil {
		n := len(b.ends.ID)
		b.ends.Predicted = &scorers.Prediction{
			Has: make([]bool, n), TTFT: make([]float64, n), TPOT: make([]float64, n), TTFTHeadroom: make([]float64, n),
			TPOTHeadroom: make([]float64, n), Dispatched: make([]int32, n),
		}
	}
	v := b.ends.Predicted
	v.Has[slot], v.TTFT[slot], v.TPOT[slot], v.Dispatched[slot] = true, p.TTFT, p.TPOT, p.Dispatched
	v.TTFTHeadroom[slot], v.TPOTHeadroom[slot] = p.TTFTHeadroom, p.TPOTHeadroom
}
