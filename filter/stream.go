package filter

import (
	"encoding/binary"
	"math/bits"

	"github.com/zerohop/zerohop/filter/scan"
	"github.com/zerohop/zerohop/scorers/sched"
)

// stream is one downstream request. It holds no pointer; the scanner is referred to by index.
type stream struct {
	_ [0]func() // not comparable, for the size of the module

	ctx     uint32
	serial  uint32 // tells this use of the record from earlier ones
	next    int32  // next free record
	scanner int32  // index into VM.scanners; -1 if none
	capture int32  // index into VM.captures; noCapture if none
	note    int32  // index into explainer.notes; noNote if none
	nextTry int32  // slot announced for the attempt after the current one; -1 if none
	nextGen uint32 // generation of nextTry when it was announced
	seen    int    // bytes of the body that were scanned
	block   int    // tokens per prefix block that the scan was begun with

	phase     phase
	how       destination
	api       scan.API
	reason    reason
	asked     asked
	hasBody   bool   // more than headers
	safe      bool   // a request that changes nothing, and may be sent twice
	attempts  bool   // the attempt filter has seen this stream
	responded bool   // a response came from an endpoint
	firstByte bool   // its first body byte came
	replied   bool   // a response was sent downstream
	announced bool   // nextTry is what Envoy was told
	ties      uint16 // endpoints with the best total, if asked
	decideNs  uint32

	d sched.Decision
}

// phase is how far a request has come.
type phase uint8

const (
	phaseNew     phase = iota
	phaseBody          // the body is being scanned
	phaseDecided       // an endpoint was picked, or the request was let go without one
	phaseRefused       // answered locally
)

// attemptUnknown marks a context of the attempt filter whose stream is not known.
const attemptUnknown = -1

// maxScanners bounds the bodies that are scanned at the same time; further requests are routed by load.
const maxScanners = 4096

func (v *VM) newStream(ctx uint32) int32 {
	if v.free < 0 {
		v.streams = append(v.streams, stream{next: -1})
		v.free = int32(len(v.streams) - 1)
	}
	ref := v.free
	s := &v.streams[ref]
	v.free = s.next
	v.serial++
	v.open++
	*s = stream{ctx: ctx, serial: v.serial, next: -1, scanner: -1, capture: noCapture, note: noNote, nextTry: -1}
	s.d.Cur = -1
	return ref
}

// endStream releases all that the stream holds, however it ended. The scheduler comes last, so that a panic there leaks
// no record.
func (v *VM) endStream(ref int32) {
	s := &v.streams[ref]
	v.releaseScanner(s)
	v.releaseCapture(s)
	v.releaseNote(s)
	s.serial = 0
	s.next = v.free
	v.free = ref
	v.open--
	if v.sched == nil || s.d.Cur < 0 {
		return
	}
	now := uint64(0) // needed only where the answer did not say how the endpoint is, as the headers of a stream do not
	if !s.firstByte {
		now = v.clock()
	}
	// A reply without an attempt, such as Envoy's 413, says nothing about the endpoint.
	v.sched.Done(now, &s.d, s.attempts && s.replied && !s.responded)
}

// acquireScanner gives s a scanner and reports whether there was one.
func (v *VM) acquireScanner(s *stream) bool {
	n := len(v.freeScanners)
	if n == 0 {
		if len(v.scanners) >= maxScanners {
			return false
		}
		sc := new(scan.Scanner)
		sc.Share(&v.scratch)
		v.scanners = append(v.scanners, sc)
		v.freeScanners = append(v.freeScanners, int32(len(v.scanners)-1))
		n = 1
	}
	s.scanner = v.freeScanners[n-1]
	v.freeScanners = v.freeScanners[:n-1]
	return true
}

func (v *VM) releaseScanner(s *stream) {
	if s.scanner >= 0 {
		v.freeScanners = append(v.freeScanners, s.scanner)
		s.scanner = -1
	}
}

// The pick property ends in the id of the pick: VM epoch, record and serial, as words of 32 bits in hexadecimal. It leads the
// attempt filter to its stream.
const (
	wordDigits = 8
	pickIDLen  = 4 * wordDigits
)

// appendPickID appends the id of the pick for record ref.
func (v *VM) appendPickID(b []byte, ref int32) []byte {
	for _, w := range [...]uint32{uint32(v.epoch >> 32), uint32(v.epoch), uint32(ref), v.streams[ref].serial} {
		b = append8(b, uint64(w))
	}
	return b
}

// findStream returns the record that a pick property names, or attemptUnknown if it is not of this VM or has ended.
func (v *VM) findStream(pick []byte) int32 {
	if len(pick) < pickIDLen {
		return attemptUnknown
	}
	var words [4]uint32
	for i, c := range pick[len(pick)-pickIDLen:] {
		w := &words[i/wordDigits]
		*w = *w<<4 | digit(c)
	}
	ref, serial := words[2], words[3]
	if words[0] != uint32(v.epoch>>32) || words[1] != uint32(v.epoch) || int(ref) >= len(v.streams) || serial == 0 || v.streams[ref].serial != serial {
		return attemptUnknown
	}
	return int32(ref)
}

// appendHex appends the lowest 8 or 16 digits of n.
func appendHex(b []byte, n uint64, digits int) []byte {
	if digits > 8 {
		b = append8(b, n>>32)
	}
	return append8(b, n&(1<<32-1))
}

// append8 appends n, of 32 bits, in 8 hexadecimal digits: each half byte of n gets a byte of its own, and all digits are made at
// once.
func append8(b []byte, n uint64) []byte {
	n = (n<<16 | n) & 0x0000_FFFF_0000_FFFF
	n = (n<<8 | n) & 0x00FF_00FF_00FF_00FF
	n = (n<<4 | n) & 0x0F0F_0F0F_0F0F_0F0F
	letters := (n + 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101 // 1 for a digit beyond 9
	n += 0x3030_3030_3030_3030 + letters*('a'-'0'-10)
	return binary.LittleEndian.AppendUint64(b, bits.ReverseBytes64(n))
}

// digit reads a lower-case hexadecimal digit; other bytes give a number that means nothing.
func digit(c byte) uint32 {
	if c >= 'a' {
		return uint32(c-'a'+10) & 15
	}
	return uint32(c-'0') & 15
}

// lookup returns the record that context id belongs to, and whether id is a context of the attempt filter.
func (v *VM) lookup(id uint32) (s *stream, ref int32, attempt bool) {
	ref, serial, ok := v.contexts.get(id)
	if !ok || ref == attemptUnknown {
		return nil, 0, false
	}
	if ref < 0 {
		ref, attempt = -2-ref, true
	}
	if v.streams[ref].serial != serial {
		return nil, 0, false
	}
	return &v.streams[ref], ref, attempt
}

// attemptRef is the reference that the context table keeps for an attempt of record ref.
func attemptRef(ref int32) int32 { return -2 - ref }

// contextTable maps context ids to stream records by open addressing with linear probing. References below 0 stand for
// contexts of the attempt filter: attemptUnknown, or attemptRef once the stream is known.
type contextTable struct {
	keys    []uint32 // 0 marks a free place; Envoy's context ids start at 1
	refs    []int32
	serials []uint32 // the record's serial when the reference was made, so that a reused record is noticed
	n       int
}

func (t *contextTable) init() {
	t.keys = make([]uint32, 256)
	t.refs = make([]int32, 256)
	t.serials = make([]uint32, 256)
}

func (t *contextTable) place(id uint32) int { return int(id*2654435769>>7) & (len(t.keys) - 1) }

func (t *contextTable) get(id uint32) (ref int32, serial uint32, ok bool) {
	for i := t.place(id); t.keys[i] != 0; i = (i + 1) & (len(t.keys) - 1) {
		if t.keys[i] == id {
			return t.refs[i], t.serials[i], true
		}
	}
	return 0, 0, false
}

func (t *contextTable) put(id uint32, ref int32, serial uint32) {
	if t.n*2 >= len(t.keys) {
		t.grow()
	}
	i := t.place(id)
	for t.keys[i] != 0 && t.keys[i] != id {
		i = (i + 1) & (len(t.keys) - 1)
	}
	if t.keys[i] == 0 {
		t.n++
	}
	t.keys[i], t.refs[i], t.serials[i] = id, ref, serial
}

// take removes id and returns its reference. Later entries of the run move up, so that no tombstone is left.
func (t *contextTable) take(id uint32) (int32, bool) {
	mask := len(t.keys) - 1
	i := t.place(id)
	for t.keys[i] != id {
		if t.keys[i] == 0 {
			return 0, false
		}
		i = (i + 1) & mask
	}
	ref := t.refs[i]
	t.n--
	for j := (i + 1) & mask; t.keys[j] != 0; j = (j + 1) & mask {
		if home := t.place(t.keys[j]); (j-home)&mask >= (j-i)&mask {
			t.keys[i], t.refs[i], t.serials[i] = t.keys[j], t.refs[j], t.serials[j]
			i = j
		}
	}
	t.keys[i] = 0
	return ref, true
}

func (t *contextTable) grow() {
	old := *t
	t.keys = make([]uint32, 2*len(old.keys))
	t.refs = make([]int32, 2*len(old.keys))
	t.serials = make([]uint32, 2*len(old.keys))
	t.n = 0
	for i, k := range old.keys {
		if k != 0 {
			t.put(k, old.refs[i], old.serials[i])
		}
	}
}
