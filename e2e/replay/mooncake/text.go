package mooncake

import (
	"math/bits"
	"strconv"
)

// alphabet has 64 letters, so that six bits choose one. None of them needs escaping in JSON, and all take one byte.
const alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,"

// The rows of a block's text are lines of wordsPerLine words, so that it has the spaces and line breaks of real text.
const (
	wordBytes    = 8 // seven letters and a separator
	wordsPerLine = 8
)

// AppendPrompt appends the text of the request's prompt: one block after the other, the last one cut to the length that
// the trace says.
func (r *Request) AppendPrompt(dst []byte) []byte {
	start := len(dst)
	for _, id := range r.Blocks {
		dst = AppendBlock(dst, id)
	}
	return dst[:start+r.InputTokens*TokenBytes]
}

// AppendBlock appends the BlockBytes bytes of text of the block with the given id. Every word depends on the id, and
// the first four letters spell its low 24 bits, so different blocks differ from the first token on.
func AppendBlock(dst []byte, id uint32) []byte {
	state := mix(uint64(id) + 1)
	for w := range BlockBytes / wordBytes {
		v := state
		if w == 0 {
			v = state<<24 | uint64(id)&0xffffff
		}
		for range wordBytes - 1 {
			dst = append(dst, alphabet[v&63])
			v >>= 6
		}
		sep := byte(' ')
		if w%wordsPerLine == wordsPerLine-1 {
			sep = '\n'
		}
		dst = append(dst, sep)
		state = mix(state + 0x9e3779b97f4a7c15)
	}
	return dst
}

// mix is a bijection that spreads every input bit over the word (the finalizer of splitmix64).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return bits.RotateLeft64(x^x>>31, 17)
}

// AppendChat appends the body of a streaming chat completion with the request's prompt as the only message. The text
// of the prompt has no byte but line breaks that JSON would escape.
func (r *Request) AppendChat(dst []byte, model string) []byte {
	dst = append(dst, `{"model":"`...)
	dst = append(dst, model...)
	dst = append(dst, `","messages":[{"role":"user","content":"`...)
	for i, c := 0, r.AppendPrompt(nil); i < len(c); i++ {
		if c[i] == '\n' {
			dst = append(dst, '\\', 'n')
			continue
		}
		dst = append(dst, c[i])
	}
	dst = append(dst, `"}],"max_tokens":`...)
	dst = strconv.AppendInt(dst, int64(max(r.OutputTokens, 1)), 10)
	return append(dst, `,"stream":true,"stream_options":{"include_usage":true}}`...)
}
