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
	maxPick       = 1024       // bytes of the line, with room to spare
)

// pickWords are what the words of a pick begin with. The values of some are texts, those of the others numbers.
var pickWords = [...]string{
	"endpoint=", " matched=", " total=", " attempts=", " decision_us=",
	factsMark, " profile=", " candidates=", " left=", " model=", " tokens=", " block=", " universal=", " id=",
}

const (
	pickFacts   = 5                      // the first word that the decision settles
	pickID      = 13                     // the last, whose value follows the words
	pickTexts   = 1 | 1<<5 | 1<<6 | 1<<9 // bits of the words that are texts
	pickForeign = 1<<6 | 1<<9            // bits of those that are not ours
)

// pickLine is the pick property as it is written. One loop writes all words: the code is cold when a request comes, and running
// through it again costs less than other code.
type pickLine struct {
	_ [0]func() // not comparable, for the size of the module

	texts   [4]string // in the order of the words
	numbers [9]int32
	bytes   [maxPick]byte
}

// attempt sets the words that the attempts of a request differ in.
func (l *pickLine) attempt(v *VM, s *stream) {
	l.texts[0] = ""
	if s.d.Cur >= 0 {
		l.texts[0] = text(v.sched.Address(s.d.Cur))
	}
	n := &l.numbers
	n[0], n[1], n[2], n[3] = s.d.Matched, s.d.Total, int32(s.d.Attempt), int32(s.decideNs/1000)
}

// facts sets the words that the decision settles.
func (l *pickLine) facts(v *VM, s *stream) {
	l.texts[1], l.texts[2], l.texts[3] = reasonNames[s.reason], v.ranProfile(s), ""
	if s.scanner >= 0 {
		l.texts[3] = text(v.scanners[s.scanner].Model())
	}
	n := &l.numbers
	n[4], n[5], n[6], n[7], n[8] = int32(s.d.Candidates), int32(s.d.Left), s.d.Tokens, s.d.BlockTokens, s.d.Universal
}

// write writes the first of the words with what was set, and returns the line.
//
//go:noinline
func (l *pickLine) write(words int) []byte {
	n, texts, numbers := 0, 0, 0
	for i, key := range pickWords[:words] {
		for k := range len(key) {
			l.bytes[n+k] = key[k]
		}
		n += len(key)
		switch {
		case i == pickID:
		case pickTexts>>i&1 != 0:
			n = l.text(n, l.texts[texts], pickForeign>>i&1 != 0)
			texts++
		default:
			n = l.number(n, uint32(l.numbers[numbers]))
			numbers++
		}
	}
	return l.bytes[:n]
}

// text writes a value at n and returns where it ends.
func (l *pickLine) text(n int, value string, foreign bool) int {
	k, end := 0, min(len(value), maxText)
	for ; k < end && (!foreign || plain(value[k])); k++ {
		l.bytes[n+k] = value[k]
	}
	if k == 0 || k < end {
		return len(appendText(l.bytes[:n], value))
	}
	return n + k
}

// number writes a value at n and returns where it ends.
func (l *pickLine) number(n int, x uint32) int {
	end := n + 1
	for rest := x; rest > 9; rest /= 10 {
		end++
	}
	for i := end - 1; i >= n; i-- {
		l.bytes[i] = byte('0' + x%10)
		x /= 10
	}
	return end
}

// logPick writes the pick of s for the access log, before its body is forgotten. The id has to be last: findStream takes it from
// the end.
func (v *VM) logPick(s *stream, ref int32) {
	l := &v.pick
	l.attempt(v, s)
	l.facts(v, s)
	v.host.SetProperty(names.StatePick, v.appendPickID(l.write(len(pickWords)), ref))
}

// logAttempt writes the pick of s again, for another attempt.
func (v *VM) logAttempt(s *stream) {
	l := &v.pick
	l.attempt(v, s)
	v.host.SetProperty(names.StatePick, append(l.write(pickFacts), v.facts...))
}

// keepFacts keeps the part of a pick that holds for all attempts. pick is a view.
func (v *VM) keepFacts(pick []byte) {
	i := 0
	for i < len(pick) && !hasPrefix(pick[i:], factsMark) {
		i++
	}
	v.facts = append(v.facts[:0], pick[i:]...)
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

// plainBits has a bit for each character below 128 that stands for itself in a name.
var plainBits = func() (m [2]uint64) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:/@+-") {
		m[c>>6] |= 1 << (c & 63)
	}
	return m
}()

// plain reports whether c stands for itself in a name.
func plain(c byte) bool { return c < 128 && plainBits[c>>6]>>(c&63)&1 != 0 }
