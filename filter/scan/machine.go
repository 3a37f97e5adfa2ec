package scan

// state is what a machine expects next.
type state uint8

const (
	wantObject    state = iota // the outermost object
	wantKeyOrEnd               // behind '{'
	wantKey                    // behind a comma in an object
	wantColon                  // behind a key
	wantValue                  // behind a colon, or a comma in an array
	wantElemOrEnd              // behind '['
	wantNext                   // behind a value: a comma or the end of the container
	inString                   // inside a string, its bytes go to the sink
	inScalar                   // inside a number or literal
	inTokens                   // inside a list of token ids
	inSkipped                  // inside a string, object or array that is of no interest
	done                       // behind the value
)

// container is where in the body a machine stands. Everything that is not listed is skipped, so there is no stack.
type container uint8

const (
	inBody     container = iota // {
	inMessages                  // {"messages":[
	inMessage                   // {"messages":[{
	inContent                   // {"messages":[{"content":[
	inPart                      // {"messages":[{"content":[{
	inPrompt                    // {"prompt":[
)

// depthOf is the nesting depth inside each container.
var depthOf = [...]int{inBody: 1, inMessages: 2, inMessage: 3, inContent: 4, inPart: 5, inPrompt: 2}

// isArray says which containers hold elements instead of members.
var isArray = [...]bool{inMessages: true, inContent: true, inPrompt: true}

// sink is where the bytes of a string go.
type sink uint8

const (
	sinkNone   sink = iota // skipped undecoded
	sinkKey                // small; the string is a key
	sinkSmall              // small
	sinkPrompt             // the block hasher
	sinkModel
	sinkSalt
)

// kind is the type of a value.
type kind uint8

const (
	kindNone kind = iota // absent
	kindString
	kindNumber
	kindTrue
	kindFalse
	kindNull
	kindObject
	kindArray
)

// kindOf maps the first byte of a value to its type.
var kindOf = [256]kind{
	'"': kindString, '{': kindObject, '[': kindArray, 't': kindTrue, 'f': kindFalse, 'n': kindNull, '-': kindNumber,
	'0': kindNumber, '1': kindNumber, '2': kindNumber, '3': kindNumber, '4': kindNumber,
	'5': kindNumber, '6': kindNumber, '7': kindNumber, '8': kindNumber, '9': kindNumber,
}

// value is where in the body the last value of a key stands.
type value struct {
	_ [0]func() // not comparable, for the size of the module

	start, end int
	kind       kind
}

// machine is the state of one pass over a part of the body. It holds no pointer and can stop at any byte.
type machine struct {
	_ [0]func() // not comparable: nobody does, and the code for it would be 6 KB

	off   int // offset in the body of the next byte
	state state
	ctx   container
	level uint8 // index of this machine in Scanner.level

	// A machine with single set reads one value only, that of key cur in container home. It was put off before and is
	// taken now.
	single bool
	home   container
	// A careful machine puts off every value until the end of its object, so that the last of equal keys counts.
	careful bool

	cur    key  // key whose value is next or being read
	kind   kind // type of the value being read
	sink   sink
	escape uint8  // place within an escape, see strings.go
	unit   uint32 // UTF-16 unit being read
	high   uint32 // high surrogate that waits for its partner, or 0

	depth  int  // nesting depth while skipping
	quoted bool // inside a string while skipping

	small    [24]byte // key, part type or literal; a longer one has smallLen len(small)+1
	smallLen int
	num      uint64 // value of the number being read, at most maxNum
	integer  bool   // the number has only digits so far
	tokens   bool   // the prompt list holds token ids
	text     bool   // the type of the part is "text"

	val [keyCount]value // last value of each key of the open objects
}

// run feeds b to m until its end, or until b is not valid any more because the window was replaced.
func (s *Scanner) run(m *machine, b []byte) {
	gen, i := s.gen, 0
	for i < len(b) && s.gen == gen && s.result == OK {
		switch m.state {
		case inString:
			i = s.stringBytes(m, b, i)
		case inScalar:
			i = s.scalarBytes(m, b, i)
		case inTokens:
			i = s.tokenBytes(m, b, i)
		case inSkipped:
			i = s.skippedBytes(m, b, i)
		default:
			switch c := b[i]; {
			case isSpace(c):
				i++
			case c == '"' && (m.state == wantKey || m.state == wantKeyOrEnd):
				i = s.member(m, b, i)
			default:
				s.structure(m, c, m.off+i)
				i++
			}
		}
	}
	m.off += i
}

// isSpace reports whether c is white space between tokens.
func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

// structure takes the byte c at offset at, which is outside strings, scalars and skipped values.
func (s *Scanner) structure(m *machine, c byte, at int) {
	switch st := m.state; {
	case st == wantObject && c == '{':
		m.state = wantKeyOrEnd
	case st == wantColon && c == ':':
		m.state = wantValue
	case st == wantNext && c == ',':
		m.state = wantKey
		if isArray[m.ctx] {
			m.state = wantValue
		}
	case (st == wantNext || st == wantElemOrEnd) && c == ']' && isArray[m.ctx],
		(st == wantNext || st == wantKeyOrEnd) && c == '}' && !isArray[m.ctx]:
		s.leave(m, at+1)
	case (st == wantValue || st == wantElemOrEnd) && kindOf[c] != kindNone:
		s.startValue(m, c, at)
	default:
		s.fail(NotJSON)
	}
}

// member takes the key whose quote is b[i], with the colon and the first byte of the value if they follow, and returns the index
// behind. That is how nearly all keys stand in a body; one with an escape, or that ends behind b, is read as other strings are.
func (s *Scanner) member(m *machine, b []byte, i int) int {
	i++
	end := i + shortLen(b[i:])
	if end == len(b) || b[end] != '"' {
		m.state, m.sink, m.smallLen = inString, sinkKey, 0
		return i
	}
	m.cur, m.state = s.lookup(m.ctx, b[i:end]), wantColon
	i = end + 1
	if i == len(b) || b[i] != ':' {
		return i
	}
	m.state = wantValue
	i++
	if i < len(b) && b[i] == ' ' {
		i++
	}
	if i == len(b) || kindOf[b[i]] == kindNone {
		return i
	}
	s.startValue(m, b[i], m.off+i)
	return i + 1
}

// startValue begins the value whose first byte, at offset at, is c.
func (s *Scanner) startValue(m *machine, c byte, at int) {
	m.kind = kindOf[c]
	to, into := s.route(m, at)
	switch m.kind {
	case kindString:
		m.state, m.sink, m.smallLen = inString, to, 0
		if to == sinkNone {
			m.state, m.quoted, m.depth = inSkipped, true, depthOf[m.ctx]
		}
	case kindObject, kindArray:
		if into == m.ctx {
			m.state, m.quoted, m.depth = inSkipped, false, depthOf[m.ctx]+1
			return
		}
		m.ctx, m.state = into, wantKeyOrEnd
		if m.kind == kindArray {
			m.state = wantElemOrEnd
		}
	case kindNumber:
		m.state, m.integer, m.num = inScalar, c != '-', uint64(c&0xf)
		if m.tokens && m.integer {
			m.state = inTokens
		}
	default:
		m.state, m.smallLen = inScalar, 1
		m.small[0] = c
	}
}

// endValue takes the end of a value; end is the offset behind it.
func (s *Scanner) endValue(m *machine, end int) {
	m.state = wantNext
	if m.single && m.ctx == m.home {
		m.state = done
		return
	}
	if isArray[m.ctx] {
		s.endElem(m)
		return
	}
	if m.cur != keyOther {
		m.val[m.cur].end = end
		s.endMember(m)
	}
}
