package filter

import (
	"strconv"

	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/shared/snapshot"
)

// fakeHost imitates a host with one pool of endpoints. It costs little beside the filter, whose own cost is measured with it.
type fakeHost struct {
	now      uint64
	root     string
	config   []byte
	headers  []byte
	body     []byte
	property []byte
	random   uint64
	shared   []fakeCell
	snapshot []byte
}

// fakeCell is a value in shared data.
type fakeCell struct {
	name  string
	value []byte
	cas   uint32
}

func newFakeHost() *fakeHost {
	return &fakeHost{now: 1e9}
}

// configure takes a plan with the default profile, and a snapshot of the same endpoints.
func (h *fakeHost) configure(mode string) {
	h.config = plan.Append(nil, fakePlan(mode))
	var err error
	if h.snapshot, err = snapshot.Append(nil, 1, fakeEndpoints()); err != nil {
		panic(err)
	}
}

func (h *fakeHost) Now() uint64 { h.now += 2e6; return h.now }

func (h *fakeHost) Random() uint64                                          { h.random += 2; return h.random }
func (h *fakeHost) Use(uint32) bool                                         { return true }
func (h *fakeHost) RequestHeaders() []byte                                  { return h.headers }
func (h *fakeHost) RequestHeader(string) []byte                             { return nil }
func (h *fakeHost) ReplaceRequestHeader(string, []byte)                     {}
func (h *fakeHost) RemoveRequestHeader(string)                              {}
func (h *fakeHost) RemoveRequestTrailer(string)                             {}
func (h *fakeHost) ResponseHeader(string) []byte                            { return []byte("200") }
func (h *fakeHost) ReplaceResponseHeader(string, []byte)                    {}
func (h *fakeHost) Property(string) []byte                                  { return h.property }
func (h *fakeHost) SetDestination([]byte) bool                              { return true }
func (h *fakeHost) Respond(int, string, string, []byte)                     {}
func (h *fakeHost) Log(LogLevel, string)                                    {}
func (h *fakeHost) Configuration(int) []byte                                { return h.config }
func (h *fakeHost) RootID() string                                          { return h.root }
func (h *fakeHost) SetTick(int)                                             {}
func (h *fakeHost) Post(string, []byte, []byte, []byte, int) (uint32, bool) { return 1, true }
func (h *fakeHost) CallStatus() []byte                                      { return []byte("200") }
func (h *fakeHost) CallBody(int) []byte                                     { return h.snapshot }
func (h *fakeHost) DefineMetric(MetricKind, string) uint32                  { return 0 }
func (h *fakeHost) Add(uint32, int64)                                       {}
func (h *fakeHost) Record(uint32, uint64)                                   {}
func (h *fakeHost) HeapBytes() uint64                                       { return 0 }
func (h *fakeHost) Collect()                                                {}

func (h *fakeHost) Body(off, limit int) []byte {
	off = min(off, len(h.body))
	return h.body[off:min(off+limit, len(h.body))]
}

func (h *fakeHost) SetProperty(name string, value []byte) {
	if name == names.StatePick {
		h.property = append(h.property[:0], value...)
	}
}

func (h *fakeHost) Shared(name string) ([]byte, uint32) {
	if k := h.find(name); k != nil {
		return k.value, k.cas
	}
	return nil, 0
}

func (h *fakeHost) SetShared(name string, value []byte, _ uint32) bool {
	k := h.find(name)
	if k == nil {
		h.shared = append(h.shared, fakeCell{name: name})
		k = &h.shared[len(h.shared)-1]
	}
	k.value = append(k.value[:0], value...)
	k.cas++
	return true
}

func (h *fakeHost) find(name string) *fakeCell {
	for i := range h.shared {
		if h.shared[i].name == name {
			return &h.shared[i]
		}
	}
	return nil
}

func fakePlan(mode string) *plan.Plan {
	p := &plan.Plan{
		Version:     plan.Version,
		Destination: mode,
		FailureMode: plan.FailClose,
		Agent:       plan.Agent{Cluster: "a", PollTimeoutMs: 1000, StaleMs: 2000},
		Bounds:      plan.Bounds{Endpoints: 64, IndexBlocks: 4096},
		Prefix:      plan.Prefix{AutoTune: true, BlockSizeTokens: 64, MaxPrefixTokens: 131072, LRUCapacityPerServer: 1024},
		Plugins: []plan.Plugin{
			{Name: "q", Type: "queue-scorer"},
			{Name: "k", Type: "kv-cache-utilization-scorer"},
			{Name: "p", Type: "prefix-cache-scorer"},
			{Name: "m", Type: "max-score-picker"},
			{Name: "s", Type: "single-profile-handler"},
		},
		Profiles: []plan.Profile{{
			Name:    "default",
			Scorers: []plan.Scorer{{Plugin: "q", Weight: 2}, {Plugin: "k", Weight: 2}, {Plugin: "p", Weight: 3}},
			Picker:  "m",
		}},
		ProfileHandler: "s",
		Log:            plan.Log{Chain: true},
	}
	for i := range 4 {
		p.Endpoints = append(p.Endpoints, plan.Endpoint{Name: "n/" + string(rune('a'+i)), Address: "10.0.0." + strconv.Itoa(1+i) + ":80"})
	}
	return p
}

func fakeEndpoints() []snapshot.Endpoint {
	var eps []snapshot.Endpoint
	for i, e := range fakePlan("").Endpoints {
		name, addr := []byte(e.Name), []byte(e.Address)
		eps = append(eps, snapshot.Endpoint{
			ID: snapshot.EndpointID(name, addr), Name: name, Address: addr,
			ScrapeSeq: 1, Waiting: uint32(i), Running: 1, KVUsage: 0.25, BlockSize: 16, NumBlocks: 1024,
		})
	}
	return eps
}
