package simserver

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"sync"
)

// Record is what arrived with one request.
type Record struct {
	Method string `json:"method"`
	// Path includes the query.
	Path  string `json:"path"`
	Proto string `json:"proto"`
	Host  string `json:"host"`
	// Headers and Trailers have Go's canonical names (X-Request-Id), whatever case arrived. Host is not among them. Under
	// HTTP/2 only trailers that the header "trailer" announced are seen.
	Headers  http.Header `json:"headers"`
	Trailers http.Header `json:"trailers"`
	// BodyLength is in bytes; BodySHA256 is hexadecimal. A body that broke off has the length that arrived and no sum.
	BodyLength int    `json:"body_length"`
	BodySHA256 string `json:"body_sha256"`
}

// recorder keeps the last records.
type recorder struct {
	limit int
	mu    sync.Mutex
	last  []Record // oldest first
}

// newRecord describes a request whose body has been read.
func newRecord(r *http.Request, body []byte, complete bool) Record {
	rec := Record{
		Method: r.Method, Path: r.URL.RequestURI(), Proto: r.Proto, Host: r.Host,
		Headers: r.Header.Clone(), Trailers: r.Trailer.Clone(), BodyLength: len(body),
	}
	if complete {
		sum := sha256.Sum256(body)
		rec.BodySHA256 = hex.EncodeToString(sum[:])
	}
	return rec
}

// add keeps a record of a request, if any are kept.
func (rec *recorder) add(r *http.Request, body []byte, complete bool) {
	if rec.limit <= 0 {
		return
	}
	entry := newRecord(r, body, complete)
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if len(rec.last) == rec.limit {
		rec.last = slices.Delete(rec.last, 0, 1)
	}
	rec.last = append(rec.last, entry)
}

func (rec *recorder) clear() {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	rec.last = nil
}

// Records returns the last requests to the inference and unknown paths, oldest first. The caller owns the slice.
func (s *Server) Records() []Record {
	s.records.mu.Lock()
	defer s.records.mu.Unlock()
	return append([]Record{}, s.records.last...)
}

// serveRecords lists or clears the records.
func (s *Server) serveRecords(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodDelete {
		s.records.clear()
	}
	writeJSON(w, http.StatusOK, s.Records())
}

// serveEcho answers any other path with what arrived: 200 on /sim/echo, 404 elsewhere.
func (s *Server) serveEcho(w http.ResponseWriter, r *http.Request) {
	body := bodies.take()
	defer bodies.put(body)
	err := s.readBody(w, r, body)
	s.records.add(r, body.Bytes(), err == nil)
	if err != nil {
		s.failBody(w, err)
		return
	}
	status := http.StatusNotFound
	if r.URL.Path == "/sim/echo" {
		status = http.StatusOK
	}
	writeJSON(w, status, newRecord(r, body.Bytes(), true))
}
