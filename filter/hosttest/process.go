package hosttest

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zerohop/zerohop/filter"
)

// Process is one Envoy process: what its workers share.
type Process struct {
	// Workers are the live workers in the order in which they tick. The first one plays the main thread.
	Workers []*Worker
	// Node is Envoy's node id.
	Node string
	// Logs are the lines that the filter logged.
	Logs []LogLine
	// Faults say what the filter did that Envoy would refuse or that the Host contract forbids.
	Faults []string
	// Panics are the panics that a Native recovered from, with their stacks.
	Panics []string
	// Writes counts stores into shared data, refused ones excepted.
	Writes int
	// OnStore, if set, runs before each store into shared data: another worker may act between a read and a store.
	OnStore func(key string)
	// Agent answers the polls of all workers during Run; nil leaves them to the test.
	Agent *Agent

	now      uint64
	cas      uint32
	seed     uint64
	shared   map[string]*cell
	metrics  map[string]*Metric
	interned map[string]string
	statuses map[int]string
}

// LogLine is one line of the filter's log.
type LogLine struct {
	Level filter.LogLevel
	Text  string
}

// Metric is one process-wide stat.
type Metric struct {
	Kind    filter.MetricKind
	Value   int64 // sum of a counter, last value of a gauge, sum of a histogram's samples
	Samples int   // records of a gauge or histogram
}

// cell is one shared-data value with its compare-and-set token.
type cell struct {
	value []byte
	cas   uint32
}

// start is the clock of a new process in ns: some time after boot.
const start = uint64(1000 * time.Second)

// NewProcess returns a process without workers.
func NewProcess() *Process {
	return &Process{
		Node:     "envoy-1",
		now:      start,
		cas:      1, // as in proxy-wasm-cpp-host: the first value ever stored gets token 1
		shared:   make(map[string]*cell),
		metrics:  make(map[string]*Metric),
		interned: make(map[string]string),
		statuses: make(map[int]string),
	}
}

// Close frees the VMs of the live workers. The process must not be used any more.
func (p *Process) Close() {
	for _, w := range p.Workers {
		w.free()
	}
	p.Workers = nil
}

// Now returns the time on the monotonic clock.
func (p *Process) Now() time.Duration { return time.Duration(p.now) }

// Advance moves the clock without ticks.
func (p *Process) Advance(d time.Duration) { p.now += uint64(d) }

// Metric returns what a stat has counted; the zero value if no VM defined it.
func (p *Process) Metric(name string) Metric {
	if m := p.metrics[name]; m != nil {
		return *m
	}
	return Metric{}
}

// MetricNames returns the names of all stats in no order.
func (p *Process) MetricNames() []string {
	names := make([]string, 0, len(p.metrics))
	for n := range p.metrics {
		names = append(names, n)
	}
	return names
}

// Shared returns a copy of a shared-data value; nil if the key does not exist.
func (p *Process) Shared(key string) []byte {
	c := p.shared[key]
	if c == nil {
		return nil
	}
	return append([]byte{}, c.value...)
}

// SharedBytes returns the length of all shared-data values whose keys begin with one of the prefixes.
func (p *Process) SharedBytes(prefixes ...string) (n int) {
	for key, c := range p.shared {
		if slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) }) {
			n += len(c.value)
		}
	}
	return n
}

// Put stores a shared-data value as another VM would.
func (p *Process) Put(key string, value []byte) { p.store(key, value, 0) }

// tickStep is how far Run moves the clock at once.
const tickStep = 100 * time.Millisecond

// Run lets d pass: in steps of 100 ms every worker ticks and the agent answers.
func (p *Process) Run(d time.Duration) {
	for end := p.now + uint64(d); p.now < end; {
		p.now = min(end, p.now+uint64(tickStep))
		for _, w := range p.Workers {
			w.Tick()
		}
		p.serve()
	}
}

func (p *Process) serve() {
	if p.Agent == nil {
		return
	}
	for _, w := range p.Workers {
		p.Agent.serve(w)
	}
}

// store is set_shared_data: cas 0 stores unconditionally, a missing key is always created.
func (p *Process) store(key string, value []byte, cas uint32) bool {
	if p.OnStore != nil {
		p.OnStore(key)
	}
	c := p.shared[key]
	if c == nil {
		c = new(cell)
		p.shared[key] = c
	} else if cas != 0 && cas != c.cas {
		return false
	}
	if cap(c.value) < len(value) {
		c.value = make([]byte, 0, 1<<bits.Len(uint(len(value)))) // values of one key differ in length, and few are to allocate
	}
	c.value = append(c.value[:0], value...)
	c.cas = p.cas
	if p.cas++; p.cas == 0 {
		p.cas = 1
	}
	p.Writes++
	return true
}

// Fault records something that the filter must not do.
func (p *Process) Fault(format string, args ...any) {
	if len(p.Faults) < 100 {
		p.Faults = append(p.Faults, fmt.Sprintf(format, args...))
	}
}

// intern returns b as a string without allocating for what was seen before.
func (p *Process) intern(b []byte) string {
	if s, ok := p.interned[string(b)]; ok {
		return s
	}
	s := string(b)
	p.interned[s] = s
	return s
}

func (p *Process) status(code int) string {
	s, ok := p.statuses[code]
	if !ok {
		s = strconv.Itoa(code)
		p.statuses[code] = s
	}
	return s
}
