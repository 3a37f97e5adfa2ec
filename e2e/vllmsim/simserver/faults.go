package simserver

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"sync"
	"time"
)

// Faults say how an endpoint misbehaves. The zero value is a healthy endpoint. They can change at any time and apply from
// the next request on; whoever hangs goes on normally when they change.
type Faults struct {
	// Request applies to chat completions and completions.
	Request RequestFault `json:"request"`
	// Metrics applies to GET /metrics.
	Metrics MetricsFault `json:"metrics"`
	// Draining lets running requests finish and refuses new ones and health checks with 503.
	Draining bool `json:"draining"`
}

// RequestMode is a way in which a request fails.
type RequestMode string

// The ways in which a request fails.
const (
	RequestStatus   RequestMode = "status"    // an error response with RequestFault.Status
	RequestReset    RequestMode = "reset"     // the body is read, then the connection is reset
	RequestResetMid RequestMode = "reset_mid" // reset in the middle of the response
	RequestHang     RequestMode = "hang"      // no byte until the faults change or the client leaves
	RequestSlow     RequestMode = "slow"      // no byte for RequestFault.DelayMs, then normal
)

// RequestFault is a fault of the inference paths.
type RequestFault struct {
	// Mode is the kind of failure; empty for none.
	Mode RequestMode `json:"mode"`
	// Rate is the share of requests that fail, spread evenly: 0.5 is every second one. 0 means all.
	Rate float64 `json:"rate"`
	// Status is the status code of RequestStatus; default 500.
	Status int `json:"status"`
	// DelayMs is the wait of RequestSlow in milliseconds of real time; default 1000.
	DelayMs int `json:"delay_ms"`
	// AfterChunks is the number of stream chunks with text before a RequestResetMid; default 1. A response that is not
	// streamed breaks in the middle of its body.
	AfterChunks int `json:"after_chunks"`
}

// MetricsMode is a way in which the metrics page fails.
type MetricsMode string

// The ways in which the metrics page fails.
const (
	MetricsStatus  MetricsMode = "status"  // 500
	MetricsSlow    MetricsMode = "slow"    // after MetricsFault.DelayMs
	MetricsHang    MetricsMode = "hang"    // headers, half of the page, then nothing until the faults change
	MetricsGarbage MetricsMode = "garbage" // bytes that are no metrics
	MetricsHuge    MetricsMode = "huge"    // MetricsFault.SizeMB of well-formed lines before the page
	MetricsLie     MetricsMode = "lie"     // a whole page with numbers that cannot be
)

// MetricsFault is a fault of the metrics page.
type MetricsFault struct {
	// Mode is the kind of failure; empty for none.
	Mode MetricsMode `json:"mode"`
	// DelayMs is the wait of MetricsSlow in milliseconds of real time; default 1000.
	DelayMs int `json:"delay_ms"`
	// SizeMB is the size of MetricsHuge in MiB; default 64.
	SizeMB int `json:"size_mb"`
}

// faultState holds the faults in force.
type faultState struct {
	mu      sync.Mutex
	faults  Faults
	due     float64       // share of a failure that is due; whole numbers are failures
	changed chan struct{} // closed at the next change
}

// validate fills in defaults.
func (f Faults) validate() (Faults, error) {
	switch f.Request.Mode {
	case "", RequestStatus, RequestReset, RequestResetMid, RequestHang, RequestSlow:
	default:
		return f, fmt.Errorf("request.mode %q: want status, reset, reset_mid, hang or slow", f.Request.Mode)
	}
	switch f.Metrics.Mode {
	case "", MetricsStatus, MetricsSlow, MetricsHang, MetricsGarbage, MetricsHuge, MetricsLie:
	default:
		return f, fmt.Errorf("metrics.mode %q: want status, slow, hang, garbage, huge or lie", f.Metrics.Mode)
	}
	r, m := &f.Request, &f.Metrics
	for field, v := range map[string]*int{
		"request.delay_ms": &r.DelayMs, "metrics.delay_ms": &m.DelayMs, "metrics.size_mb": &m.SizeMB,
		"request.after_chunks": &r.AfterChunks,
	} {
		if *v < 0 {
			return f, fmt.Errorf("%s %d: want 0 or more", field, *v)
		}
	}
	orDefault(&r.Status, http.StatusInternalServerError)
	orDefault(&r.DelayMs, 1000)
	orDefault(&r.AfterChunks, 1)
	orDefault(&m.DelayMs, 1000)
	orDefault(&m.SizeMB, 64)
	if r.Rate == 0 {
		r.Rate = 1
	}
	switch {
	case !(r.Rate > 0 && r.Rate <= 1):
		return f, fmt.Errorf("request.rate %v: want above 0 and at most 1", r.Rate)
	case r.Status < 400 || r.Status > 599:
		return f, fmt.Errorf("request.status %d: want 400 to 599", r.Status)
	}
	return f, nil
}

func orDefault(v *int, def int) {
	if *v == 0 {
		*v = def
	}
}

// SetFaults replaces the faults in force; Faults{} heals the endpoint. It changes nothing if f is invalid.
func (s *Server) SetFaults(f Faults) error {
	f, err := f.validate()
	if err != nil {
		return fmt.Errorf("faults: %w", err)
	}
	fs := &s.faults
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.faults, fs.due = f, 0
	close(fs.changed)
	fs.changed = make(chan struct{})
	return nil
}

// Faults returns the faults in force, defaults filled in.
func (s *Server) Faults() Faults {
	f, _ := s.faults.inForce()
	return f
}

// inForce returns the faults and the channel that is closed when they change. Whoever acts on the ones waits on the
// other; a channel taken later could belong to faults that are in force by then.
func (fs *faultState) inForce() (Faults, <-chan struct{}) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return fs.faults, fs.changed
}

// verdict is what the faults mean for one request.
type verdict struct {
	fault    RequestFault // Mode is empty if the request is spared
	draining bool
	changed  <-chan struct{} // closed when the faults change
}

// next returns the verdict on the next request.
func (fs *faultState) next() verdict {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f := fs.faults.Request
	v := verdict{draining: fs.faults.Draining, changed: fs.changed}
	if f.Mode == "" || v.draining {
		return v
	}
	// Rounded, so that ten times 0.1 is one failure in ten.
	fs.due = math.Round((fs.due+f.Rate)*1e9) / 1e9
	if fs.due >= 1 {
		fs.due--
		v.fault = f
	}
	return v
}

// wait pauses for d, or without end if d is 0. It returns true when d is over or the faults changed, false when nobody
// waits for the answer any more.
func (s *Server) wait(r *http.Request, changed <-chan struct{}, d time.Duration) bool {
	var over <-chan time.Time
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		over = t.C
	}
	select {
	case <-over:
		return true
	case <-changed:
		return true
	case <-r.Context().Done():
	case <-s.closing.Done():
	}
	return false
}

// applyBefore applies the faults that act before a response byte. It returns true if the request is done with; leave takes
// it out of those in flight.
func (s *Server) applyBefore(w http.ResponseWriter, r *http.Request, v verdict, leave func()) bool {
	f := v.fault
	switch f.Mode {
	case RequestStatus:
		s.fail(w, f.Status, "InternalServerError", "injected failure")
	case RequestReset:
		leave()
		s.reset(w)
	case RequestHang, RequestSlow:
		delay := time.Duration(0) // without end
		if f.Mode == RequestSlow {
			delay = time.Duration(f.DelayMs) * time.Millisecond
		}
		if s.wait(r, v.changed, delay) {
			return false
		}
		s.counters.aborted.Add(1)
	default:
		return false
	}
	return true
}

// reset breaks the response: a TCP reset under HTTP/1.1, a stream reset under HTTP/2.
func (s *Server) reset(w http.ResponseWriter) {
	s.counters.errors.Add(1)
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // HTTP/2
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // close by RST
	}
	_ = conn.Close()
}

// metricsFault answers in place of the metrics page; false means that the page is to be served.
func (s *Server) metricsFault(w http.ResponseWriter, r *http.Request) bool {
	faults, changed := s.faults.inForce()
	f := faults.Metrics
	switch f.Mode {
	case MetricsStatus:
		http.Error(w, "injected failure", http.StatusInternalServerError)
	case MetricsSlow:
		return !s.wait(r, changed, time.Duration(f.DelayMs)*time.Millisecond)
	case MetricsHang:
		page := s.metrics()
		_, _ = w.Write(page[:len(page)/2])
		_ = http.NewResponseController(w).Flush()
		if s.wait(r, changed, 0) {
			_, _ = w.Write(page[len(page)/2:])
		}
	case MetricsGarbage:
		_, _ = w.Write([]byte("\x00\xff{{{ \"not\": metrics } vllm:num_requests_running NaNaN\nvllm:num_requests_waiting{engine=\"0"))
	case MetricsHuge:
		_ = writeHuge(w, f.SizeMB<<20)
		_, _ = w.Write(s.metrics())
	case MetricsLie:
		_, _ = w.Write(lieAbout(s.metrics(), s.lies.Add(1)))
	default:
		return false
	}
	return true
}

// writeHuge writes about size bytes of samples that nobody asked for.
func writeHuge(w http.ResponseWriter, size int) error {
	out := bufio.NewWriterSize(w, 64<<10)
	written, err := out.WriteString("# TYPE sim:filler gauge\n")
	for i := 0; written < size && err == nil; i++ {
		var n int
		n, err = fmt.Fprintf(out, "sim:filler{series=\"%d\"} 1.0\n", i)
		written += n
	}
	return errors.Join(err, out.Flush())
}

// serveFaults reads and replaces the faults in force.
func (s *Server) serveFaults(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet:
	case http.MethodDelete:
		_ = s.SetFaults(Faults{}) // cannot be invalid
	case http.MethodPost, http.MethodPut:
		var f Faults
		d := json.NewDecoder(r.Body)
		d.DisallowUnknownFields()
		if err := d.Decode(&f); err != nil {
			http.Error(w, "faults: "+err.Error(), http.StatusBadRequest)
			return
		}
		if err := s.SetFaults(f); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	writeJSON(w, http.StatusOK, s.Faults())
}
