package simtest

import (
	"bytes"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/zerohop/zerohop/e2e/engine"
	"github.com/zerohop/zerohop/e2e/replay/mooncake"
	"github.com/zerohop/zerohop/scorers/sched"
	"github.com/zerohop/zerohop/shared/blockhash"
)

const (
	endpoints   = 8
	blockTokens = 64 // of the scheduler's index; the trace's blocks are 8 of them
	traceFile   = "../../e2e/replay/testdata/conversation_trace_1000.jsonl"
)

// request is one row of the trace, prepared.
type request struct {
	mooncake.Request
	ids    []uint64      // block ids of the prompt for the scheduler
	prompt engine.Prompt // for the engine model; made by withPrompts
}

// loadTrace reads the first 1 000 requests of the conversation trace.
var loadTrace = sync.OnceValues(func() ([]request, error) {
	data, err := os.ReadFile(traceFile)
	if err != nil {
		return nil, err
	}
	rows, err := mooncake.Read(bytes.NewReader(data), 0)
	if err != nil {
		return nil, err
	}
	mooncake.Spread(rows)
	reqs := make([]request, len(rows))
	var text []byte
	for i, r := range rows {
		text = r.AppendPrompt(text[:0])
		reqs[i] = request{Request: r, ids: blockIDs(text), prompt: engine.NewPrompt(text, "", engine.DefaultBlockTokens)}
	}
	return reqs, nil
})

func trace(t *testing.T) []request {
	t.Helper()
	reqs, err := loadTrace()
	if err != nil {
		t.Fatal(err)
	}
	return reqs
}

// blockIDs cuts a prompt as the filter does, the last block padded to whole tokens.
func blockIDs(text []byte) []uint64 {
	var ids []uint64
	for len(text) > 0 {
		n := min(len(text), blockTokens*blockhash.BytesPerToken)
		ids = append(ids, blockhash.ID(text[:n]))
		text = text[n:]
	}
	return ids
}

// scheduled returns the prompt for the scheduler. ids is scratch that the scheduler may overwrite.
func (r *request) scheduled(ids []uint64) (sched.Prompt, []uint64) {
	ids = append(ids[:0], r.ids...)
	return sched.Prompt{
		Seed: 1, IDs: ids, Starts: firstPrompt, Tokens: r.InputTokens, MaxTokens: r.OutputTokens, BlockTokens: blockTokens,
	}, ids
}

var firstPrompt = []int32{0}

// outcome is what a policy achieved.
type outcome struct {
	hit      float64 // cached ÷ all prompt tokens (or blocks)
	busiest  float64 // requests of the busiest endpoint ÷ mean
	uncached float64 // the same for tokens computed
	ttft50   time.Duration
	ttft90   time.Duration
}

func imbalance(v []float64) float64 {
	sum, most := 0.0, 0.0
	for _, x := range v {
		sum += x
		most = max(most, x)
	}
	return most * float64(len(v)) / sum
}
