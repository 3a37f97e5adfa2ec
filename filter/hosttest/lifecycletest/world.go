package lifecycletest

import (
	"strconv"
	"testing"
	"time"

	"github.com/zerohop/zerohop/filter"
	"github.com/zerohop/zerohop/filter/hosttest"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/shared/snapshot"
)

// Subject is an implementation of the filter to be tested.
type Subject struct {
	New hosttest.NewModule
	// Leftovers, if set, says what a VM still holds for requests after all have ended; "" if nothing.
	Leftovers func(hosttest.Module) string
	// Load, if set, returns the requests in flight in which a VM believes, those of other VMs included.
	Load func(hosttest.Module) int
}

// agentCluster is the Envoy cluster of the agent in test plans.
const agentCluster = "zerohop_agent"

// Plan returns a plan with the default profile, for a destination mode, with n endpoints 10.0.0.1:8000 and so on.
func Plan(mode string, n int) *plan.Plan {
	p := &plan.Plan{
		Version:     plan.Version,
		Revision:    "0123456789abcdef",
		Destination: mode,
		FailureMode: plan.FailClose,
		Agent:       plan.Agent{Cluster: agentCluster, PollTimeoutMs: 25_000, StaleMs: 2000},
		Bounds:      plan.Bounds{Endpoints: 64, IndexBlocks: 1 << 16},
		Prefix:      plan.Prefix{AutoTune: true, BlockSizeTokens: 64, MaxPrefixTokens: 131_072, LRUCapacityPerServer: 8192},
		Plugins: []plan.Plugin{
			{Name: "queue", Type: "queue-scorer"},
			{Name: "kv", Type: "kv-cache-utilization-scorer"},
			{Name: "prefix", Type: "prefix-cache-scorer"},
			{Name: "max", Type: "max-score-picker"},
			{Name: "single", Type: "single-profile-handler"},
		},
		Profiles: []plan.Profile{{
			Name:    "default",
			Scorers: []plan.Scorer{{Plugin: "queue", Weight: 2}, {Plugin: "kv", Weight: 2}, {Plugin: "prefix", Weight: 3}},
			Picker:  "max",
		}},
		ProfileHandler: "single",
	}
	for i := 1; i <= n; i++ {
		p.Endpoints = append(p.Endpoints, plan.Endpoint{Name: name(i), Address: Address(i)})
	}
	return p
}

// Address returns the address of endpoint i, counted from 1.
func Address(i int) string { return "10.0." + strconv.Itoa(i>>8) + "." + strconv.Itoa(i&255) + ":8000" }

func name(i int) string { return "default/pod-" + strconv.Itoa(i) }

// Snapshot encodes a snapshot of the given endpoints, all idle.
func Snapshot(version uint64, endpoints ...int) []byte {
	return Loaded(version, func(int, *snapshot.Endpoint) {}, endpoints...)
}

// Loaded encodes a snapshot of the given endpoints, each edited by edit.
func Loaded(version uint64, edit func(i int, e *snapshot.Endpoint), endpoints ...int) []byte {
	eps := make([]snapshot.Endpoint, 0, len(endpoints))
	for _, i := range endpoints {
		n, a := []byte(name(i)), []byte(Address(i))
		e := snapshot.Endpoint{ID: snapshot.EndpointID(n, a), Name: n, Address: a, ScrapeSeq: uint32(version), BlockSize: 16, NumBlocks: 4096}
		edit(i, &e)
		eps = append(eps, e)
	}
	b, err := snapshot.Append(nil, version, eps)
	if err != nil {
		panic(err) // the endpoints are the test's own
	}
	return b
}

// world is one emulated Envoy.
type world struct {
	*hosttest.Process
	t       *testing.T
	subject Subject
	plan    *plan.Plan

	wantErrors bool // lines at error level are expected in the log
}

func newWorld(t *testing.T, s Subject, p *plan.Plan) *world {
	t.Helper()
	w := &world{Process: hosttest.NewProcess(), t: t, subject: s, plan: p}
	t.Cleanup(w.Close)
	return w
}

// worker starts a worker with both plugins.
func (w *world) worker() *hosttest.Worker {
	w.t.Helper()
	k := w.AddWorker(w.subject.New)
	k.Host.Strict, k.Strict = true, true
	for _, e := range w.plan.Endpoints {
		k.Others = append(k.Others, e.Address)
	}
	if !k.LoadBoth(plan.Append(nil, w.plan)) {
		w.t.Fatalf("the plan was refused: %v", w.Logs)
	}
	return k
}

// check asserts that nothing is left behind: no context, nothing held for a request, no fault, no panic.
func (w *world) check() {
	w.t.Helper()
	w.Run(200 * time.Millisecond)
	for i, k := range w.Workers {
		if n := k.OpenContexts(); n != 0 {
			w.t.Errorf("worker %d: %d contexts are open", i, n)
		}
		if f := w.subject.Leftovers; f != nil && f(k.Module()) != "" {
			w.t.Errorf("worker %d: left over: %s", i, f(k.Module()))
		}
	}
	for _, f := range w.Faults {
		w.t.Errorf("fault: %s", f)
	}
	if n := len(w.Panics); n > 0 {
		w.t.Errorf("%d panics, the first: %s", n, w.Panics[0])
	}
	for _, l := range w.Logs {
		if l.Level >= filter.LogError && !w.wantErrors {
			w.t.Errorf("log: %s", l.Text)
		}
	}
	if w.wantErrors {
		return
	}
	w.wantMetric("zerohop_panics_total", 0)
}

func (w *world) wantMetric(name string, want int64) {
	w.t.Helper()
	if got := w.Metric(name).Value; got != want {
		w.t.Errorf("%s = %d, want %d", name, got, want)
	}
}

// wantHost asserts that the first attempt of a request went to endpoint i.
func (w *world) wantHost(res *hosttest.Result, i int) {
	w.t.Helper()
	if len(res.Hosts) == 0 || res.Hosts[0] != Address(i) {
		w.t.Errorf("sent to %v, want %s", res.Hosts, Address(i))
	}
}

// do sends a request and asserts its route.
func (w *world) do(k *hosttest.Worker, r *hosttest.Request, want hosttest.Route) *hosttest.Result {
	w.t.Helper()
	res := k.Do(r)
	if res.Route != want {
		w.t.Errorf("route %q, want %q; pick %q", res.Route, want, res.Pick)
	}
	return res
}
