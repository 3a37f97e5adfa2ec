package simserver

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
)

// Stats are the endpoint's totals since its start or the last reset, and what it does at the moment.
type Stats struct {
	Name string `json:"name"`
	// Requests counts arrivals at the inference paths, InFlight those that are not answered yet.
	Requests uint64 `json:"requests"`
	InFlight int64  `json:"in_flight"`
	// Errors counts error responses and injected resets, Aborted clients that left early.
	Errors  uint64 `json:"errors"`
	Aborted uint64 `json:"aborted"`
	// PromptTokens = CachedTokens + UncachedTokens, counted when the engine admits a prompt.
	PromptTokens     uint64 `json:"prompt_tokens"`
	CachedTokens     uint64 `json:"cached_tokens"`
	UncachedTokens   uint64 `json:"uncached_tokens"`
	GenerationTokens uint64 `json:"generation_tokens"`
	// Running, Waiting, KVUsage and Preemptions are the engine's.
	Running     int     `json:"running"`
	Waiting     int     `json:"waiting"`
	KVUsage     float64 `json:"kv_usage"`
	Preemptions uint64  `json:"preemptions"`
}

// Stats returns the present totals. In instant mode prompt tokens are body bytes ÷ 4 and none is cached.
func (s *Server) Stats() Stats {
	s.driver.mu.Lock()
	e := s.driver.engine.Stats()
	s.driver.mu.Unlock()
	c := &s.counters
	instant := c.instantBytes.Load() / 4
	return Stats{
		Name: s.cfg.Name, Requests: c.requests.Load(), InFlight: c.inFlight.Load(),
		Errors: c.errors.Load(), Aborted: c.aborted.Load(),
		PromptTokens: e.PrefixQueries + instant, CachedTokens: e.PrefixHits,
		UncachedTokens:   e.PrefixQueries - e.PrefixHits + instant,
		GenerationTokens: e.GenerationTokens + c.instantTokens.Load(),
		Running:          e.Running, Waiting: e.Waiting, KVUsage: e.KVUsage(), Preemptions: e.Preemptions,
	}
}

// ErrBusy means that requests are in flight.
var ErrBusy = errors.New("requests are in flight")

// Reset makes the endpoint as it was after Start: empty cache, no records, all counters at zero, healthy. It fails with
// ErrBusy, and changes nothing, while requests are in flight.
func (s *Server) Reset() error {
	if s.counters.inFlight.Load() > 0 || !s.driver.restart(newHistograms(s.page)) {
		return ErrBusy
	}
	s.records.clear()
	c := &s.counters
	for _, n := range []interface{ Store(uint64) }{&c.requests, &c.errors, &c.aborted, &c.instantTokens, &c.instantBytes} {
		n.Store(0)
	}
	return s.SetFaults(Faults{})
}

func (s *Server) serveReset(w http.ResponseWriter) {
	if err := s.Reset(); err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
	}
}

func (s *Server) serveHealth(w http.ResponseWriter) {
	if s.Faults().Draining {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

// modelList is the answer to GET /v1/models.
type modelList struct {
	Object string      `json:"object"`
	Data   []modelCard `json:"data"`
}

type modelCard struct {
	ID          string  `json:"id"`
	Object      string  `json:"object"`
	Created     int64   `json:"created"`
	OwnedBy     string  `json:"owned_by"`
	Root        string  `json:"root"`
	Parent      *string `json:"parent"`
	MaxModelLen int     `json:"max_model_len"`
}

func (s *Server) serveModels(w http.ResponseWriter) {
	list := modelList{Object: "list", Data: []modelCard{}}
	for i, name := range slices.Concat(s.cfg.Models, s.cfg.Adapters) {
		card := modelCard{
			ID: name, Object: "model", Created: s.started.Unix(), OwnedBy: "vllm", Root: name,
			MaxModelLen: s.cfg.Engine.MaxModelLen,
		}
		if i >= len(s.cfg.Models) {
			card.Parent = &s.cfg.Models[0]
		}
		list.Data = append(list.Data, card)
	}
	writeJSON(w, http.StatusOK, list)
}

// writeJSON answers with v, which can always be encoded.
func writeJSON(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(status)
	_, _ = w.Write(b)
}
