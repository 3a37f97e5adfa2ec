package filter

import (
	"github.com/zerohop/zerohop/filter/pairs"
	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/plan"
)

// warm runs the whole request path a few times against an imitated host. V8 compiles each function when it first runs,
// for milliseconds; configure pays for that, so that no request does.
func warm() {
	h := newWarmHost()
	v := New(h)
	v.warmed = true
	v.CreateContext(1, 0)
	v.CreateContext(2, 0)
	h.root = names.RootAttempt
	v.Configure(2, 0)
	h.root = names.RootDownstream
	for _, mode := range [...]string{plan.DestinationHeader, plan.DestinationFilterState, plan.DestinationList} {
		h.configure(mode)
		if !v.Configure(1, len(h.config)) {
			return
		}
		v.watchHeaders([]string{"cookie"}, v.plan)
		v.Tick(1)
		v.CallDone(1, 1, len(h.snapshot))
		for i, body := range h.bodies {
			for id := uint32(10); id < 13; id++ {
				h.body = body
				h.path = h.paths[i]
				h.headers = pairs.Append(nil, ":method", "POST", ":path", h.path, "content-type", "application/json", names.HeaderDestination, "x", "cookie", "a=b")
				warmRequest(v, h, id)
			}
		}
		v.Tick(1)
	}
	warmPeer(h)
}

// warmPeer runs another VM, which takes over what the first one knows.
func warmPeer(h *warmHost) {
	v := New(h)
	v.warmed = true
	v.CreateContext(1, 0)
	if v.Configure(1, len(h.config)) {
		v.Tick(1)
		warmRequest(v, h, 10)
		v.Tick(1)
	}
}

// warmRequest plays one request with a retry through both filters.
func warmRequest(v *VM, h *warmHost, id uint32) {
	v.CreateContext(id, 1)
	v.RequestHeaders(id, false)
	half := len(h.body) / 2
	v.RequestBody(id, half, false)
	v.RequestBody(id, len(h.body), id%2 == 0)
	v.RequestTrailers(id)
	for attempt := id + 100; attempt < id+102; attempt++ {
		v.CreateContext(attempt, 2)
		v.RequestHeaders(attempt, false)
	}
	v.ResponseHeaders(id+101, false)
	v.ResponseHeaders(id, false)
	v.ResponseBody(id + 101)
	v.ResponseBody(id)
	v.DeleteContext(id + 100)
	v.DeleteContext(id + 101)
	v.DeleteContext(id)
}

// warmHost imitates a host with one pool of endpoints and canned requests.
type warmHost struct {
	now      uint64
	root     string
	config   []byte
	headers  []byte
	path     string
	paths    []string
	bodies   [][]byte
	body     []byte
	property []byte
	random   uint64
	shared   []warmCell
	snapshot []byte
}

// warmCell is a value in shared data.
type warmCell struct {
	name  string
	value []byte
	cas   uint32
}

func newWarmHost() *warmHost {
	h := &warmHost{now: 1e9}
	text := make([]byte, 0, 80<<10)
	for len(text) < 70<<10 {
		text = append(text, "The quick brown fox jumps over the lazy dog, \\u00e9\\ud83d\\ude00 \\\"and again\\\"\\n plain text that goes on for a while "...)
	}
	tools := `[{"type":"function","function":{"name":"f","parameters":{"b":[1,2.5,null,true],"a":"<&>"}}}]`
	t := string(text)
	h.add("/v1/chat/completions", `{"model":"m","messages":[{"role":"system","content":"`+t+`"},{"role":"user","content":[{"type":"text","text":"hi"},{"type":"image_url","image_url":{"url":"x"}}]}],"stream":true,"max_tokens":5}`)
	h.add("/v1/chat/completions?x=1", `{"messages":[{"content":"`+t+`","role":"user"}],"tools":`+tools+`,"model":"m","cache_salt":"s"}`)
	h.add("/v1/chat/completions/", `{"model":"m","model":"n","messages":[{"role":"user","role":"system","content":"a","content":"b"}]}`)
	h.add("/v1/completions", `{"model":"m","prompt":"`+t+`","max_tokens":12}`)
	h.add("/v1/completions", `{"model":"m","prompt":["a","b",[]],"echo":false}`)
	h.add("/v1/completions", `{"prompt":[1,2,3,4,5],"model":"m"}`)
	h.add("/v1/completions", `{"prompt":`)
	h.add("/v1/models", ``)
	return h
}

//go:noinline
func (h *warmHost) add(path, body string) {
	h.paths = append(h.paths, path)
	h.bodies = append(h.bodies, []byte(body))
}

// configure takes a plan with the default profile, and a snapshot of the same endpoints. Both are written out in warm_data.go:
// what makes them would be a tenth of the module.
func (h *warmHost) configure(mode string) {
	h.config = []byte(warmPlanHead + mode + warmPlanTail)
	h.snapshot = []byte(warmSnapshot)
}

func (h *warmHost) Now() uint64 { h.now += 2e6; return h.now }

func (h *warmHost) Random() uint64                                          { h.random += 2; return h.random }
func (h *warmHost) Use(uint32) bool                                         { return true }
func (h *warmHost) RequestHeaders() []byte                                  { return h.headers }
func (h *warmHost) RequestHeader(string) []byte                             { return nil }
func (h *warmHost) ReplaceRequestHeader(string, []byte)                     {}
func (h *warmHost) RemoveRequestHeader(string)                              {}
func (h *warmHost) RemoveRequestTrailer(string)                             {}
func (h *warmHost) ResponseHeader(string) []byte                            { return []byte("200") }
func (h *warmHost) ReplaceResponseHeader(string, []byte)                    {}
func (h *warmHost) Property(string) []byte                                  { return h.property }
func (h *warmHost) SetDestination([]byte) bool                              { return true }
func (h *warmHost) Respond(int, string, string, []byte)                     {}
func (h *warmHost) Log(LogLevel, string)                                    {}
func (h *warmHost) Configuration(int) []byte                                { return h.config }
func (h *warmHost) RootID() string                                          { return h.root }
func (h *warmHost) SetTick(int)                                             {}
func (h *warmHost) Post(string, []byte, []byte, []byte, int) (uint32, bool) { return 1, true }
func (h *warmHost) CallStatus() []byte                                      { return []byte("200") }
func (h *warmHost) CallBody(int) []byte                                     { return h.snapshot }
func (h *warmHost) DefineMetric(MetricKind, string) uint32                  { return 0 }
func (h *warmHost) Add(uint32, int64)                                       {}
func (h *warmHost) Record(uint32, uint64)                                   {}
func (h *warmHost) HeapBytes() uint64                                       { return 0 }
func (h *warmHost) Collect()                                                {}

func (h *warmHost) Body(off, limit int) []byte {
	off = min(off, len(h.body))
	return h.body[off:min(off+limit, len(h.body))]
}

func (h *warmHost) SetProperty(name string, value []byte) {
	if name == names.StatePick {
		h.property = append(h.property[:0], value...)
	}
}

func (h *warmHost) Shared(name string) ([]byte, uint32) {
	if k := h.find(name); k != nil {
		return k.value, k.cas
	}
	return nil, 0
}

func (h *warmHost) SetShared(name string, value []byte, _ uint32) bool {
	k := h.find(name)
	if k == nil {
		h.shared = append(h.shared, warmCell{name: name})
		k = &h.shared[len(h.shared)-1]
	}
	k.value = append(k.value[:0], value...)
	k.cas++
	return true
}

func (h *warmHost) find(name string) *warmCell {
	for i := range h.shared {
		if h.shared[i].name == name {
			return &h.shared[i]
		}
	}
	return nil
}
