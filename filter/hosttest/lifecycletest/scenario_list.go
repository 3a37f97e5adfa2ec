package lifecycletest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zerohop/zerohop/filter/hosttest"
	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/shared/report"
)

// listed returns a world in mode list whose agent publishes endpoints.
func listed(t *testing.T, s Subject, endpoints ...int) (*world, *hosttest.Worker, *told) {
	w := newWorld(t, s, Plan(plan.DestinationList, 0))
	last := w.listen(endpoints...)
	k := w.worker()
	for _, i := range endpoints {
		k.Others = append(k.Others, Address(i))
	}
	w.Run(time.Second)
	return w, k, last
}

// announced sends a request and returns the addresses that the filter announced.
func (w *world) announced(k *hosttest.Worker, r hosttest.Request) (*hosttest.Result, []string) {
	w.t.Helper()
	st := k.Open(&r)
	st.Receive()
	value, _ := st.RequestHeader(names.HeaderDestination)
	st.Forward()
	res := st.Close()
	return res, strings.Split(value, ",")
}

// listNamesTheNext asserts that the list is as long as it may be, and that retries follow it.
func listNamesTheNext(t *testing.T, s Subject) {
	for n := 1; n <= 6; n++ {
		endpoints := fleetOf(n)
		w, k, _ := listed(t, s, endpoints...)
		res, list := w.announced(k, dead(Chat(ChatBody(short)), min(n, plan.ListLength)-1))
		if len(list) != min(n, plan.ListLength) || !slices.Equal(res.Hosts, list) || res.Status != 200 {
			t.Errorf("%d endpoints: announced %v, attempts at %v, status %d", n, list, res.Hosts, res.Status)
		}
		for _, a := range list {
			if strings.Count(strings.Join(list, " ")+" ", a+" ") != 1 {
				t.Errorf("%d endpoints: announced %v", n, list)
			}
		}
		if got := res.Endpoint(); got != list[len(list)-1] {
			t.Errorf("%d endpoints: the pick names %s, %s served", n, got, list[len(list)-1])
		}
		w.check()
	}
}

// listLeavesOutTheCooling asserts that an endpoint that failed is named only where there are too few others, and last.
func listLeavesOutTheCooling(t *testing.T, s Subject) {
	for _, n := range []int{3, 4} {
		w, k, _ := listed(t, s, fleetOf(n)...)
		res, _ := w.announced(k, dead(Chat(ChatBody(short)), 1))
		failed := res.Hosts[0]
		for i := range 10 {
			_, list := w.announced(k, Chat(ChatBody(Text(string(rune('a'+i)), 600))))
			at := slices.Index(list, failed)
			if n == 4 && at >= 0 || n == 3 && at != 2 {
				t.Errorf("%d endpoints, %s cools down: announced %v", n, failed, list)
			}
		}
		w.check()
	}
}

// clusterLacksTheBest has a cluster that does not know the first address of a list, as when the endpoint arrived at the filter
// first: Envoy takes the next, which gets the load and the blame.
func clusterLacksTheBest(t *testing.T, s Subject) {
	w, k, last := listed(t, s, 1, 2, 3, 4)
	missing := ""
	k.Lacks = func(addr string) bool {
		if missing == "" {
			missing = addr
		}
		return addr == missing
	}
	r := Chat(ChatBody(short))
	r.At = hosttest.Attempt1
	var during report.Endpoint
	r.Do = func() {
		w.Run(time.Second)
		for i := 1; i <= 4; i++ {
			if e := last.sum(i); e.InFlight > 0 {
				during = e
			}
		}
	}
	r.Reply = func(_ string, attempt int) hosttest.Reply { return hosttest.Reply{Fail: attempt == 0, Chunks: 1} }
	res, list := w.announced(k, r)
	if len(res.Hosts) != 2 || !slices.Equal(res.Hosts, list[1:]) || res.Endpoint() != list[2] || res.Status != 200 {
		t.Fatalf("announced %v, attempts at %v, the pick names %s, status %d", list, res.Hosts, res.Endpoint(), res.Status)
	}
	if during.ID != w.id(list[1]) || during.InFlight != 1 {
		t.Errorf("in flight during the first attempt: %+v, want one at %s", during, list[1])
	}
	w.Run(time.Second)
	w.wantFailures(last, map[string]uint64{list[1]: 1})
	w.check()
}

// fallbackPolicyChooses has a cluster that knows none of the list and chooses another host.
func fallbackPolicyChooses(t *testing.T, s Subject) {
	w, k, last := listed(t, s, 1, 2, 3, 4)
	k.Others = []string{Address(2)}
	k.Lacks = func(string) bool { return true }
	res, _ := w.announced(k, Chat(ChatBody(short)))
	if res.Endpoint() != Address(2) || len(res.Hosts) != 1 || hosttest.Pick(string(res.Pick), "attempts") != "1" {
		t.Errorf("attempts at %v, pick %q", res.Hosts, res.Pick)
	}
	k.Others = []string{"10.9.9.9:1"} // nobody we know
	for _, fail := range []int{0, 1} {
		k.Retries = 0
		res, _ = w.announced(k, dead(Chat(ChatBody(short)), fail))
		if res.Endpoint() != "-" || len(res.Hosts) != 1 {
			t.Errorf("attempts at %v, pick %q", res.Hosts, res.Pick)
		}
	}
	w.Run(time.Second)
	w.wantFailures(last, nil)
	w.check()
}

// listIsUsedUp fails more often than the list is long: the cluster's own choice is booked.
func listIsUsedUp(t *testing.T, s Subject) {
	w, k, last := listed(t, s, 1, 2, 3, 4)
	res, list := w.announced(k, dead(Chat(ChatBody(short)), 3))
	if len(res.Hosts) != 4 || slices.Contains(list, res.Hosts[3]) || res.Endpoint() != res.Hosts[3] || res.Status != 200 {
		t.Errorf("announced %v, attempts at %v, pick %q", list, res.Hosts, res.Pick)
	}
	w.Run(time.Second)
	w.wantFailures(last, map[string]uint64{list[0]: 1, list[1]: 1, list[2]: 1})
	w.check()
}

// listWithoutAttemptFilter asserts that the answer is booked for the endpoint that gave it also where only the downstream
// filter sees it.
func listWithoutAttemptFilter(t *testing.T, s Subject) {
	w, k, last := listed(t, s, 1, 2, 3)
	k.NoAttempts = true
	r := Chat(ChatBody(short))
	r.Reply = func(_ string, attempt int) hosttest.Reply {
		return hosttest.Reply{Fail: attempt == 0, Status: 500, Chunks: 1}
	}
	res, _ := w.announced(k, r)
	w.Run(time.Second)
	w.wantFailures(last, map[string]uint64{res.Hosts[1]: 1})
	w.check()
}

// id returns the id of the endpoint with an address.
func (w *world) id(address string) uint64 {
	w.t.Helper()
	for i := 1; i < 100; i++ {
		if Address(i) == address {
			return endpointID(i)
		}
	}
	w.t.Errorf("no endpoint has the address %s", address)
	return 0
}

// wantFailures asserts which endpoints were reported to have failed how often.
func (w *world) wantFailures(last *told, want map[string]uint64) {
	w.t.Helper()
	for i := 1; i < 10; i++ {
		if e := last.sum(i); e.Failures != want[Address(i)] {
			w.t.Errorf("%s: %d failures, want %d", Address(i), e.Failures, want[Address(i)])
		}
	}
}
