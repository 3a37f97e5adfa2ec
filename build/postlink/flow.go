package postlink

import "slices"

// function is a function as Go's compiler writes it: a table jumps to one of many places, named by the first parameter, and every
// jump of the program sets that parameter and goes back to the table. What it looks like, with n+1 places:
//
//	[global.get; local.set]             of the stack pointer
//	[block]                             the end of which returns 1, for calls whose callee gives up the stack
//	[loop]
//	block … block                       n+1 of them
//	local.get 0
//	br_table place … place n
//	end   code 0                        place 0
//	end   code 1                        place 1
//	…
//	end   code n                        place n
//	[end]                               of the loop
//	unreachable
//	[end i32.const 1]
//	end
//
// A jump to place k is: i32.const number; local.set 0; br to the loop. The table translates numbers to places.
type function struct {
	deferReturn uint32          // the function that a recovered panic returns to the call of
	noReturn    map[uint32]bool // functions that do not return

	body   []byte
	code   []instr
	unwind bool  // there is the outer block
	jumps  bool  // there is the loop
	table  []int // places by number; the last one is for all others
	blocks []block
	start  int // first instruction behind what is done at every entry
	tail   int // first instruction behind the last block, and behind the end of the loop
}

// block is the code of one place.
type block struct {
	first, end int   // instructions
	to         []int // blocks that it may jump to
	falls      bool  // it may end without a jump
	resumed    bool  // the runtime may continue there: it begins the function, comes after a call that may return, or calls deferreturn
}

// jump is the number of instructions of a jump of the program.
const jump = 3

// read takes a function apart. It reports false for one of another form, such as those written in assembly language.
func (f *function) read() bool {
	labels := f.head()
	if labels == 0 {
		return false
	}
	f.blocks = append(f.blocks[:0], block{first: f.tail, resumed: true})
	nested := 0
	for i := f.tail; i < len(f.code); i++ {
		b := &f.blocks[len(f.blocks)-1]
		left := labels - len(f.blocks) // blocks that are still open
		switch c := &f.code[i]; c.op {
		case opBlock, opLoop, opIf:
			nested++
		case opEnd:
			if nested > 0 {
				nested--
				continue
			}
			b.end = i
			b.falls = !f.leaves(b)
			if left == 0 {
				return f.foot(i)
			}
			f.blocks = append(f.blocks, block{first: i + 1, resumed: i > 0 && f.code[i-1].op == opBrIf && !f.behindNoReturn(i-1)})
		case opBr:
			if int(c.arg) < nested {
				continue
			}
			place := f.target(i)
			if !f.jumps || int(c.arg) != nested+left || place < 0 {
				return false
			}
			b.to = append(b.to, place)
		case opBrIf:
			if int(c.arg) >= nested && !f.unwinds(c, nested, left) {
				return false
			}
		case opBrTable:
			return false
		case opCall:
			if c.arg == f.deferReturn {
				b.resumed = true // a recovered panic continues at this call
			}
		}
	}
	return false
}

// unwinds reports whether a conditional jump, in nested constructs and with left places still to come, ends the function.
func (f *function) unwinds(c *instr, nested, left int) bool {
	depth := nested + left
	if f.jumps {
		depth++
	}
	return f.unwind && int(c.arg) == depth
}

// head reads what comes before place 0 and returns the number of places, or 0 if it is not as expected.
func (f *function) head() int {
	i, blocks := 0, 0
	f.unwind, f.jumps = false, false
	for i+1 < len(f.code) && f.code[i].op == opGlobalGet && f.code[i+1].op == opLocalSet && f.code[i+1].arg != 0 {
		i += 2
	}
	f.start = i
	for ; f.code[i].arg == noType && (f.code[i].op == opBlock || f.code[i].op == opLoop); i++ {
		if f.code[i].op == opLoop {
			if f.jumps || blocks > 1 {
				return 0
			}
			f.jumps, f.unwind = true, blocks == 1
			blocks = 0
			continue
		}
		blocks++
	}
	if i+2 >= len(f.code) || f.code[i].op != opLocalGet || f.code[i].arg != 0 || f.code[i+1].op != opBrTable || f.code[i+2].op != opEnd {
		return 0
	}
	f.readTable(&f.code[i+1])
	labels := f.table[len(f.table)-1] + 1
	switch {
	case slices.Max(f.table) >= labels, f.table[0] != 0: // tableJump takes 0 for the begin
		return 0
	case blocks == labels:
	case blocks == labels+1 && !f.jumps:
		f.unwind = true
	default:
		return 0
	}
	f.tail = i + 3
	return labels
}

func (f *function) readTable(c *instr) {
	r := &reader{b: f.body[c.from+1 : c.end]}
	f.table = f.table[:0]
	for n := r.count() + 1; n > 0; n-- {
		f.table = append(f.table, int(r.uint()))
	}
}

// foot reads what comes behind the last block, from the end at i on, and reports whether it is as expected.
func (f *function) foot(i int) bool {
	if f.jumps {
		i++
	}
	f.tail = i
	var want []byte
	if f.jumps {
		want = append(want, opUnreachable)
	}
	if f.unwind {
		want = append(want, opEnd, opI32Const)
	}
	want = append(want, opEnd)
	if len(f.code)-i != len(want) {
		return false
	}
	for k, op := range want {
		if f.code[i+k].op != op {
			return false
		}
	}
	return true
}

// target returns the place that the jump of the program with the br at i goes to, or -1 if it is no such jump.
func (f *function) target(i int) int {
	if i < jump-1 || f.code[i-1].op != opLocalSet || f.code[i-1].arg != 0 || f.code[i-2].op != opI32Const {
		return -1
	}
	return f.table[min(int(f.code[i-2].arg), len(f.table)-1)]
}

// leaves reports whether a block ends in a jump, a return, a trap or a call that does not return.
func (f *function) leaves(b *block) bool {
	if b.end == b.first {
		return false
	}
	switch f.code[b.end-1].op {
	case opBr, opReturn, opUnreachable:
		return true
	case opBrIf:
		return f.behindNoReturn(b.end - 1)
	}
	return false
}

// behindNoReturn reports whether the conditional jump at i comes after a call that does not return.
func (f *function) behindNoReturn(i int) bool {
	for i--; i > 1 && f.code[i].op == opLocalSet && f.code[i-1].op == opGlobalGet; i -= 2 {
	}
	return i >= 0 && f.code[i].op == opCall && f.noReturn[f.code[i].arg]
}
