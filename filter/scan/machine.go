package scan

import (
	"math/bits"
	"unsafe"

	"github.com/zerohop/zerohop/shared/word"
)

// state is what a machine expects next. The last ones are no states but what run has to do.
type state uint8

const (
	broken        state = iota // no state: a byte that means nothing here, or that is inside of something
	wantObject                 // the outermost object
	wantKeyOrEnd               // behind '{'
	wantKey                    // behind a comma in an object
	wantColon                  // behind a key
	wantValue                  // behind a colon, or a comma in an array
	wantElemOrEnd              // behind '['
	wantComma                  // behind a member: a comma or the end of the object
	wantNext                   // behind an element: a comma or the end of the array
	done                       // behind the value
	inString                   // inside a string, its bytes go to the sink
	inScalar                   // inside a number or literal
	inSkipped                  // inside a string, object or array that is of no interest
	inTokens                   // inside a list of token ids
	takeKey
	takeValue
	takeEnd
)

// container is where in the body a machine stands. Everything that is not listed is skipped, so there is no stack. From
// inMessages on they hold elements instead of members.
type container uint8

const (
	nowhere    container = iota
	inBody               // {
	inMessage            // {"messages":[{
	inPart               // {"messages":[{"content":[{
	inMessages           // {"messages":[
	inContent            // {"messages":[{"content":[
	inPrompt             // {"prompt":[
)

// depthOf is the nesting depth inside each container.
var depthOf = [8]int{inBody: 1, inMessages: 2, inMessage: 3, inContent: 4, inPart: 5, inPrompt: 2}

// sink is where the bytes of a string go.
type sink uint8

const (
	sinkNone   sink = iota // skipped undecoded
	sinkSmall              // a key or part type
	sinkPrompt             // the block hasher
	sinkModel
	sinkSalt
)

// kind is the type of a value, or that of a byte between values.
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
	kindColon
	kindSpace // from here on bytes that end a number or literal
	kindComma
	kindEndObject
	kindEndArray
)

// kindOf maps the first byte of a value, or a byte between values, to its type.
var kindOf = [256]kind{
	'"': kindString, '{': kindObject, '[': kindArray, 't': kindTrue, 'f': kindFalse, 'n': kindNull, '-': kindNumber,
	'0': kindNumber, '1': kindNumber, '2': kindNumber, '3': kindNumber, '4': kindNumber,
	'5': kindNumber, '6': kindNumber, '7': kindNumber, '8': kindNumber, '9': kindNumber,
	' ': kindSpace, '\n': kindSpace, '\r': kindSpace, '\t': kindSpace,
	':': kindColon, ',': kindComma, '}': kindEndObject, ']': kindEndArray,
}

// steps says what a byte does in a state outside of strings, scalars and skipped values.
var steps = [16][16]state{
	wantObject:   {kindSpace: wantObject, kindObject: wantKeyOrEnd},
	wantKeyOrEnd: {kindSpace: wantKeyOrEnd, kindString: takeKey, kindEndObject: takeEnd},
	wantKey:      {kindSpace: wantKey, kindString: takeKey},
	wantColon:    {kindSpace: wantColon, kindColon: wantValue},
	wantValue: {
		kindSpace: wantValue, kindString: takeValue, kindNumber: takeValue, kindTrue: takeValue, kindFalse: takeValue,
		kindNull: takeValue, kindObject: takeValue, kindArray: takeValue,
	},
	wantElemOrEnd: {
		kindSpace: wantElemOrEnd, kindString: takeValue, kindNumber: takeValue, kindTrue: takeValue, kindFalse: takeValue,
		kindNull: takeValue, kindObject: takeValue, kindArray: takeValue, kindEndArray: takeEnd,
	},
	wantComma: {kindSpace: wantComma, kindComma: wantKey, kindEndObject: takeEnd},
	wantNext:  {kindSpace: wantNext, kindComma: wantValue, kindEndArray: takeEnd},
	done:      {kindSpace: done},
}

// value is where in the body the last value of a key stands.
type value struct {
	_ [0]func() // not comparable, for the size of the module

	start, end int    // end is 0 until the value has ended
	count      uint64 // one more than it is, if it is a non-negative integer
	kind       kind
}

// machine is the state of one pass over a part of the body. It holds no pointer and can stop at any byte.
type machine struct {
	_ [0]func() // not comparable: nobody does, and the code for it would be 6 KB

	off   int // offset in the body of the next byte
	state state
	ctx   container
	level uint8 // index of this machine in Scanner.level

	// A machine with a home reads one value only, that of key cur in container home. It was put off before and is taken now.
	home container
	// A careful machine puts off every value until the end of its object, so that the last of equal keys counts.
	careful bool

	cur  key    // key whose value is next or being read
	open uint16 // by key, a bit: the value is taken as it comes, without ado
	// What is open in a message at first: the role, in a careful machine nothing.
	openMessage uint16
	kind        kind // type of the value being read
	sink        sink
	escape      uint8 // place within an escape, see strings.go
	quoted      bool  // inside a string while skipping
	tokens      bool  // the prompt list holds token ids
	text        bool  // the type of the part is "text"

	integer bool   // the number has only digits so far
	num     uint64 // value of the number being read, at most maxNum; or the first bytes of a literal
	unit    uint32 // UTF-16 unit being read
	high    uint32 // high surrogate that waits for its partner, or 0
	depth   int    // nesting depth while skipping

	val [16]value // last value of each key of the open objects

	small    [maxSmall + 8]byte // key or part type, room behind; a longer one has smallLen maxSmall+1
	smallLen int
}

// run feeds b to m until its end, or until b is not valid any more because the window was replaced.
func (s *Scanner) run(m *machine, b []byte) {
	gen, i, p := s.gen, 0, unsafe.Pointer(unsafe.SliceData(b))
	for uint(i) < uint(len(b)) && s.gen == gen && s.result == OK {
		if m.state == inString {
			end, c := i, byte('\\')
			if m.escape == escapeNone {
				end, c = plainEnd(p, i, min(len(b), i+stretch)), 0
				if end < len(b) {
					c = *(*byte)(unsafe.Add(p, end))
				}
			}
			if c == '\\' && end-i < straight {
				i = s.escaped(m, b, i, end)
				continue
			}
			s.emit(m, word.Bytes(p, i, end-i)) // i < len(b)
			i = end
			if c == '"' {
				i++
				s.endValue(m, m.off+i)
			}
			continue
		}
		c := b[i]
		switch next := steps[m.state&15][kindOf[c]&15]; next {
		case takeKey:
			i = s.member(m, b, i+1)
		case takeValue:
			s.startValue(m, c, m.off+i)
			i++
		case takeEnd:
			i++
			s.leave(m, m.off+i)
		case broken:
			if m.state == inScalar {
				i = s.scalarBytes(m, b, i)
			} else {
				i = s.skippedBytes(m, b, i)
			}
		default:
			m.state = next
			i++
		}
	}
	m.off += i
}

// member takes the key that begins at b[i], behind its quote, and returns the index behind. One with an escape, or that is not
// wholly in b, or close to its end, is read as a value of keyName.
func (s *Scanner) member(m *machine, b []byte, i int) int {
	m.state, m.cur, m.sink, m.smallLen = inString, keyName, sinkSmall, 0
	if i+8 > len(b) {
		return i
	}
	p := unsafe.Pointer(unsafe.SliceData(b))
	w, end := word.Load(p, i), 0 // ends at i+8 <= len(b)
	if found := specials(w); found != 0 {
		w &= found ^ (found - 1) // up to the quote
		end = i + bits.TrailingZeros64(found)>>3
	} else if end = plainEnd(p, i+8, len(b)); end == len(b) {
		return i
	}
	if *(*byte)(unsafe.Add(p, end)) != '"' { // end < len(b)
		return i
	}
	k, n := keyRole, end-i
	for k < keyName && words[k&15] != w {
		k++
	}
	if homes[s.api&1][k&15] != m.ctx || (n >= 8 && (n != int(lengths[k&15]) || word.Load(p, end-7) != tails[k&15] ||
		(k == keyMaxCompletion && word.Load(p, i+8) != midMaxCompletion))) {
		k = keyOther
	}
	m.cur, m.state = k, wantColon
	return end + 1
}
