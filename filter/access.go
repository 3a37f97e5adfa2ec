package filter

import (
	"math"
	"strconv"
	"unsafe"

	"github.com/zerohop/zerohop/scorers/sched"
	"github.com/zerohop/zerohop/shared/names"
)

// What the access log prints about a request is written by the decision, as the property names.StatePick. docs/access-log.md
// has its grammar. A retry replaces what stands before factsMark, and keeps the rest.

const (
	factsMark     = " reason=" // where that begins which the decision settles
	maxText       = 128        // bytes of a name in the line, escapes included
	maxChainParts = 13         // hashes in names.StateChain
)

// logPick writes the pick of s for the access log, before its body is forgotten.
func (v *VM) logPick(s *stream, ref int32) {
	v.line = v.appendFacts(v.appendAttempt(v.line[:0], s), s, ref)
	v.host.SetProperty(names.StatePick, v.line)
}

// logAttempt writes the pick of s again, for another attempt.
func (v *VM) logAttempt(s *stream) {
	v.line = append(v.appendAttempt(v.line[:0], s), v.facts...)
	v.host.SetProperty(names.StatePick, v.line)
}

// keepFacts keeps the part of a pick that holds for all attempts. pick is a view.
func (v *VM) keepFacts(pick []byte) {
	i := 0
	for i < len(pick) && !hasPrefix(pick[i:], factsMark) {
		i++
	}
	v.facts = append(v.facts[:0], pick[i:]...)
}

// appendAttempt appends what the attempts of a request differ in.
func (v *VM) appendAttempt(b []byte, s *stream) []byte {
	b = put(b, "endpoint=")
	if s.d.Cur >= 0 {
		b = put(b, text(v.sched.Address(s.d.Cur)))
	} else {
		b = put(b, "-")
	}
	b = appendInt(b, " matched=", int64(s.d.Matched))
	b = appendInt(b, " total=", int64(s.d.Total))
	b = appendInt(b, " attempts=", int64(s.d.Attempt))
	return appendInt(b, " decision_us=", int64(s.decideNs/1000))
}

// appendFacts appends what a request was and how it was decided. The id has to be last: findStream takes it from the end.
func (v *VM) appendFacts(b []byte, s *stream, ref int32) []byte {
	b = put(put(b, factsMark), reasonNames[s.reason])
	b = appendText(put(b, " profile="), v.ranProfile(s))
	b = appendInt(b, " candidates=", int64(s.d.Candidates))
	b = appendInt(b, " left=", int64(s.d.Left))
	b = put(b, " model=")
	if s.scanner >= 0 {
		b = appendText(b, text(v.scanners[s.scanner].Model()))
	} else {
		b = put(b, "-")
	}
	b = appendInt(b, " tokens=", int64(s.d.Tokens))
	b = appendInt(b, " block=", int64(s.d.BlockTokens))
	b = appendInt(b, " universal=", int64(s.d.Universal))
	b = put(b, " id=")
	return v.appendPickID(b, ref)
}

// ranProfile returns the name of the profile that ran for s; empty if none did.
func (v *VM) ranProfile(s *stream) string {
	switch {
	case s.d.Decided == 0, s.d.Reason == sched.NoEndpoint, s.d.Reason == sched.Denied, s.d.Reason == sched.NoProfile:
		return ""
	}
	return v.sched.ProfileName(&s.d)
}

// logChain writes a sample of the chain of s's first prompt for the access log: the hashes after 1, 2, 4, 8 … blocks and after
// the last. They are enough to find out which requests shared how much of their prompt, but for a factor of two.
func (v *VM) logChain(s *stream, p *sched.Prompt) {
	if !v.plan.Log.Chain || s.d.Total+s.d.Universal == 0 {
		return
	}
	chain := p.IDs
	if len(p.Starts) > 1 {
		chain = chain[:min(int(p.Starts[1]), len(chain))]
	}
	if len(chain) == 0 {
		return
	}
	b := v.line[:0]
	for i, n := 1, 1; i < len(chain) && n < maxChainParts; i, n = 2*i, n+1 {
		b = append(appendHex(b, chain[i-1], 16), ',')
	}
	v.line = appendHex(b, chain[len(chain)-1], 16)
	v.host.SetProperty(names.StateChain, v.line)
}

// put appends text. Like the other helpers that append it is not inlined: in Wasm an append takes some 150 bytes of code.
//
//go:noinline
func put(b []byte, text string) []byte { return append(b, text...) }

// text returns b as a string that shares its bytes.
func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// appendInt appends key and a number. Nearly all are small enough for the loop, which is less code to run through than that of
// package strconv: it is cold when a request comes.
//
//go:noinline
func appendInt(b []byte, key string, n int64) []byte {
	b = append(b, key...)
	if n < 0 || n > math.MaxUint32 {
		return strconv.AppendInt(b, n, 10)
	}
	var digits [10]byte
	i, rest := len(digits)-1, uint32(n)
	for ; rest > 9; i-- {
		digits[i] = byte('0' + rest%10)
		rest /= 10
	}
	digits[i] = byte('0' + rest)
	return append(b, digits[i:]...)
}

// appendText appends a name that is not ours, at most maxText bytes of it, or - if it is empty. What could be taken for the
// end of the word, or is not readable everywhere, is escaped as in a URL.
func appendText(b []byte, text string) []byte {
	if len(text) == 0 {
		return append(b, '-')
	}
	end := len(b) + maxText
	whole := 0 // bytes before the first that needs an escape
	for whole < min(len(text), maxText) && plain(text[whole]) {
		whole++
	}
	b = append(b, text[:whole]...)
	for i := whole; i < len(text); i++ {
		c := text[i]
		if plain(c) {
			if len(b) == end {
				break
			}
			b = append(b, c)
			continue
		}
		if len(b)+3 > end {
			break
		}
		b = append(b, '%', "0123456789ABCDEF"[c>>4], "0123456789ABCDEF"[c&15])
	}
	return b
}

// plain reports whether c stands for itself in a name.
func plain(c byte) bool {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		return true
	}
	switch c {
	case '.', '_', ':', '/', '@', '+', '-':
		return true
	}
	return false
}
