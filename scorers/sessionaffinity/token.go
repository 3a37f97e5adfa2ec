package sessionaffinity

import (
	"errors"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/zerohop/zerohop/scorers"
)

// maxName is the longest name of an endpoint, namespace included, that a token can hold, and maxToken the length of that token.
const (
	maxName  = 510
	maxToken = maxName / 3 * 4
)

// Token reads the endpoint of a session from a request header, where a client repeats what it got in a response: the name of
// the endpoint that answered, in base64. Nothing is remembered.
type Token struct {
	_ [0]func() // not comparable, for the size of the module

	header  scorers.HeaderID
	name    string // of the header
	profile profile

	buf [maxToken]byte // scratch
}

// NewToken returns what the parameters ask for.
func NewToken(u *scorers.Setup) (*Token, error) {
	name := scorers.TrimText(u.Params.String(paramHeader, defaultToken))
	if name == "" {
		return nil, errors.New(paramHeader + ": empty; give the name of a header, or leave it out")
	}
	id := u.Header(name)
	for _, taken := range [...]string{"connection", "content-encoding", "content-length", "content-type", "date", "host", "set-cookie", "transfer-encoding"} {
		if u.Wants.Headers[id] == taken {
			return nil, errors.New(paramHeader + ": " + taken + " has a meaning of its own in responses; give another name, such as " + defaultToken)
		}
	}
	return &Token{header: id, name: u.Wants.Headers[id], profile: profileOf(u)}, nil // in lower case
}

// Choose returns the index of the session's endpoint in cand; -1 if the request has no token, or one that names no candidate.
func (t *Token) Choose(c *scorers.Cycle, cand []int32) int {
	value := c.Request.Headers.Get(t.header)
	if len(value) == 0 || len(value) > len(t.buf) {
		return -1
	}
	n, ok := decode(t.buf[:], value)
	if !ok {
		return -1
	}
	hash := xxhash.Sum64(t.buf[:n])
	for i, slot := range cand {
		if c.Endpoints.NameHash[slot] == hash {
			return i
		}
	}
	return -1
}

// Served implements scorers.Server: the client gets the token of the endpoint that answers.
func (t *Token) Served(_ *scorers.Endpoints, _ int32, name []byte, out *scorers.HeaderSink) {
	if t.profile.is(out.Profile) && len(name) <= maxName {
		out.Set(t.name, t.buf[:encode(t.buf[:], name)])
	}
}

// The standard alphabet of base64, with padding. Package encoding/base64 would make the module larger and allocate for each
// token that is none.
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// encode writes src in base64 into dst and returns the length.
func encode(dst, src []byte) int {
	n := 0
	for ; len(src) > 0; n += 4 {
		var three [3]byte
		k := copy(three[:], src)
		src = src[k:]
		v := uint(three[0])<<16 | uint(three[1])<<8 | uint(three[2])
		for i := range 4 {
			dst[n+i] = '='
			if i <= k {
				dst[n+i] = alphabet[v>>(18-6*i)&63]
			}
		}
	}
	return n
}

// decode writes what src is the base64 of into dst, and returns the length and whether it is base64. dst may be src.
func decode(dst, src []byte) (n int, ok bool) {
	if len(src)%4 != 0 {
		return 0, false
	}
	for ; len(src) > 0; src = src[4:] {
		k := 4 // characters that are no padding
		for k > 2 && len(src) == 4 && src[k-1] == '=' {
			k--
		}
		v := uint(0)
		for i := range 4 {
			v <<= 6
			if i >= k {
				continue
			}
			x := strings.IndexByte(alphabet, src[i])
			if x < 0 {
				return 0, false
			}
			v |= uint(x)
		}
		for i := range k - 1 {
			dst[n] = byte(v >> (16 - 8*i))
			n++
		}
	}
	return n, true
}
