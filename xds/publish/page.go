package publish

import (
	"encoding/json"
	"math"
	"net/http"
	"time"
)

// PathPage is where Page is served.
const PathPage = "/snapshot"

// Page is the newest snapshot for people. Ages are those of the moment.
type Page struct {
	Version   uint64         `json:"version"`
	AgeMs     int64          `json:"ageMs"`
	Bytes     int            `json:"bytes"`
	Endpoints []PageEndpoint `json:"endpoints"`
}

// PageEndpoint is an endpoint of a Page.
type PageEndpoint struct {
	Name     string  `json:"name"`
	Address  string  `json:"address"`
	Draining bool    `json:"draining"`
	AgeMs    *int64  `json:"ageMs"` // null if no scrape has succeeded
	Scrapes  uint32  `json:"scrapes"`
	Failures uint64  `json:"failures"`
	Failure  string  `json:"failure,omitempty"` // why the newest scrape failed
	Waiting  uint32  `json:"waiting"`
	Running  uint32  `json:"running"`
	KVUsage  float32 `json:"kvUsage"`
	Block    uint32  `json:"blockSize"`
	Blocks   uint32  `json:"numBlocks"`
	Reported *Load   `json:"reported"` // null if no filter has named the endpoint

	// What discovery and the engine say beside, whether plugins read it or not.
	Labels  map[string]string `json:"labels,omitempty"`
	Rank    int               `json:"rank,omitempty"`
	Models  *int              `json:"models,omitempty"` // number of served models; absent if they are not known, as when no plugin reads them
	LoRA    *PageLoRA         `json:"lora,omitempty"`   // absent if the engine has never told
	Metrics map[string]Number `json:"metrics,omitempty"`
}

// PageLoRA counts the adapters of an endpoint.
type PageLoRA struct {
	Max     uint16 `json:"max"`
	Active  int    `json:"active"`
	Waiting int    `json:"waiting"`
}

// Number is a float that JSON may have no word for; that is null.
type Number float64

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) {
	if f := float64(n); !math.IsNaN(f) && !math.IsInf(f, 0) {
		return json.Marshal(f)
	}
	return []byte("null"), nil
}

// page serves the newest snapshot as JSON.
func (h *Handler) page(w http.ResponseWriter, _ *http.Request) {
	v, err := h.Store.Newest()
	if err != nil {
		text(w, http.StatusServiceUnavailable, err.Error()+"\n")
		return
	}
	var loads map[uint64]Load
	if h.Fleet != nil {
		loads = h.Fleet.Loads()
	}
	w.Header().Set("Content-Type", "application/json")
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	_ = enc.Encode(v.page(time.Now(), loads))
}

func (v *Version) page(now time.Time, loads map[uint64]Load) Page {
	out := Page{Version: v.Number, AgeMs: now.Sub(v.At).Milliseconds(), Bytes: len(v.Blob), Endpoints: []PageEndpoint{}}
	for i := range v.Endpoints {
		e := &v.Endpoints[i]
		s := &e.Sample
		p := PageEndpoint{
			Name: e.Name, Address: e.Address, Draining: e.Draining,
			Scrapes: s.Seq, Failures: s.Failures, Failure: string(s.Failure),
			Waiting: s.Waiting, Running: s.Running, KVUsage: s.KVUsage, Block: s.BlockSize, Blocks: s.NumBlocks,
		}
		if !s.At.IsZero() {
			age := now.Sub(s.At).Milliseconds()
			p.AgeMs = &age
		}
		if l, ok := loads[v.ID(i)]; ok {
			p.Reported = &l
		}
		p.tell(e)
		out.Endpoints = append(out.Endpoints, p)
	}
	return out
}

// tell adds what is known beside load.
func (p *PageEndpoint) tell(e *Endpoint) {
	if f := e.Facts; f != nil {
		p.Labels, p.Rank = f.Labels, f.Rank
		if f.ModelsKnown {
			n := len(f.Models)
			p.Models = &n
		}
	}
	if l := e.Sample.LoRA; l != nil {
		p.LoRA = &PageLoRA{l.Max, len(l.Active), len(l.Waiting)}
	}
	if c := e.Sample.Custom; c != nil {
		p.Metrics = make(map[string]Number, len(c.Keys))
		for i, key := range c.Keys {
			p.Metrics[key] = Number(c.Values[i])
		}
	}
}
