package main

import (
	"strconv"
	"sync"

	"github.com/zerohop/zerohop/e2e/loadgen"
	"github.com/zerohop/zerohop/e2e/replay/mooncake"
)

const (
	prefixes    = 8  // different shared prefixes
	sharedPct   = 70 // of the text
	serialBytes = 16 // digits at the start of the unshared text that make every request's tail its own
	path        = "/v1/chat/completions"
	bodyHead    = `{"model":"bench","messages":[{"role":"user","content":"`
	bodyTail    = `"}],"max_tokens":16}`
	streamTail  = `"}],"max_tokens":16,"stream":true}`
	minText     = 4 * serialBytes
)

// bodies makes the request bodies of one size. Every request shares the first sharedPct of its text with one eighth of
// the others and has a tail of its own, so that a prefix index finds a long match and still has something to learn.
type bodies struct {
	templates [prefixes][]byte
	streams   bool // the answers are read as streams
	serialAt  int
	free      sync.Pool // of *[]byte, so that the client's garbage does not disturb what is measured
}

// newBodies makes bodies of exactly size bytes, which may ask for streamed answers.
func newBodies(size int, streams bool) *bodies {
	b := &bodies{streams: streams}
	tail := bodyTail
	if streams {
		tail = streamTail
	}
	text := max(size-len(bodyHead)-len(tail), minText)
	shared := text * sharedPct / 100
	b.serialAt = len(bodyHead) + shared
	for p := range b.templates {
		t := append(make([]byte, 0, size), bodyHead...)
		t = append(t, plainText(uint32(p), shared)...)
		t = append(t, plainText(prefixes+uint32(p), text-shared)...)
		b.templates[p] = append(t, tail...)
	}
	return b
}

// plainText returns n bytes of text that JSON needs not escape, different for each seed from the first bytes on.
func plainText(seed uint32, n int) []byte {
	var t []byte
	for block := uint32(0); len(t) < n; block++ {
		t = mooncake.AppendBlock(t, seed+block<<8)
	}
	for i, c := range t {
		if c == '\n' {
			t[i] = ' '
		}
	}
	return t[:n]
}

// source returns an endless source of requests. serial numbers the tails and goes on over all rounds.
func (b *bodies) source(serial *uint64) loadgen.Source {
	return func(int) (loadgen.Request, bool) {
		*serial++
		buf, ok := b.free.Get().(*[]byte)
		if !ok {
			buf = new([]byte)
		}
		*buf = append((*buf)[:0], b.templates[*serial%prefixes]...)
		digits := strconv.AppendUint(nil, *serial, 10)
		copy((*buf)[b.serialAt:b.serialAt+serialBytes], digits)
		return loadgen.Request{Path: path, Body: *buf, Stream: b.streams, Done: func() { b.free.Put(buf) }}, true
	}
}
