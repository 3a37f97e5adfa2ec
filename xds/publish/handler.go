package publish

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/report"
)

// Handler serves a store:
//
//	GET  /v1/snapshot?v=N  the newest snapshot (binary) as soon as its version is not N; 304 after Hold without a new one. A
//	                       delta from version N instead, if the request accepts one, N is lately published and it pays.
//	POST /v1/snapshot?v=N  the same, with a report (package report) or nothing as body
//	                       Both wait at most as many seconds as a header "prefer: wait=SECONDS" says.
//	GET  /snapshot         the newest snapshot for people: Page as JSON
//	GET  /healthz          200 while the process runs
//	GET  /readyz           200 once Ready says so, 503 before
//
// A report that cannot be read is counted and the poll answered all the same: a filter of another version goes without
// numbers, not without snapshots. Reports name endpoints by id only; nothing in a request can add an endpoint or an address.
type Handler struct {
	Store *Store
	Hold  time.Duration // how long a long poll stays open
	Ready func() bool
	Fleet *Fleet       // adds up the reports; nil for none
	Log   *slog.Logger // gets a line for a refused report, at most one a minute; may be nil

	counts  handlerCounts
	refused refusals
}

const (
	// maxBody bounds the body of all requests but reports; none has a use for one.
	maxBody = 4 << 10
	// bodyTimeout and writeTimeout bound the transfers before and after the hold.
	bodyTimeout  = 10 * time.Second
	writeTimeout = 10 * time.Second
	// farewellTimeout bounds an answer to a caller whose body did not arrive.
	farewellTimeout = time.Second
	// maxNode is the longest node id in bytes.
	maxNode = 256
	// unknownNode stands for the id of an Envoy that does not tell it.
	unknownNode = "unknown"
)

// Routes returns the HTTP handler. A long poll ends when the request's context does.
func (h *Handler) Routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+names.PathSnapshot, h.post)
	mux.Handle("GET "+names.PathSnapshot, http.MaxBytesHandler(http.HandlerFunc(h.poll), maxBody))
	mux.HandleFunc("GET "+PathPage, h.page)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { text(w, http.StatusOK, "ok\n") })
	mux.HandleFunc("GET /readyz", h.readyz)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A deadline outlives its request on a connection that is kept, so every request sets its own.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(h.Hold + writeTimeout))
		mux.ServeHTTP(w, r)
	})
}

// post serves a long poll that brings a report.
func (h *Handler) post(w http.ResponseWriter, r *http.Request) {
	node, ok := nodeOf(r)
	if !ok {
		h.counts.badNode.Add(1)
		text(w, http.StatusBadRequest, names.HeaderNode+": must be printable and at most "+strconv.Itoa(maxNode)+" bytes; set a node id like that in Envoy's bootstrap\n")
		return
	}
	if err := h.takeReport(w, r, node); err != nil {
		h.counts.badBody.Add(1)
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(farewellTimeout))
		w.Header().Set("Connection", "close")
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			text(w, http.StatusRequestEntityTooLarge, "body: a report has at most "+strconv.Itoa(report.MaxReport)+" bytes\n")
			return
		}
		text(w, http.StatusRequestTimeout, "body: did not arrive within "+bodyTimeout.String()+"\n")
		return
	}
	h.poll(w, r)
}

// bodies are the buffers of reports being read.
var bodies = sync.Pool{New: func() any { return new([]byte) }}

// takeReport reads the body and passes a report on. The error is that of reading the body.
func (h *Handler) takeReport(w http.ResponseWriter, r *http.Request, node string) error {
	deadline := http.NewResponseController(w)
	_ = deadline.SetReadDeadline(time.Now().Add(bodyTimeout))
	buf := bodies.Get().(*[]byte)
	defer bodies.Put(buf)
	var err error
	*buf, err = readAll((*buf)[:0], http.MaxBytesReader(w, r.Body, report.MaxReport))
	if err != nil {
		return err
	}
	// The deadline is the body's. HTTP/1 lifts it itself when it begins to watch for the caller's going away, HTTP/2 not.
	_ = deadline.SetReadDeadline(time.Time{})
	if len(*buf) == 0 {
		return nil
	}
	v, err := report.Open(*buf)
	if err != nil {
		h.refuse(node, refusal(err), err)
		return nil
	}
	if h.Fleet != nil {
		if err := h.Fleet.Report(node, v); err != nil {
			h.refuse(node, "capacity", err)
			return nil
		}
	}
	h.counts.reports.Add(1)
	return nil
}

// readAll appends everything that r gives to b.
func readAll(b []byte, r io.Reader) ([]byte, error) {
	for {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if err == io.EOF {
			return b, nil
		}
		if err != nil {
			return b, err
		}
	}
}

// nodeOf returns the node id of the Envoy that asks, and whether it can stand in logs and metrics.
func nodeOf(r *http.Request) (string, bool) {
	node := r.Header.Get(names.HeaderNode)
	if node == "" {
		return unknownNode, true
	}
	notPrintable := func(c rune) bool { return !unicode.IsPrint(c) }
	return node, len(node) <= maxNode && utf8.ValidString(node) && strings.IndexFunc(node, notPrintable) < 0
}

// poll serves the long poll.
func (h *Handler) poll(w http.ResponseWriter, r *http.Request) {
	var seen uint64
	if s := r.URL.Query().Get("v"); s != "" {
		var err error
		if seen, err = strconv.ParseUint(s, 10, 64); err != nil {
			h.counts.badVersion.Add(1)
			text(w, http.StatusBadRequest, "v: must be the version of the snapshot that the caller has, an unsigned number\n")
			return
		}
	}
	h.counts.open.Add(1)
	ctx, cancel := context.WithTimeout(r.Context(), h.hold(r))
	v := h.Store.Wait(ctx, seen)
	cancel()
	h.counts.open.Add(-1)
	w.Header().Set("Cache-Control", "no-store")
	if v == nil {
		h.counts.unchanged.Add(1)
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body, kind := v.Blob, names.ContentTypeSnapshot
	if accepts(r, names.ContentTypeDelta) {
		if d := h.Store.Delta(v, seen); d != nil {
			body, kind = d, names.ContentTypeDelta
		}
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	// Who does not take the answer loses the connection, and the blob is let go.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
	n, err := w.Write(body)
	if err != nil {
		h.counts.notTaken.Add(1)
	}
	h.counts.answered(kind, n)
}

// hold returns how long a poll waits: no longer than the caller prefers.
func (h *Handler) hold(r *http.Request) time.Duration {
	for _, line := range r.Header.Values(names.HeaderPrefer) {
		for part := range strings.SplitSeq(line, ",") {
			name, value, _ := strings.Cut(part, "=")
			if !strings.EqualFold(strings.TrimSpace(name), "wait") {
				continue
			}
			if s, err := strconv.ParseUint(strings.TrimSpace(value), 10, 31); err == nil {
				return min(h.Hold, time.Duration(s)*time.Second)
			}
		}
	}
	return h.Hold
}

// accepts reports whether the request names a media type among those that it accepts.
func accepts(r *http.Request, mediaType string) bool {
	for _, line := range r.Header.Values("Accept") {
		for part := range strings.SplitSeq(line, ",") {
			name, _, _ := strings.Cut(part, ";")
			if strings.EqualFold(strings.TrimSpace(name), mediaType) {
				return true
			}
		}
	}
	return false
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
	_, _ = io.WriteString(w, s)
}
