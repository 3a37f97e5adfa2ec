package scan

// Bounds of what the canonical form is made of. Tools beyond any of them are hashed as they stand in the body.
const (
	maxToolsBytes   = 512 << 10
	maxToolsDepth   = 64      // nesting, hence recursion
	maxToolsMembers = 1 << 15 // members of the objects that are open at one time
	maxCanonBytes   = 1 << 20 // of the canonical form; escaping can make it longer than the input
)

// verdict says how the canonical form came out.
type verdict uint8

const (
	canonOK verdict = iota
	canonBroken
	canonLimit
)

// canon rewrites a JSON value the way that decoding and encoding by encoding/json does: without white space, keys sorted,
// the last of equal keys, strings escaped for HTML. Unlike there, numbers stay as they are written, as with json.Number.
// Since many requests carry the same tools, the result for the last input is kept.
type canon struct {
	raw  []byte // used by gather
	memo []byte // input that out belongs to; empty if none
	out  []byte

	src     []byte // input; nil outside of canonical
	pos     int
	verdict verdict
	members []member // of the open objects
	keys    []byte   // their decoded keys
	text    []byte   // a decoded string
	sorted  []byte   // an object in the making
}

// member is a member of an open object: its key in canon.keys, and key and value as they stand in canon.out.
type member struct {
	key, keyEnd int32
	out, outEnd int32
}

// canonical returns the canonical form of raw; empty if raw is an empty array, object or string, or null. The slice is
// valid until the next call.
func (c *canon) canonical(raw []byte) ([]byte, verdict) {
	if len(c.memo) > 0 && string(c.memo) == string(raw) {
		return c.out, canonOK
	}
	c.memo, c.out, c.members, c.keys = c.memo[:0], c.out[:0], c.members[:0], c.keys[:0]
	c.src, c.pos, c.verdict = raw, 0, canonOK
	c.value(1)
	c.src = nil
	if c.verdict != canonOK {
		return nil, c.verdict
	}
	switch string(c.out) {
	case "[]", "{}", `""`, "null":
		c.out = c.out[:0]
	}
	c.memo = append(c.memo, raw...)
	return c.out, canonOK
}

// stop ends the work with a verdict; the first one stays.
func (c *canon) stop(v verdict) {
	if c.verdict == canonOK {
		c.verdict = v
	}
	c.pos = len(c.src)
}

// next returns the next byte that is not white space without taking it, 0 at the end.
func (c *canon) next() byte {
	for ; c.pos < len(c.src); c.pos++ {
		if b := c.src[c.pos]; kindOf[b] != kindSpace {
			return b
		}
	}
	return 0
}

// take takes the byte b and reports whether it was there.
func (c *canon) take(b byte) bool {
	if c.next() != b {
		return false
	}
	c.pos++
	return true
}

// value rewrites one value; depth is the nesting inside it if it is an object or array.
func (c *canon) value(depth int) {
	k := kindOf[c.next()]
	if len(c.out) > maxCanonBytes || (depth > maxToolsDepth && (k == kindObject || k == kindArray)) {
		c.stop(canonLimit)
		return
	}
	switch k {
	case kindNone, kindColon, kindSpace, kindComma, kindEndObject, kindEndArray:
		c.stop(canonBroken)
	case kindString:
		c.out = appendQuoted(c.out, c.string())
	case kindObject:
		c.object(depth)
	case kindArray:
		c.array(depth)
	default:
		start := c.pos
		for c.pos < len(c.src) && kindOf[c.src[c.pos]] < kindSpace {
			c.pos++
		}
		c.out = append(c.out, c.src[start:c.pos]...)
	}
}

// array rewrites an array; its bracket is next.
func (c *canon) array(depth int) {
	c.pos++
	c.out = append(c.out, '[')
	if !c.take(']') {
		c.value(depth + 1)
		for c.take(',') {
			c.out = append(c.out, ',')
			c.value(depth + 1)
		}
		if !c.take(']') {
			c.stop(canonBroken)
		}
	}
	c.out = append(c.out, ']')
}

// object rewrites an object; its brace is next.
func (c *canon) object(depth int) {
	first, firstKey := len(c.members), len(c.keys)
	c.pos++
	c.out = append(c.out, '{')
	body, inOrder := len(c.out), true
	if !c.take('}') {
		c.member(depth)
		for c.take(',') {
			c.out = append(c.out, ',')
			c.member(depth)
			inOrder = inOrder && c.verdict == canonOK && c.compare(c.members[len(c.members)-2], c.members[len(c.members)-1]) < 0
		}
		if !c.take('}') {
			c.stop(canonBroken)
		}
	}
	if !inOrder && c.verdict == canonOK {
		c.sort(c.members[first:], body)
	}
	c.out = append(c.out, '}')
	c.members, c.keys = c.members[:first], c.keys[:firstKey]
}

// member rewrites a key and its value and notes where they are.
func (c *canon) member(depth int) {
	if c.next() != '"' {
		c.stop(canonBroken)
		return
	}
	if len(c.members) == maxToolsMembers {
		c.stop(canonLimit)
		return
	}
	m := member{key: int32(len(c.keys)), out: int32(len(c.out))}
	c.keys = append(c.keys, c.string()...)
	m.keyEnd = int32(len(c.keys))
	c.out = appendQuoted(c.out, c.keys[m.key:])
	if !c.take(':') {
		c.stop(canonBroken)
		return
	}
	c.out = append(c.out, ':')
	c.value(depth + 1)
	m.outEnd = int32(len(c.out))
	c.members = append(c.members, m)
}

// compare orders members by their keys.
func (c *canon) compare(a, b member) int {
	x, y := c.keys[a.key:a.keyEnd], c.keys[b.key:b.keyEnd]
	switch {
	case string(x) < string(y):
		return -1
	case string(x) > string(y):
		return 1
	}
	return 0
}

// sort puts the members of the object whose members begin at c.out[body] in order and leaves out all but the last of
// equal keys.
func (c *canon) sort(ms []member, body int) {
	c.order(ms)
	c.sorted = c.sorted[:0]
	for i, m := range ms {
		if i+1 < len(ms) && c.compare(m, ms[i+1]) == 0 {
			continue
		}
		if len(c.sorted) > 0 {
			c.sorted = append(c.sorted, ',')
		}
		c.sorted = append(c.sorted, c.out[m.out:m.outEnd]...)
	}
	c.out = append(c.out[:body], c.sorted...)
}

// string returns the decoded string whose quote is next; it is valid until the next call.
func (c *canon) string() []byte {
	c.pos++
	rest := c.src[c.pos:]
	n := plainLen(rest)
	if n < len(rest) && rest[n] == '"' {
		c.pos += n + 1
		return rest[:n]
	}
	for n < len(rest) && rest[n] != '"' {
		if n+1 == len(rest) {
			n++
			break
		}
		n += 2
		n += plainLen(rest[n:])
	}
	if n >= len(rest) {
		c.stop(canonBroken)
		return nil
	}
	c.pos += n + 1
	var ok bool
	if c.text, ok = appendDecoded(c.text[:0], rest[:n]); !ok {
		c.stop(canonBroken)
	}
	return c.text
}
