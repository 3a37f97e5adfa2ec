package postlink

// rule is a run of instructions that does the same as a shorter one.
type rule struct {
	ops   []byte
	apply func(w *writer, i int) bool // writes the shorter one, or reports that this run is another
}

// Pointers are numbers of 64 bits to Go and of 32 bits to Wasm, and the compiler writes what is between them anew each time.
var rules = []rule{
	{[]byte{opLocalSet, opLocalGet}, func(w *writer, i int) bool {
		if w.code[i].arg != w.code[i+1].arg {
			return false
		}
		w.as(opLocalTee, i)
		return true
	}},
	{[]byte{opI64ExtendU, opI64Const, opI64Add, opI32Wrap}, func(w *writer, i int) bool { // an address on the stack
		if c := &w.code[i+1]; c.end-c.from > 4 || w.body[c.end-1]&0x40 != 0 {
			return false // a negative or large number
		}
		w.as(opI32Const, i+1)
		w.out = append(w.out, opI32Add)
		return true
	}},
	{[]byte{opI64Load, opI32Wrap}, func(w *writer, i int) bool { // a pointer
		c := &w.code[i]
		if w.body[c.from+1] > maxAlignI64 {
			return false
		}
		w.out = append(w.out, opLoad, min(w.body[c.from+1], maxAlignI32))
		w.out = append(w.out, w.body[c.from+2:c.end]...)
		return true
	}},
	{[]byte{opI64ExtendU, opI64Eqz}, func(w *writer, _ int) bool { // a condition
		w.out = append(w.out, opI32Eqz)
		return true
	}},
	{[]byte{opI64ExtendU, opI32Wrap}, func(*writer, int) bool { return true }},
}

// The largest alignments, as powers of two, that loads may claim.
const (
	maxAlignI32 = 2
	maxAlignI64 = 3
)

// shorten writes a shorter form of the instructions at i of a block that ends at end, and returns how many these were; 0 if none
// is known.
func (w *writer) shorten(i, end int) int {
	for r := range rules {
		ops := rules[r].ops
		if w.code[i].op != ops[0] || i+len(ops) > end || !w.has(i, ops) {
			continue
		}
		if rules[r].apply(w, i) {
			return len(ops)
		}
	}
	return 0
}

func (w *writer) has(i int, ops []byte) bool {
	for k, op := range ops {
		if w.code[i+k].op != op {
			return false
		}
	}
	return true
}

// as writes the instruction at i with another opcode.
func (w *writer) as(op byte, i int) {
	w.out = append(append(w.out, op), w.body[w.code[i].from+1:w.code[i].end]...)
}
