// Package simserver is a model server without a model: vLLM's HTTP interface around package engine, run in real time or
// faster. It is made for tests of a router: it says who served, keeps what arrived, counts what was cached, and fails on
// request. One Server is one endpoint on one port; a process may start many, and closing one leaves nothing behind.
//
// Paths, all of which name the endpoint in HeaderEndpoint:
//
//	POST /v1/chat/completions, /v1/completions   as vLLM, streamed or not; recorded
//	GET  /v1/models, /health, /ping, /metrics    as vLLM
//	POST /reset_prefix_cache                     as vLLM: forgets all cached blocks
//	GET  /sim/stats                              Stats
//	GET  /sim/requests                           the last Records; DELETE clears them
//	GET  /sim/faults                             Faults; POST replaces them, DELETE heals the endpoint
//	POST /sim/reset                              Server.Reset; 409 while requests are in flight
//	any  /sim/echo                               the Record of this very request; any other path: the same with 404
//
// An inference request whose query has an id gets it back in HeaderRequest, and is written to the Journal if there is one.
//
// Times in its metrics are those of the simulated engine: at speed 10 a step of 14 ms takes 1.4 ms and is reported as 14.
// The text of an answer is made up, four bytes a token, and depends on the prompt alone.
package simserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zerohop/zerohop/e2e/engine"
)

// HeaderEndpoint names the endpoint in every response.
const HeaderEndpoint = "X-Sim-Endpoint"

// HeaderRequest echoes the id of an inference request, which is the value of "id" in its query.
const HeaderRequest = "X-Sim-Request"

// DefaultModel is served if the configuration names none.
const DefaultModel = "sim-model"

const (
	defaultRecords      = 64
	defaultMaxBodyBytes = 64 << 20
	defaultMaxModelLen  = 131_072
)

// Config describes an endpoint. The zero value of each field means its default.
type Config struct {
	// Name is what HeaderEndpoint says; default "sim".
	Name string
	// Listen is the TCP address; default "127.0.0.1:0".
	Listen string
	// Models are the names that requests may ask for; default DefaultModel. Each has its own prefix cache entries.
	Models []string
	// Adapters are LoRA adapters, which requests may ask for like models. With them the metrics tell which are in use.
	Adapters []string
	// MaxLoRA is how many adapters are in use at once, as the metrics tell it; default 4. The engine does not hold back the
	// requests for the others.
	MaxLoRA int
	// Engine describes the simulated engine; its MaxModelLen defaults to 131 072 or the cache, whichever is less.
	Engine engine.Config
	// Speed is how many times faster than real time the engine runs; default 1.
	Speed float64
	// StreamInterval is the number of tokens between two chunks of a stream, as vLLM's option of that name; default 1.
	StreamInterval int
	// Instant answers without an engine and without reading the body as JSON: the least CPU per request.
	Instant bool
	// Records is how many requests are kept for Records; default 64, in instant mode none; negative keeps none.
	Records int
	// Journal gets a JournalEntry as a line for each step of an inference request with an id; nil keeps none. Each line is
	// one Write, so that a file has all that happened before a process was killed.
	Journal io.Writer
	// MaxBodyBytes is the largest request body; default 64 MiB.
	MaxBodyBytes int64
}

// Server is a running endpoint. Its methods are safe for concurrent use.
type Server struct {
	cfg      Config
	listener net.Listener
	http     *http.Server
	started  time.Time
	driver   *driver
	page     *page
	faults   faultState
	records  recorder
	counters counters
	lora     loraState
	ids      atomic.Uint64
	lies     atomic.Uint64 // pages that were lies

	closing context.Context // ends when Close begins
	cancel  context.CancelFunc
	mu      sync.Mutex // guards closed against requests that begin
	closed  bool
	conns   sync.WaitGroup // connections
	active  sync.WaitGroup // requests
	loops   sync.WaitGroup // accept loop and engine driver
}

// counters are the totals that the engine does not know.
type counters struct {
	requests, errors, aborted   atomic.Uint64
	instantTokens, instantBytes atomic.Uint64
	inFlight                    atomic.Int64
}

// Start listens and serves until Close.
func Start(cfg Config) (*Server, error) {
	cfg, err := withDefaults(cfg)
	if err != nil {
		return nil, err
	}
	e, err := engine.New(cfg.Engine)
	if err != nil {
		return nil, fmt.Errorf("endpoint %s: %w", cfg.Name, err)
	}
	cfg.Engine = e.Config()
	s := &Server{cfg: cfg, started: time.Now()}
	s.page = newPage(cfg, s.started)
	s.records.limit = cfg.Records
	s.faults.changed = make(chan struct{})
	s.driver = newDriver(e, cfg.Speed, newHistograms(s.page))
	if s.listener, err = net.Listen("tcp", cfg.Listen); err != nil {
		return nil, fmt.Errorf("endpoint %s: %w", cfg.Name, err)
	}
	s.closing, s.cancel = context.WithCancel(context.Background())
	s.lora.limit = cfg.MaxLoRA
	s.lora.note()
	s.http = s.newHTTPServer()
	s.loops.Go(func() { _ = s.http.Serve(s.listener) })
	s.loops.Go(func() { s.driver.run(s.closing) })
	return s, nil
}

func withDefaults(cfg Config) (Config, error) {
	if cfg.Name == "" {
		cfg.Name = "sim"
	}
	if cfg.Listen == "" {
		cfg.Listen = "127.0.0.1:0"
	}
	if len(cfg.Models) == 0 {
		cfg.Models = []string{DefaultModel}
	}
	cfg.Models, cfg.Adapters = slices.Clone(cfg.Models), slices.Clone(cfg.Adapters)
	if cfg.MaxLoRA == 0 {
		cfg.MaxLoRA = defaultMaxLoRA
	}
	if cfg.Speed == 0 {
		cfg.Speed = 1
	}
	if cfg.StreamInterval == 0 {
		cfg.StreamInterval = 1
	}
	if cfg.Records == 0 && !cfg.Instant {
		cfg.Records = defaultRecords
	}
	if cfg.MaxBodyBytes == 0 {
		cfg.MaxBodyBytes = defaultMaxBodyBytes
	}
	if e := &cfg.Engine; e.MaxModelLen == 0 {
		e.MaxModelLen = defaultMaxModelLen
		if e.CapacityTokens > 0 {
			e.MaxModelLen = min(e.MaxModelLen, e.CapacityTokens)
		}
	}
	switch {
	case cfg.Speed < 0:
		return cfg, fmt.Errorf("endpoint %s: speed %v: want above 0", cfg.Name, cfg.Speed)
	case cfg.MaxLoRA < 0:
		return cfg, fmt.Errorf("endpoint %s: max lora %d: want at least 1", cfg.Name, cfg.MaxLoRA)
	case cfg.StreamInterval < 0:
		return cfg, fmt.Errorf("endpoint %s: stream interval %d: want at least 1", cfg.Name, cfg.StreamInterval)
	}
	return cfg, nil
}

// newHTTPServer serves HTTP/1.1 and HTTP/2 without TLS on one port.
func (s *Server) newHTTPServer() *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler:           http.HandlerFunc(s.serve),
		Protocols:         protocols,
		ReadHeaderTimeout: 30 * time.Second,
		// Large windows: a proxy that holds a whole body sends it in one go.
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams:          1000,
			MaxReceiveBufferPerConnection: 64 << 20,
			MaxReceiveBufferPerStream:     16 << 20,
		},
		ErrorLog: log.New(io.Discard, "", 0), // connections that clients or faults break are no news
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				s.conns.Add(1)
			case http.StateHijacked, http.StateClosed:
				s.conns.Done()
			}
		},
	}
}

// Name returns the endpoint's name.
func (s *Server) Name() string { return s.cfg.Name }

// Addr returns the address that the endpoint listens on, ip:port.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// URL returns the endpoint's base URL without a slash at the end.
func (s *Server) URL() string { return "http://" + s.Addr() }

// Close drops all connections at once, as a killed process would, and waits until nothing of the endpoint runs any more.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	err := s.http.Close() // first the connections, so that no stream ends as if it were complete
	s.cancel()
	s.loops.Wait()
	s.conns.Wait()
	s.active.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// Shutdown refuses new connections, lets requests finish until ctx ends, then closes.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	return errors.Join(err, s.Close())
}

// enter counts a request in; it returns false if the server is closing.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.active.Add(1)
	}
	return !s.closed
}

// serve routes by path. Requests to the inference paths and to unknown ones are recorded, the rest is not: a scraper would
// push everything else out of the record.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		panic(http.ErrAbortHandler)
	}
	defer s.active.Done()
	w.Header().Set(HeaderEndpoint, s.cfg.Name)
	switch r.URL.Path {
	case pathChat, pathCompletions:
		s.infer(w, r)
	case "/metrics":
		s.serveMetrics(w, r)
	case "/health", "/ping":
		s.serveHealth(w)
	case "/v1/models":
		s.serveModels(w)
	case "/reset_prefix_cache":
		s.driver.resetCache()
	case "/sim/stats":
		writeJSON(w, http.StatusOK, s.Stats())
	case "/sim/requests":
		s.serveRecords(w, r)
	case "/sim/faults":
		s.serveFaults(w, r)
	case "/sim/reset":
		s.serveReset(w)
	default:
		s.serveEcho(w, r)
	}
}
