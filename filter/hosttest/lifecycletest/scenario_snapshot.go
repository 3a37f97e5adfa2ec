package lifecycletest

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/zerohop/zerohop/filter/hosttest"
	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/plan"
)

// polls counts the open polls of all workers.
func (w *world) polls() int {
	n := 0
	for _, k := range w.Workers {
		n += len(k.Calls())
	}
	return n
}

func oneLeader(t *testing.T, s Subject) {
	w := single(t, s, 0)
	w.Agent = &hosttest.Agent{Version: 1, Blob: Snapshot(1, 1)}
	for range 3 {
		w.worker()
	}
	for range 50 {
		w.Run(100 * time.Millisecond)
		if n := w.polls(); n > 1 {
			t.Fatalf("%d polls are open", n)
		}
	}
	if n := len(w.Workers[0].Calls()); n != 1 {
		t.Errorf("the first VM has %d polls open, want 1: it leads", n)
	}
	w.wantMetric("zerohop_leases_total", 1)
	w.wantMetric("zerohop_snapshots_total", 3)
	w.check()
}

func leaderDies(t *testing.T, s Subject) {
	w := single(t, s, 0)
	w.Agent = &hosttest.Agent{Version: 1, Blob: Snapshot(1, 1)}
	leader, other := w.worker(), w.worker()
	w.Run(time.Second)
	if len(leader.Calls()) != 1 || len(other.Calls()) != 0 {
		t.Fatalf("polls: %d and %d, want 1 and 0", len(leader.Calls()), len(other.Calls()))
	}
	leader.Kill()
	w.Agent.Version, w.Agent.Blob = 2, Snapshot(2, 2)
	w.Run(2 * time.Second)
	r := Chat(ChatBody(short))
	w.wantHost(w.do(other, &r, hosttest.ToEndpoint), 2)
	w.wantMetric("zerohop_leases_total", 2)
	w.check()
}

// leaseRace lets the second worker take the lease between the first one's look and its store. The lease is the first value
// that the process stores, so its token is 1.
func leaseRace(t *testing.T, s Subject) {
	w := single(t, s, 0)
	first, second := w.worker(), w.worker()
	w.OnStore = func(key string) {
		if key == names.KeyLeader {
			w.OnStore = nil
			second.Tick()
		}
	}
	w.Advance(100 * time.Millisecond)
	first.Tick()
	if a, b := len(first.Calls()), len(second.Calls()); a != 0 || b != 1 {
		t.Errorf("polls: %d and %d; want 0 and 1: only one may hold the lease", a, b)
	}
	w.OnStore = nil
	w.check()
}

func agentDown(t *testing.T, s Subject) {
	w := single(t, s, 2)
	w.Agent = &hosttest.Agent{Down: true}
	k := w.worker()
	w.Run(10 * time.Second)
	if n := w.Agent.Polls; n < 8 || n > 16 {
		t.Errorf("%d polls in 10 s without an agent; want 8 to 16, at growing intervals up to 1 s", n)
	}
	w.wantMetric("zerohop_poll_errors_total", int64(w.Agent.Polls))
	r := Chat(ChatBody(short))
	w.do(k, &r, hosttest.ToEndpoint) // with the plan's endpoints
	*w.Agent = hosttest.Agent{Version: 1, Blob: Snapshot(1, 3)}
	w.Run(1500 * time.Millisecond)
	w.wantHost(w.do(k, &r, hosttest.ToEndpoint), 3)
	w.check()
}

func agentUnknown(t *testing.T, s Subject) {
	w := single(t, s, 2)
	k := w.worker()
	k.RefuseCalls = true
	w.Run(10 * time.Second)
	if n := w.Metric("zerohop_poll_errors_total").Value; n < 8 || n > 16 {
		t.Errorf("%d failed polls in 10 s; want 8 to 16", n)
	}
	k.RefuseCalls = false
	w.Run(1200 * time.Millisecond)
	if n := len(k.Calls()); n != 1 {
		t.Errorf("%d polls are open, want 1", n)
	}
	w.check()
}

func pollWithoutNews(t *testing.T, s Subject) {
	w := single(t, s, 2)
	w.Agent = &hosttest.Agent{Version: 1, Blob: Snapshot(1, 1), NotModifiedAfterMs: 1000}
	k := w.worker()
	w.Run(10 * time.Second)
	if n := w.Agent.Polls; n < 9 || n > 11 {
		t.Errorf("%d answered polls in 10 s, want about one a second", n)
	}
	if n := len(k.Calls()); n != 1 {
		t.Errorf("%d polls are open, want 1", n)
	}
	w.wantMetric("zerohop_poll_errors_total", 0)
	w.check()
}

func pollTimesOut(t *testing.T, s Subject) {
	w := single(t, s, 2)
	w.plan.Agent.PollTimeoutMs = 1000
	k := w.worker()
	w.Run(10 * time.Second)
	if n := len(k.Calls()); n > 1 {
		t.Errorf("%d polls are open", n)
	}
	if n := w.Metric("zerohop_poll_errors_total").Value; n < 3 || n > 9 {
		t.Errorf("%d failed polls in 10 s, want 3 to 9", n)
	}
	w.check()
}

func brokenFromAgent(t *testing.T, s Subject) {
	w := single(t, s, 0)
	w.Agent = &hosttest.Agent{Version: 1, Blob: Snapshot(1, 1)}
	k := w.worker()
	w.Run(time.Second)
	good := w.Agent.Blob
	for i := range 20 {
		blob := append([]byte{}, good...)
		blob[i*len(blob)/20] ^= 0x40
		w.Agent.Version, w.Agent.Blob = uint64(i+2), blob
		w.Run(2 * time.Second)
	}
	w.Agent.Version, w.Agent.Blob = 99, []byte{}
	polls := w.Agent.Polls
	w.Run(10 * time.Second)
	if n := w.Agent.Polls - polls; n > 16 {
		t.Errorf("%d polls in 10 s for a broken snapshot", n)
	}
	w.wantMetric("zerohop_snapshots_total", 1)
	r := Chat(ChatBody(short))
	w.wantHost(w.do(k, &r, hosttest.ToEndpoint), 1)
	if w.Metric("zerohop_snapshot_errors_total").Value < 20 {
		t.Error("broken snapshots were not counted")
	}
	w.check()
}

func brokenInSharedData(t *testing.T, s Subject) {
	w := single(t, s, 2)
	k := w.worker()
	w.Put(names.KeySnapshot, []byte("nonsense"))
	for i, stamp := range [][]byte{versionStamp(9, w.Now()), []byte("short"), {}} {
		w.Put(names.KeySnapshotVersion, stamp)
		w.Run(time.Second)
		r := Chat(ChatBody(short))
		if res := w.do(k, &r, hosttest.ToEndpoint); res.Reason() != "scored" {
			t.Errorf("stamp %d: reason %q", i, res.Reason())
		}
	}
	w.wantMetric("zerohop_snapshot_errors_total", 1) // once, however often it is looked at
	w.Put(names.KeySnapshot, Snapshot(10, 4))
	w.Put(names.KeySnapshotVersion, versionStamp(10, w.Now()))
	w.Run(time.Second)
	r := Chat(ChatBody(short))
	w.wantHost(w.do(k, &r, hosttest.ToEndpoint), 4)
	w.check()
}

// versionStamp is the value of names.KeySnapshotVersion.
func versionStamp(version uint64, at time.Duration) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, version), uint64(at))
}

// adoptedByOther asserts that a worker which never ticks decides by what the leader wrote a moment ago.
func adoptedByOther(t *testing.T, s Subject) {
	w := single(t, s, 0)
	leader, other := w.worker(), w.worker()
	r := Chat(ChatBody(short))
	w.do(other, &r, hosttest.ToClient)
	for i := 1; i <= 3; i++ {
		w.Advance(100 * time.Millisecond)
		leader.Tick()
		if len(leader.Calls()) == 0 {
			t.Fatal("no poll is open")
		}
		leader.Answer(leader.Calls()[0].Token, 200, Snapshot(uint64(i), i))
		w.Advance(time.Millisecond)
		w.wantHost(w.do(other, &r, hosttest.ToEndpoint), i)
	}
	w.check()
}

// endpointLeaves takes away the endpoint of a request in progress, and gives its place to others.
func endpointLeaves(t *testing.T, s Subject) {
	eachMode(t, s, 0, func(w *world) {
		w.Agent = &hosttest.Agent{}
		k := w.worker()
		version := uint64(0)
		publish := func(eps ...int) func() {
			return func() {
				version++
				w.Agent.Version, w.Agent.Blob = version, Snapshot(version, eps...)
				w.Run(time.Second)
			}
		}
		for stage := hosttest.GotHeaders; stage <= hosttest.Responded; stage++ {
			publish(1, 2)()
			r := dead(chunked(Chat(ChatBody(long)), 4096), 1)
			r.At, r.Do = stage, publish(3, 4, 5)
			res := w.do(k, &r, hosttest.ToEndpoint)
			if len(res.Hosts) != 2 || res.Hosts[0] == res.Hosts[1] {
				w.t.Errorf("stage %d: attempts at %v", stage, res.Hosts)
			}
			w.Advance(1e12)
		}
	})
}

// tooManyEndpoints takes a plan and a snapshot that are larger than the largest read of a body, and more endpoints than
// the bound.
func tooManyEndpoints(t *testing.T, s Subject) {
	w := single(t, s, 1500)
	k := w.worker()
	r := Chat(ChatBody(short))
	w.do(k, &r, hosttest.ToEndpoint)
	const endpoints = 2000
	all := make([]int, 0, endpoints)
	for i := range endpoints {
		all = append(all, i+1)
	}
	w.Agent = &hosttest.Agent{Version: 1, Blob: Snapshot(1, all...)}
	w.Run(time.Second)
	w.do(k, &r, hosttest.ToEndpoint)
	w.Run(200 * time.Millisecond)
	w.wantMetric("zerohop_snapshots_total", 1)
	w.wantMetric("zerohop_endpoints", int64(w.plan.Bounds.Endpoints))
	w.wantMetric("zerohop_overflow_endpoints", int64(endpoints-w.plan.Bounds.Endpoints))
	w.check()
}

// agentRemoved replaces a plan with an agent by one without: its own endpoints count from then on, although the snapshot is
// still in shared data, and for a rebuilt VM too.
func agentRemoved(t *testing.T, s Subject) {
	w := single(t, s, 2)
	k := w.worker()
	w.Agent = &hosttest.Agent{Version: 1, Blob: Snapshot(1, 4)}
	w.Run(time.Second)
	r := Chat(ChatBody(short))
	w.wantHost(w.do(k, &r, hosttest.ToEndpoint), 4)
	w.plan = Plan(w.plan.Destination, 1)
	w.plan.Agent.Cluster = ""
	k.Load(names.RootDownstream, plan.Append(nil, w.plan))
	w.Run(time.Second)
	w.wantHost(w.do(k, &r, hosttest.ToEndpoint), 1)
	k.Rebuild()
	w.Run(time.Second)
	w.wantHost(w.do(k, &r, hosttest.ToEndpoint), 1)
	w.check()
}
