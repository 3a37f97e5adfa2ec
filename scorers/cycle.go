package scorers

import (
	"math"
	"strconv"
)

// Request is what the core knows about the request being scheduled.
type Request struct {
	PromptTokens int // estimated prompt length in tokens
	MaxTokens    int // client's output cap in tokens; 0 if not given

	BlockTokens int     // tokens per prefix block
	TotalBlocks int     // blocks of the prompt that carry information (universal leading blocks excluded)
	Match       []int32 // by slot: leading informative blocks that the endpoint is believed to hold
	Universal   int32   // leading blocks that Match and TotalBlocks leave out

	Model     []byte // as the client wrote it; nil if unknown, or if nobody asked for models, adapters or headers
	ModelHash uint64 // XXH64 of Model; 0 if unknown, or if nobody asked for models or adapters

	Headers        Headers // those that plugins asked for
	Priority       int32   // of the objective that the request names; 0 by default
	TTFTms, TPOTms float64 // objectives of this request for its latencies; 0 where absent or unusable
	Peer           int32   // slot of the endpoint that does the other part of the work; -1 if there is none
	HasBody        bool
}

// Cycle is one scheduling decision in progress. The scheduler owns every slice; plugins may use them during the call only.
type Cycle struct {
	Now       uint64 // monotonic nanoseconds
	Endpoints *Endpoints
	Request   Request
	Rand      *Rand
	Profile   int // index of the profile that runs, once the profile handler has chosen

	Neutral uint32 // incremented by a scorer for each candidate it scored without fresh metrics
	Pass    []bool // scratch by candidate, at least as long as there are candidates, content undefined
	Dry     bool   // nothing may be remembered, plugins' own statistics included
}

// Keep compacts cand to the candidates whose Pass is true and returns them; n is how many there are.
func (c *Cycle) Keep(cand []int32, n int) []int32 {
	if n == len(cand) {
		return cand
	}
	k := 0
	for i, slot := range cand {
		if c.Pass[i] {
			cand[k] = slot
			k++
		}
	}
	return cand[:k]
}

// Uncached estimates the prompt tokens that the endpoint in slot has to compute: those of the blocks that it does not hold,
// and those after the last whole block. An endpoint that holds informative blocks holds the universal ones before them.
func (c *Cycle) Uncached(slot int32) int64 {
	r := &c.Request
	match := int64(0)
	if int(slot) < len(r.Match) {
		match = int64(r.Match[slot])
	}
	if match > 0 {
		match += int64(r.Universal)
	}
	size, total := int64(r.BlockTokens), int64(r.TotalBlocks)+int64(r.Universal)
	return max(0, total-match)*size + max(0, int64(r.PromptTokens)-total*size)
}

// ParseMs reads a latency objective in milliseconds: a finite number above 0.
func ParseMs(b []byte) (float64, bool) {
	f, err := strconv.ParseFloat(string(b), 64)
	if err != nil || !(f > 0) || math.IsInf(f, 1) {
		return 0, false
	}
	return f, true
}

// HeaderID names a header that Setup.Header registered.
type HeaderID uint8

// Headers are the values of the registered headers of one request. The zero value has none.
type Headers struct {
	at   []headerSpan // by HeaderID
	text []byte
}

// headerSpan says where a value is in the text. start is one more than the offset; 0 is for an absent header.
type headerSpan struct{ start, end uint16 }

// MaxHeaderText is the most bytes of values that Headers hold.
const MaxHeaderText = 1<<16 - 2

// Reset empties h for n registered headers, and keeps its memory.
func (h *Headers) Reset(n int) {
	if cap(h.at) < n {
		h.at = make([]headerSpan, n)
	}
	h.at = h.at[:n]
	clear(h.at)
	h.text = h.text[:0]
}

// Set copies the value of a header, without the blanks around it; the last of several counts. It reports false, and leaves
// the header absent, if id is not registered or the text would grow beyond limit bytes.
func (h *Headers) Set(id HeaderID, value []byte, limit int) bool {
	if int(id) >= len(h.at) {
		return false
	}
	value = Trim(value)
	h.at[id] = headerSpan{}
	if len(h.text)+len(value) > min(limit, MaxHeaderText) {
		return false
	}
	if h.text == nil {
		h.text = make([]byte, 0, 256) // so that an empty value is not nil
	}
	start := len(h.text)
	h.text = append(h.text, value...)
	h.at[id] = headerSpan{uint16(start + 1), uint16(len(h.text) + 1)}
	return true
}

// Get returns the value of a header, without the blanks around it; nil if the request has none. It is valid during the cycle.
func (h *Headers) Get(id HeaderID) []byte {
	if int(id) >= len(h.at) || h.at[id].start == 0 {
		return nil
	}
	s := h.at[id]
	return h.text[s.start-1 : s.end-1 : s.end-1]
}

// Trim returns b without the blanks and tabs at both ends: what may stand around a value in a header.
func Trim(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
		b = b[:len(b)-1]
	}
	return b
}

// TrimText returns s without the white space at both ends. It is strings.TrimSpace for ASCII, which spares the module 5 KB.
func TrimText(s string) string {
	for len(s) > 0 && (s[0] == ' ' || s[0] >= '\t' && s[0] <= '\r') {
		s = s[1:]
	}
	for n := len(s) - 1; n >= 0 && (s[n] == ' ' || s[n] >= '\t' && s[n] <= '\r'); n-- {
		s = s[:n]
	}
	return s
}

// Rand is a small seeded generator (xorshift64*). The zero value is not usable; see NewRand.
type Rand struct{ s uint64 }

// NewRand returns a generator for seed; 0 is replaced by a constant.
func NewRand(seed uint64) Rand {
	if seed == 0 {
		seed = 0x9E3779B97F4A7C15
	}
	return Rand{s: seed}
}

// Uint64 returns the next number.
func (r *Rand) Uint64() uint64 {
	r.s ^= r.s >> 12
	r.s ^= r.s << 25
	r.s ^= r.s >> 27
	return r.s * 2685821657736338717
}

// Intn returns a number in [0,n), n > 0.
func (r *Rand) Intn(n int) int { return int((r.Uint64() >> 33) % uint64(n)) }

// Float64 returns a number in [0,1).
func (r *Rand) Float64() float64 { return float64(r.Uint64()>>11) / (1 << 53) }
