package scan

import (
	"math/rand/v2"
	"strconv"
	"testing"
)

const (
	testBlock = 64
	noCap     = 0
)

// body is a Source over a slice. Like a host with one buffer it hands out the same memory every time.
type body struct {
	b     []byte
	given int // bytes that the scanner has seen
	buf   []byte
	calls int
}

func (b *body) Body(off, limit int) []byte {
	b.calls++
	if off >= b.given {
		return nil
	}
	b.buf = append(b.buf[:0], b.b[off:min(b.given, off+limit)]...)
	return b.buf
}

// write hands the next n bytes to s, in the memory that Body uses.
func (b *body) write(s *Scanner, n int) {
	off := b.given
	b.given += n
	b.buf = append(b.buf[:0], b.b[off:b.given]...)
	s.Write(b.buf, b)
}

// outcome is everything that a scan yields.
type outcome struct {
	Result    Result
	Model     string
	Salt      string
	Stream    bool
	MaxTokens int
	Tokens    int
	IDs       []string
	Starts    []int32
}

// outcomeOf reads the outcome off a finished scanner.
func outcomeOf(s *Scanner, r Result) outcome {
	o := outcome{Result: r, Model: string(s.Model()), Salt: string(s.Salt()), Stream: s.Stream(), MaxTokens: s.MaxTokens(), Tokens: s.Tokens()}
	for _, id := range s.IDs() {
		o.IDs = append(o.IDs, hex16(id))
	}
	o.Starts = append(o.Starts, s.Starts()...)
	return o
}

// scanIn scans text in chunks whose sizes next yields.
func scanIn(s *Scanner, api API, text string, next func() int) outcome {
	src := &body{b: []byte(text)}
	s.Reset(api, testBlock, noCap)
	for src.given < len(text) {
		src.write(s, min(max(next(), 1), len(text)-src.given))
	}
	return outcomeOf(s, s.Finish(src))
}

// scanSplits scans text in one piece, byte by byte, and in random pieces, and checks that all agree.
func scanSplits(t *testing.T, api API, text string) outcome {
	t.Helper()
	var s Scanner
	whole := scanIn(&s, api, text, func() int { return len(text) })
	rng := rand.New(rand.NewPCG(1, uint64(len(text))))
	for name, next := range map[string]func() int{
		"1 byte":  func() int { return 1 },
		"7 bytes": func() int { return 7 },
		"random":  func() int { return rng.IntN(40) },
		"large":   func() int { return rng.IntN(5000) },
	} {
		if len(text) > 1<<16 && name == "1 byte" {
			continue
		}
		if got := scanIn(&s, api, text, next); !equal(got, whole) {
			t.Errorf("chunks of %s: %+v, in one piece %+v", name, got, whole)
		}
	}
	return whole
}

// equal compares outcomes without the help of reflection, for the fuzzer's sake.
func equal(a, b outcome) bool {
	if len(a.IDs) != len(b.IDs) || len(a.Starts) != len(b.Starts) {
		return false
	}
	for i := range a.IDs {
		if a.IDs[i] != b.IDs[i] {
			return false
		}
	}
	for i := range a.Starts {
		if a.Starts[i] != b.Starts[i] {
			return false
		}
	}
	return a.Result == b.Result && a.Model == b.Model && a.Salt == b.Salt && a.Stream == b.Stream &&
		a.MaxTokens == b.MaxTokens && a.Tokens == b.Tokens
}

// hex16 renders a hash as the vectors of the EPP are printed.
func hex16(h uint64) string {
	s := strconv.FormatUint(h, 16)
	return "0000000000000000"[len(s):] + s
}
