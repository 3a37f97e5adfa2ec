package publish

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/zerohop/zerohop/shared/names"
)

// Handler serves a store:
//
//	GET /v1/snapshot?v=N  the newest snapshot (binary) as soon as its version is not N; 304 after Hold without a new one
//	GET /snapshot         the newest snapshot for people: JSON with ages and scrape failures
//	GET /healthz          200 while the process runs
//	GET /readyz           200 once Ready says so, 503 before
type Handler struct {
	Store *Store
	Hold  time.Duration // how long a long poll stays open
	Ready func() bool
}

// maxBody bounds the body of a request; none has a use for one.
const maxBody = 4 << 10

// Routes returns the HTTP handler. A long poll ends when the request's context does.
func (h *Handler) Routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+names.PathSnapshot, h.poll)
	mux.HandleFunc("GET /snapshot", h.page)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { text(w, http.StatusOK, "ok\n") })
	mux.HandleFunc("GET /readyz", h.readyz)
	return http.MaxBytesHandler(mux, maxBody)
}

// poll serves the long poll.
func (h *Handler) poll(w http.ResponseWriter, r *http.Request) {
	var seen uint64
	if s := r.URL.Query().Get("v"); s != "" {
		var err error
		if seen, err = strconv.ParseUint(s, 10, 64); err != nil {
			text(w, http.StatusBadRequest, "v: must be the version of the snapshot that the caller has, an unsigned number\n")
			return
		}
	}
	ctx, cancel := context.WithTimeout(r.Context(), h.Hold)
	defer cancel()
	v := h.Store.Wait(ctx, seen)
	w.Header().Set("Cache-Control", "no-store")
	if v == nil {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Content-Type", names.ContentTypeSnapshot)
	w.Header().Set("Content-Length", strconv.Itoa(len(v.Blob)))
	_, _ = w.Write(v.Blob)
}

// snapshotPage is the newest snapshot for people.
type snapshotPage struct {
	Version   uint64         `json:"version"`
	AgeMs     int64          `json:"ageMs"`
	Bytes     int            `json:"bytes"`
	Endpoints []endpointPage `json:"endpoints"`
}

type endpointPage struct {
	Name     string  `json:"name"`
	Address  string  `json:"address"`
	AgeMs    *int64  `json:"ageMs"` // null if no scrape has succeeded
	Scrapes  uint32  `json:"scrapes"`
	Failures uint64  `json:"failures"`
	Failure  string  `json:"failure,omitempty"` // why the newest scrape failed
	Waiting  uint32  `json:"waiting"`
	Running  uint32  `json:"running"`
	KVUsage  float32 `json:"kvUsage"`
	Block    uint32  `json:"blockSize"`
	Blocks   uint32  `json:"numBlocks"`
}

// page serves the newest snapshot as JSON. Ages are those of the moment.
func (h *Handler) page(w http.ResponseWriter, _ *http.Request) {
	v, err := h.Store.Newest()
	if err != nil {
		text(w, http.StatusServiceUnavailable, err.Error()+"\n")
		return
	}
	now := time.Now()
	out := snapshotPage{Version: v.Number, AgeMs: now.Sub(v.At).Milliseconds(), Bytes: len(v.Blob), Endpoints: []endpointPage{}}
	for i := range v.Endpoints {
		e := &v.Endpoints[i]
		s := &e.Sample
		p := endpointPage{
			Name: e.Name, Address: e.Address, Scrapes: s.Seq, Failures: s.Failures, Failure: string(s.Failure),
			Waiting: s.Waiting, Running: s.Running, KVUsage: s.KVUsage, Block: s.BlockSize, Blocks: s.NumBlocks,
		}
		if !s.At.IsZero() {
			age := now.Sub(s.At).Milliseconds()
			p.AgeMs = &age
		}
		out.Endpoints = append(out.Endpoints, p)
	}
	w.Header().Set("Content-Type", "application/json")
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	_ = enc.Encode(out)
}

func (h *Handler) readyz(w http.ResponseWriter, _ *http.Request) {
	if !h.Ready() {
		text(w, http.StatusServiceUnavailable, "the first round of scrapes is not complete\n")
		return
	}
	text(w, http.StatusOK, "ok\n")
}

func text(w http.ResponseWriter, status int, s string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(s))
}
