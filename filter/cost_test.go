package filter

import (
	"strconv"
	"testing"

	"github.com/zerohop/zerohop/filter/pairs"
	"github.com/zerohop/zerohop/scorers/sched"
	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/plan"
)

func chatHeaders() []byte {
	return pairs.Append(nil, ":method", "POST", ":path", "/v1/chat/completions", "content-type", "application/json",
		":authority", "localhost", "user-agent", "bench", "content-length", "600", "accept", "*/*", "x-request-id", "1")
}

// BenchmarkCallbacks is the work of the filter's own code for one request without retry, host calls excluded: scan, chain,
// schedule, accounting.
func BenchmarkCallbacks(b *testing.B) {
	for _, bc := range []struct {
		name string
		size int
	}{{"0.6KB", 600}, {"6KB", 6_000}, {"60KB", 60_000}, {"400KB", 400_000}} {
		b.Run(bc.name, func(b *testing.B) {
			h := newFakeHost()
			v := New(h)
			v.CreateContext(1, 0)
			v.CreateContext(2, 0)
			h.root = names.RootAttempt
			v.Configure(2, 0)
			h.root = names.RootDownstream
			h.configure(plan.DestinationHeader)
			if !v.Configure(1, len(h.config)) {
				b.Fatal("plan refused")
			}
			h.body = []byte(`{"model":"m","messages":[{"role":"user","content":"`)
			for len(h.body) < bc.size-50 {
				h.body = append(h.body, "The quick brown fox jumps over the lazy dog and runs away.\\n "...)
			}
			h.body = append(h.body, `"}],"stream":true}`...)
			h.headers = chatHeaders()
			id := uint32(10)
			b.SetBytes(int64(len(h.body)))
			for b.Loop() {
				id += 2
				v.CreateContext(id, 1)
				v.RequestHeaders(id, false)
				v.RequestBody(id, len(h.body), true)
				v.CreateContext(id+1, 2)
				v.RequestHeaders(id+1, false)
				v.ResponseHeaders(id+1, false)
				v.ResponseHeaders(id, false)
				v.ResponseBody(id + 1)
				v.ResponseBody(id)
				v.DeleteContext(id + 1)
				v.DeleteContext(id)
			}
		})
	}
}

// BenchmarkReadHeaders is what reading the headers of a request costs, by how many of them plugins read.
func BenchmarkReadHeaders(b *testing.B) {
	for _, bc := range []struct {
		name   string
		wanted []string
	}{{"none", nil}, {"one", []string{"x-request-id"}}, {"absent", []string{"x-session-token", "cookie", "x-tier"}}} {
		b.Run(bc.name, func(b *testing.B) {
			h := newFakeHost()
			v := New(h)
			v.CreateContext(1, 0)
			h.root = names.RootDownstream
			h.configure(plan.DestinationHeader)
			if !v.Configure(1, len(h.config)) {
				b.Fatal("plan refused")
			}
			v.watchHeaders(bc.wanted, v.plan)
			h.headers = chatHeaders()
			s := &v.streams[v.newStream(10)]
			for b.Loop() {
				v.readHeaders(s)
				v.releaseCapture(s)
			}
		})
	}
}

// BenchmarkLogPick is what formatting a pick for the access log costs, and the sample of a chain of some length.
func BenchmarkLogPick(b *testing.B) {
	for _, blocks := range []int{0, 8, 64, 2048} {
		b.Run(strconv.Itoa(blocks), func(b *testing.B) {
			h := newFakeHost()
			v := New(h)
			v.CreateContext(1, 0)
			h.root = names.RootDownstream
			h.configure(plan.DestinationHeader)
			if !v.Configure(1, len(h.config)) {
				b.Fatal("plan refused")
			}
			p := sched.Prompt{Starts: []int32{0}, IDs: make([]uint64, blocks)}
			ref := v.newStream(10)
			s := &v.streams[ref]
			s.d.Total, s.d.Decided = int32(blocks), 1
			for b.Loop() {
				if blocks == 0 {
					v.logPick(s, ref)
				} else {
					v.logChain(s, &p)
				}
			}
		})
	}
}
