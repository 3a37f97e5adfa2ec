package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/zerohop/zerohop/e2e/engine"
	"github.com/zerohop/zerohop/e2e/vllmsim/simserver"
)

const (
	// defaultRate keeps two cores about half busy, with Envoy, agent and all endpoints on them.
	defaultRate = 80

	prefixes    = 64
	prefixBytes = 2048
	suffixBytes = 256

	// One in longEvery streams has longTokens, so that faults meet streams that began well before.
	longEvery  = 16
	longTokens = 600
	leastToken = 16
	moreTokens = 120

	// steerEvery is how often a client tries to choose the destination itself.
	steerEvery = 10
)

// leave says when a client goes away.
type leave int

const (
	stays leave = iota
	leavesInHeaders
	leavesInBody
	leavesBeforeAnswer
	leavesAtFirstByte
	leavesInMidst
	leaves
)

// spec is one request to send.
type spec struct {
	id     string
	body   []byte
	want   string // text of the answer
	stream bool
	http2  bool
	steer  bool // with headers that only the filter may set
	trap   bool
	leave  leave
	after  time.Duration // of leavesBeforeAnswer
	chunks int           // of leavesInMidst
}

// traffic says what requests are like at the moment.
type traffic struct {
	hot, cold, vanish bool
}

// newSpec returns request n of a seed.
func newSpec(seed uint64, n int64, now traffic) spec {
	rng := rand.New(rand.NewPCG(seed^0x5eed, uint64(n)))
	s := spec{
		id: fmt.Sprintf("s%d-%d", seed, n), stream: n%2 == 0, http2: n/2%2 == 0, steer: rng.IntN(steerEvery) == 0,
		after: time.Duration(rng.IntN(20_000)) * time.Microsecond, chunks: 1 + rng.IntN(4),
	}
	prefix := fmt.Sprintf("prefix %d of seed %d. ", rng.IntN(prefixes), seed)
	if now.hot && rng.IntN(10) > 0 {
		prefix = fmt.Sprintf("the hot prefix of seed %d. ", seed)
	}
	if now.cold {
		prefix = "cold prefix of " + s.id + ". "
	}
	tokens := leastToken + rng.IntN(moreTokens)
	if s.stream && rng.IntN(longEvery) == 0 && !now.cold {
		tokens = longTokens
	}
	if now.vanish && n/4%2 == 0 {
		s.leave = leave(1 + rng.IntN(int(leaves)-1))
	}
	if now.cold {
		tokens = leastToken // what a burst costs is its prompts
	}
	text := strings.Repeat(prefix, 1+prefixBytes/len(prefix))[:prefixBytes] + fmt.Sprintf("%-*s", suffixBytes, s.id)
	s.fill(text, tokens)
	return s
}

// fill makes the body and what the answer has to be: an endpoint's text depends on the prompt alone.
func (s *spec) fill(text string, tokens int) {
	s.body = fmt.Appendf(nil, `{"model":%q,"max_tokens":%d,"stream":%t,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":%q}]}`,
		simserver.DefaultModel, tokens, s.stream, text)
	p := engine.NewPrompt([]byte("user"+text), simserver.DefaultModel, engine.DefaultBlockTokens)
	s.want = string(engine.AppendOutput(nil, p.OutputSeed(), 0, tokens))
}
