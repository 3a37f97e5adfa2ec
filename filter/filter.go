// Package filter is the life cycle of requests inside Envoy as a host-neutral state machine: it receives proxy-wasm
// callbacks, feeds the body to the scanner, asks the scheduler for an endpoint and tells Envoy by way of a small Host
// interface. It makes no scheduling decision of its own and has no proxy-wasm symbol, so that the same code runs in Envoy
// (package module) and against an emulated host in go test.
//
// One VM serves one worker thread. Nothing here is safe for concurrent use, and nothing is allocated per request in steady
// state.
package filter

import (
	"strconv"

	"github.com/zerohop/zerohop/filter/scan"
	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/sched"
	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/plan"
)

// panicLogNs is the least time between two log lines about panics.
const panicLogNs = 1e9

// tickMs is the period of ticks: lease renewal, statistics, poll retries.
const tickMs = 100

// VM is all state of one Wasm VM.
type VM struct {
	host  Host
	epoch uint64 // identifies this VM among the process's others and its own predecessors

	roots    []root
	active   uint32 // root context id of the newest downstream plugin; 0 before the first configure
	contexts contextTable
	streams  []stream
	free     int32 // head of the list of free streams, -1 if none
	serial   uint32
	open     int // streams

	announcing int32  // the stream for which announce runs, -1 if none
	panicLog   uint64 // when a panic was last logged
	blind      blind

	scanners     []*scan.Scanner
	freeScanners []int32
	scratch      scan.Scratch // memory of the scanners for tool definitions

	captures     []scorers.Headers
	freeCaptures []int32

	explain explainer

	plan     *plan.Plan
	how      destination // the plan's
	interest interest    // in request headers
	sched    *sched.Scheduler
	intake   intake
	worker   reporter
	share    sharing
	stats    stats
	heap     heapGuard

	body  bodySource
	line  []byte // scratch for texts
	pick  pickLine
	facts []byte // scratch for the part of a pick that stays

	served      scorers.HeaderSink // scratch for the headers that plugins add to responses
	servedNames []string           // names of such headers, so that none is made twice

	retryOn, firstByte []byte // values of names.HeaderRetryOn and, if the plan has one, names.HeaderFirstByte
}

// root is one root context.
type root struct {
	_ [0]func() // not comparable, for the size of the module

	id   uint32
	kind rootKind
}

type rootKind uint8

const (
	rootUnknown rootKind = iota
	rootDownstream
	rootAttempt
)

// New returns the state of a fresh VM.
func New(h Host) *VM {
	v := &VM{host: h, free: -1, announcing: -1, epoch: h.Random() | 1}
	v.contexts.init()
	v.worker.number, v.share.entered = -1, -1
	v.body.host = h
	v.line = make([]byte, 0, 512)
	v.retryOn = []byte(retryOn)
	return v
}

// Configure handles proxy_on_configure for root context id with size bytes of configuration, and reports whether the
// configuration is accepted. On false the previous configuration stays in force. It writes no shared data, since Envoy also
// calls it in a throw-away VM.
func (v *VM) Configure(id uint32, size int) bool {
	if v.host.RootID() == names.RootAttempt {
		v.setRoot(id, rootAttempt)
		return true
	}
	p, err := plan.Parse(v.host.Configuration(size))
	if err != nil {
		v.host.Log(LogError, "zerohop: configuration rejected: "+err.Error())
		return false
	}
	if v.sched == nil {
		v.sched, err = sched.New(p, v.epoch)
	} else {
		err = v.sched.Reconfigure(p)
	}
	if err != nil {
		v.host.Log(LogError, "zerohop: configuration rejected: "+err.Error())
		return false
	}
	v.plan, v.how = p, destinationOf(p.Destination)
	v.configureSharing(p)
	v.firstByte = nil
	if ms := p.Attempts.FirstByteMs; ms > 0 {
		v.firstByte = strconv.AppendInt(nil, int64(ms), 10)
	}
	v.watchHeaders(v.sched.Wants().Headers, p)
	v.explain.trust(p)
	v.setRoot(id, rootDownstream)
	v.active = id
	v.intake.reset(p.Agent.Cluster != "")
	v.stats.define(v.host)
	v.heap.collect(v.host)
	v.host.SetTick(tickMs)
	return true
}

// Tick handles proxy_on_tick. Only the newest downstream root acts: an older one keeps ticking until its last stream ends.
func (v *VM) Tick(id uint32) {
	if id != v.active {
		return
	}
	now := v.clock()
	v.refresh(now) // before a poll says what this VM has
	v.record(now)
	v.lead(now)
	v.sched.Sweep(now)
	v.shareTick(now) // others get to know what the sweep found
	v.watchBodies(now)
	v.flush(now)
	v.heap.check(v.host)
}

// CreateContext handles proxy_on_context_create. parent is 0 for a root context.
func (v *VM) CreateContext(id, parent uint32) {
	if parent == 0 {
		v.setRoot(id, rootUnknown)
		return
	}
	switch v.rootKind(parent) {
	case rootDownstream:
		ref := v.newStream(id)
		v.contexts.put(id, ref, v.streams[ref].serial)
	case rootAttempt:
		v.contexts.put(id, attemptUnknown, 0)
	}
}

// DeleteContext handles proxy_on_delete, the last callback of a context. An attempt that ends without a response has
// failed, unless the client is gone.
func (v *VM) DeleteContext(id uint32) {
	s, ref, attempt := v.lookup(id)
	_, known := v.contexts.take(id)
	switch {
	case !known:
		v.dropRoot(id)
	case s == nil:
	case !attempt:
		v.endStream(ref)
		v.publish()
	case !s.responded:
		v.announce(s, ref)
	}
}

func (v *VM) setRoot(id uint32, kind rootKind) {
	for i := range v.roots {
		if v.roots[i].id == id {
			v.roots[i].kind = kind
			return
		}
	}
	v.roots = append(v.roots, root{id: id, kind: kind})
}

func (v *VM) rootKind(id uint32) rootKind {
	for i := range v.roots {
		if v.roots[i].id == id {
			return v.roots[i].kind
		}
	}
	return rootUnknown
}

func (v *VM) dropRoot(id uint32) {
	for i := range v.roots {
		if v.roots[i].id == id {
			v.roots = append(v.roots[:i], v.roots[i+1:]...)
			break
		}
	}
	if id == v.active {
		v.succeed()
	}
}

// succeed lets the newest downstream root that is left act instead of one that has gone, by the same plan.
func (v *VM) succeed() {
	v.active = 0
	for i := range v.roots {
		if v.roots[i].kind == rootDownstream {
			v.active = v.roots[i].id
		}
	}
	v.intake.reset(v.plan.Agent.Cluster != "")
}

// Recovered says that a callback for context id panicked: a bug. The request goes on without a pick, to the fallback
// cluster.
func (v *VM) Recovered(id uint32) {
	v.stats.n[cPanics]++
	if now := v.host.Now(); v.panicLog == 0 || now-v.panicLog > panicLogNs {
		v.panicLog = now
		v.host.Log(LogError, "zerohop: recovered from a panic, see zerohop_panics_total; a request that had no endpoint yet goes to the fallback cluster")
	}
	if v.announcing >= 0 {
		v.announceSame()
		return
	}
	if s, _, attempt := v.lookup(id); s != nil && !attempt {
		v.sched.Explain(nil)
		v.releaseScanner(s)
		v.releaseCapture(s)
		if s.phase < phaseDecided {
			s.phase = phaseDecided
			v.fallBack(id)
		}
	}
}
