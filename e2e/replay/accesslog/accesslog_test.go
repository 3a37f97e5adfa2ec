package accesslog

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/e2e/replay/mooncake"
	"github.com/zerohop/zerohop/filter/hosttest"
	"github.com/zerohop/zerohop/filter/hosttest/lifecycletest"
	"github.com/zerohop/zerohop/scorers/prefixindex"
	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/plan"
)

const facts = " profile=default candidates=4 left=4 model=m tokens=100 block=64 universal=1"

func TestRead(t *testing.T) {
	line := func(total, chain string) string {
		return `{"time":"2026-11-29T20:00:00.123Z","path":"/v1/completions","status":200,"pick":"endpoint=10.0.0.1:8000 matched=0 total=` + total +
			` attempts=1 decision_us=3 reason=scored` + facts + ` id=00","chain":"` + chain + `"}`
	}
	const a, b, c = "000000000000000a", "000000000000000b", "000000000000000c"
	tests := []struct {
		name, log string
		chain     []uint64
		blocks    int
		err       string
	}{
		{"one block", line("0", a), []uint64{10}, 1, ""},
		{"three blocks", line("2", a+","+b+","+c), []uint64{10, 11, 12}, 3, ""},
		{"between other lines", "[2026-11-29 20:00:00.000][1][info] starting\n\n" + line("1", a+","+b) + "\n", []uint64{10, 11}, 2, ""},
		{"first of several prompts", line("20", a+","+b+","+c), []uint64{10, 11, 12}, 4, ""},
		{"no chain", strings.Replace(line("2", ""), `"chain":""`, `"chain":null`, 1), nil, 3, ""},
		{"too many hashes", line("1", a+","+b+","+c), nil, 0, "do not fit to 2 blocks"},
		{"short hash", line("1", "a"), nil, 0, "no hash of 16"},
		{"no hash", line("1", "x00000000000000a"), nil, 0, "no hash of 16"},
		{"no pick", strings.Replace(line("1", a), "endpoint=", "x=", 1), nil, 0, "unknown part"},
		{"cut off", line("1", a)[:50], nil, 0, "line 1: unexpected end"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Read(strings.NewReader(tt.log))
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("error %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil || len(got) != 1 {
				t.Fatalf("%d entries, error %v", len(got), err)
			}
			e := got[0]
			if d := cmp.Diff(tt.chain, e.Chain); d != "" || e.Blocks() != tt.blocks || e.Path != "/v1/completions" || e.Status != 200 || e.Time.UnixMilli()%1000 != 123 {
				t.Errorf("entry %+v, %d blocks, want %d: %s", e, e.Blocks(), tt.blocks, d)
			}
			if got := len(e.Prompt()); tt.chain != nil && got != tt.blocks {
				t.Errorf("a chain of %d hashes, want %d", got, tt.blocks)
			}
		})
	}
}

func TestRequestWithoutDecision(t *testing.T) {
	got, err := Read(strings.NewReader(`{"time":"2026-11-29T20:00:00Z","path":"/x","status":0,"pick":null,"chain":null}`))
	if err != nil || len(got) != 1 || got[0].Pick != (Pick{}) || got[0].Prompt() != nil {
		t.Errorf("entries %+v, error %v", got, err)
	}
}

// logged plays the beginning of a public trace of conversations through the filter and returns its access log.
func logged(t *testing.T, requests int) *bytes.Buffer {
	t.Helper()
	trace, err := os.Open("../testdata/conversation_trace_1000.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = trace.Close() }()
	reqs, err := mooncake.Read(trace, requests)
	if err != nil {
		t.Fatal(err)
	}
	p := hosttest.NewProcess()
	w := p.AddWorker(hosttest.NewNative)
	pl := lifecycletest.Plan(plan.DestinationHeader, 4)
	pl.Log.Chain, pl.Bounds.IndexBlocks = true, 1<<20
	pl.Prefix.LRUCapacityPerServer = 1 << 20 // nothing is evicted
	if !w.LoadBoth(plan.Append(nil, pl)) {
		t.Fatalf("plan refused: %v", p.Logs)
	}
	var log bytes.Buffer
	enc := json.NewEncoder(&log)
	for i := range reqs {
		r := lifecycletest.Chat(string(reqs[i].AppendChat(nil, "m")))
		st := w.Open(&r)
		st.Receive()
		st.Forward()
		line := map[string]any{"time": time.Unix(0, int64(p.Now())), "path": "/v1/chat/completions", "status": 200, "chain": string(st.Property(names.StateChain))}
		res := st.Close()
		line["pick"] = string(res.Pick)
		if err := enc.Encode(line); err != nil {
			t.Fatal(err)
		}
		p.Advance(5 * time.Millisecond)
	}
	return &log
}

// TestReplay replays a log: of every request the endpoint that got it is found to hold as many blocks as the filter believed,
// but for the factor of two that the sample of the chain costs.
func TestReplay(t *testing.T) {
	entries, err := Read(logged(t, 0))
	if err != nil {
		t.Fatal(err)
	}
	index := prefixindex.New(1 << 20)
	slots := map[string]int32{}
	for _, e := range entries {
		if _, ok := slots[e.Pick.Endpoint]; !ok {
			slots[e.Pick.Endpoint] = int32(len(slots))
		}
	}
	caps := make([]int, len(slots))
	for i := range caps {
		caps[i] = 1 << 20
	}
	index.SetCapacities(caps)
	hits, blocks, found := 0, 0, 0
	for i := range entries {
		e := &entries[i]
		chain := e.Prompt()
		match := make([]int32, len(slots))
		index.Match(chain, match)
		got, want := int(match[slots[e.Pick.Endpoint]]), e.Pick.Matched
		if want > 0 {
			want += e.Pick.Universal // an endpoint that holds other blocks holds these before them
			hits++
		} else if got <= e.Pick.Universal {
			got = 0
		}
		if got > want || 2*got <= want && want > 0 {
			t.Fatalf("request %d: %d of %d blocks, the filter believed %d: %+v", i, got, len(chain), want, e.Pick)
		}
		blocks, found = blocks+want, found+got
		index.Record(chain, slots[e.Pick.Endpoint])
	}
	if hits < 200 || len(slots) != 4 {
		t.Errorf("%d hits at %d endpoints show nothing", hits, len(slots))
	}
	t.Logf("%d requests, %d with a match; of %d blocks matched the replay finds %d", len(entries), hits, blocks, found)
}

// FuzzRead reads any line, and makes a prompt of what it accepts.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"time":"2026-11-29T20:00:00Z","pick":"endpoint=a matched=0 total=2 attempts=1 decision_us=3 reason=scored` + facts + `","chain":"000000000000000a,000000000000000b"}`))
	f.Add([]byte(`{"pick":null}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		entries, err := Read(bytes.NewReader(b))
		if err != nil {
			return
		}
		for i := range entries {
			if e := &entries[i]; e.Chain != nil && len(e.Prompt()) != e.Blocks() {
				t.Errorf("%d hashes of %d blocks", len(e.Prompt()), e.Blocks())
			}
		}
	})
}
