package hosttest

import (
	"io"

	"github.com/zerohop/zerohop/shared/names"
)

// Worker is one worker thread of Envoy with its VM.
type Worker struct {
	// Host is the host of the VM that runs now.
	Host *Host
	// Lacks, if set, says that the cluster of destination mode list does not know an address.
	Lacks func(addr string) bool
	// Others are the hosts among which that cluster chooses in turn when the list is used up.
	Others []string
	// NoEarlyStrip leaves our headers in requests, as if the HCM's early_header_mutation were missing.
	NoEarlyStrip bool
	// NoAttempts leaves the attempt filter out of the destination cluster.
	NoAttempts bool
	// Retries is the number of retries that the route allows.
	Retries int
	// BodyLimit is the most bytes of a request body that Envoy buffers; 0 means no limit.
	BodyLimit int
	// Strict is given to each Host.
	Strict bool
	// RefuseCalls makes every HTTP call fail at once, as for an unknown cluster.
	RefuseCalls bool

	p        *Process
	make     NewModule
	mod      Module
	lastID   uint32
	roots    []*Root
	contexts []context
	calls    []Call
	token    uint32
	callBody []byte
	spare    *Stream // list of unused records
	turn     int     // of Others
}

// Root is a root context: one plugin configuration in one VM.
type Root struct {
	ID     uint32
	Plugin string // root id
	config []byte
	tickMs int
}

// context is a stream context of either filter.
type context struct {
	id      uint32
	root    *Root
	stream  *Stream
	attempt bool

	holdsHeaders     bool // request headers may be read and written
	holdsResponse    bool // response headers may be written
	inTrailers       bool
	bodyFrom, bodyTo int // part of the body that the filter sees
}

// AddWorker starts a worker with a fresh VM. It has no configuration yet.
func (p *Process) AddWorker(m NewModule) *Worker {
	w := &Worker{p: p, make: m, Retries: 3}
	w.boot()
	p.Workers = append(p.Workers, w)
	return w
}

// Canary runs a configuration in a throw-away VM, as Envoy does before it hands it to the workers.
func (p *Process) Canary(m NewModule, config []byte) bool {
	w := &Worker{p: p, make: m}
	w.boot()
	defer w.free()
	_, ok := w.Load(names.RootDownstream, config)
	return ok
}

// Module returns the VM that runs now.
func (w *Worker) Module() Module { return w.mod }

func (w *Worker) boot() {
	w.Host = &Host{p: w.p, w: w, Strict: w.Strict}
	w.contexts, w.calls, w.roots, w.lastID = nil, nil, nil, 0
	w.mod = w.make(w.Host)
}

// Load creates a root context for a plugin and configures it. On false Envoy would keep what was there.
func (w *Worker) Load(plugin string, config []byte) (*Root, bool) {
	w.lastID++
	r := &Root{ID: w.lastID, Plugin: plugin, config: config}
	w.roots = append(w.roots, r)
	w.Host.cur = r.ID
	w.mod.CreateContext(r.ID, 0)
	w.Host.configure = r
	ok := w.mod.Configure(r.ID, len(config))
	w.Host.configure = nil
	return r, ok
}

// LoadBoth loads the attempt plugin and the downstream plugin, as at the start of Envoy.
func (w *Worker) LoadBoth(config []byte) bool {
	_, a := w.Load(names.RootAttempt, nil)
	_, d := w.Load(names.RootDownstream, config)
	return a && d
}

// Unload ends a root context, as Envoy does when the last stream of an old configuration has ended. Its calls are dropped
// without a word.
func (w *Worker) Unload(r *Root) {
	for i := range w.roots {
		if w.roots[i] == r {
			w.roots = append(w.roots[:i], w.roots[i+1:]...)
			break
		}
	}
	kept := w.calls[:0]
	for _, c := range w.calls {
		if c.Root != r {
			kept = append(kept, c)
		}
	}
	w.calls = kept
	w.Host.cur = r.ID
	w.mod.DeleteContext(r.ID)
}

// Rebuild replaces the VM after a trap: nothing of the old one is told, context ids start again, calls are gone. The
// newest configuration of each plugin is loaded. Streams of the old VM get no further callbacks.
func (w *Worker) Rebuild() {
	old := w.roots
	w.free()
	w.boot()
	for _, plugin := range [...]string{names.RootDownstream, names.RootAttempt} {
		for i := len(old) - 1; i >= 0; i-- {
			if old[i].Plugin == plugin {
				w.Load(plugin, old[i].config)
				break
			}
		}
	}
}

// free lets go of the VM.
func (w *Worker) free() {
	if c, ok := w.mod.(io.Closer); ok {
		if err := c.Close(); err != nil {
			w.p.Fault("close the VM: %v", err)
		}
	}
}

// Kill ends the worker's VM without a word, and it is never rebuilt.
func (w *Worker) Kill() {
	w.free()
	for i := range w.p.Workers {
		if w.p.Workers[i] == w {
			w.p.Workers = append(w.p.Workers[:i:i], w.p.Workers[i+1:]...)
			return
		}
	}
}

// Tick calls every root that asked for ticks, oldest first, after the calls that have timed out were reported.
func (w *Worker) Tick() {
	for i := 0; i < len(w.calls); {
		if c := w.calls[i]; c.endNs != 0 && c.endNs <= w.p.now {
			w.Answer(c.Token, 0, nil)
			continue
		}
		i++
	}
	for i := 0; i < len(w.roots); i++ {
		if r := w.roots[i]; r.tickMs > 0 {
			w.Host.cur = r.ID
			w.mod.Tick(r.ID)
		}
	}
}

// Newest returns the newest root of a plugin, or nil.
func (w *Worker) Newest(plugin string) *Root {
	for i := len(w.roots) - 1; i >= 0; i-- {
		if w.roots[i].Plugin == plugin {
			return w.roots[i]
		}
	}
	return nil
}

func (w *Worker) root(id uint32) *Root {
	for _, r := range w.roots {
		if r.ID == id {
			return r
		}
	}
	return nil
}

func (w *Worker) rootOf(id uint32) *Root {
	if c := w.find(id); c != nil {
		return c.root
	}
	return w.root(id)
}

// find returns a stream context. Few are open at a time, the wanted one mostly the last.
func (w *Worker) find(id uint32) *context {
	for i := len(w.contexts) - 1; i >= 0; i-- {
		if w.contexts[i].id == id {
			return &w.contexts[i]
		}
	}
	return nil
}

// open creates a stream context of plugin r and returns its id; 0 if there is no such plugin.
func (w *Worker) open(r *Root, s *Stream, attempt bool) uint32 {
	if r == nil {
		return 0
	}
	w.lastID++
	id := w.lastID
	w.contexts = append(w.contexts, context{id: id, root: r, stream: s, attempt: attempt})
	w.Host.cur = r.ID
	w.mod.CreateContext(id, r.ID)
	return id
}

// enter makes a context current and returns it; nil if it is gone, as after a rebuild.
func (w *Worker) enter(id uint32, s *Stream) *context {
	c := w.find(id)
	if c == nil || c.stream != s {
		return nil
	}
	w.Host.cur = id
	return c
}

func (w *Worker) close(id uint32, s *Stream) {
	if w.enter(id, s) == nil {
		return
	}
	w.mod.DeleteContext(id)
	for i := range w.contexts {
		if w.contexts[i].id == id {
			last := len(w.contexts) - 1
			w.contexts[i] = w.contexts[last]
			w.contexts[last] = context{}
			w.contexts = w.contexts[:last]
			return
		}
	}
}

// OpenContexts counts the stream contexts that were not deleted.
func (w *Worker) OpenContexts() int { return len(w.contexts) }
