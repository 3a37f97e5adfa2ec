package postlink

import "errors"

// labelKind is what a jump to a label of the written function does.
type labelKind uint8

const (
	inner    labelKind = iota // a construct within a block
	unwind                    // returns 1
	trap                      // ends the VM: a place that the runtime does not continue at
	dispatch                  // goes to the table
	place                     // goes to a block
)

type label struct {
	kind  labelKind
	block int // of a place
}

var errShape = errors.New("a jump has no label")

// writer writes a function with jumps that go where they lead.
type writer struct {
	*function
	nodes  []node
	table  []bool // blocks that the table reaches
	at     []int  // places of the blocks in the order in which they are written
	again  bool   // some jump goes by way of the table
	out    []byte
	labels []label
}

// write returns the body of a function that read has taken apart.
func (f *function) write() ([]byte, error) {
	w := &writer{function: f, at: make([]int, len(f.blocks))}
	w.nodes, w.table = f.nest()
	n := 0
	walk(w.nodes, func(k int) { w.at[k] = n; n++ })
	err := w.all()
	if errors.Is(err, errShape) && f.jumps && !w.again {
		w.again = true
		err = w.all()
	}
	return w.out, err
}

func (w *writer) all() error {
	w.out = append(make([]byte, 0, len(w.body)), w.body[:w.code[w.start].from]...)
	w.labels = w.labels[:0]
	if w.unwind {
		w.open(opBlock, label{kind: unwind})
	}
	reached, rest := 0, false
	for k := range w.table {
		if w.table[k] {
			reached++
		}
	}
	for _, k := range w.function.table {
		rest = rest || !w.table[k]
	}
	if rest = rest && reached > 1; rest {
		w.open(opBlock, label{kind: trap})
	}
	if w.again {
		w.open(opLoop, label{kind: dispatch})
	}
	if err := w.sequence(w.nodes, -1, reached > 1); err != nil {
		return err
	}
	if w.again {
		w.close()
	}
	if rest {
		w.close()
	}
	if !w.jumps {
		w.out = append(w.out, opUnreachable)
	}
	for i := w.tail; i < len(w.code); i++ {
		w.copy(i)
	}
	return nil
}

func (w *writer) copy(i int) { w.out = append(w.out, w.body[w.code[i].from:w.code[i].end]...) }

func (w *writer) open(op byte, l label) {
	w.out = append(w.out, op, noType)
	w.labels = append(w.labels, l)
}

func (w *writer) close() {
	w.out = append(w.out, opEnd)
	w.labels = w.labels[:len(w.labels)-1]
}

// branch appends an instruction that jumps to the innermost label of a kind and block, and reports whether there is one.
func (w *writer) branch(op byte, kind labelKind, block int) bool {
	depth := w.depth(kind, block)
	if depth < 0 {
		return false
	}
	w.out = appendUint(append(w.out, op), depth)
	return true
}

func (w *writer) depth(kind labelKind, block int) int {
	for i := len(w.labels) - 1; i >= 0; i-- {
		if w.labels[i] == (label{kind, block}) {
			return len(w.labels) - 1 - i
		}
	}
	return -1
}

// sequence writes nodes one after the other, each that is jumped to from those before it behind the end of a construct. next is
// the block behind them, -1 if there is none. withTable says that they are all nodes and that a table comes first.
func (w *writer) sequence(nodes []node, next int, withTable bool) error {
	wanted := w.wanted(nodes)
	for j := len(nodes) - 1; j >= 0; j-- {
		entry := nodes[j].entry()
		if wanted[j] = wanted[j] || withTable && w.table[entry]; wanted[j] {
			w.open(opBlock, label{place, entry})
		}
	}
	if withTable {
		if err := w.tableJump(); err != nil {
			return err
		}
	}
	for j := range nodes {
		if wanted[j] {
			w.close()
		}
		follows := next
		if j+1 < len(nodes) {
			follows = nodes[j+1].entry()
		}
		if err := w.node(&nodes[j], follows); err != nil {
			return err
		}
	}
	return nil
}

// wanted says which nodes are jumped to by those before them.
func (w *writer) wanted(nodes []node) []bool {
	wanted, entry := make([]bool, len(nodes)), make(map[int]int, len(nodes))
	for j := range nodes {
		entry[nodes[j].entry()] = j
	}
	for i := range nodes {
		walk(nodes[i:i+1], func(k int) {
			w.leave(k, func(to int) {
				if j, ok := entry[to]; ok && j > i {
					wanted[j] = true
				}
			})
		})
	}
	return wanted
}

// leave calls do for the blocks that block k has to jump to.
func (w *writer) leave(k int, do func(to int)) {
	b := &w.blocks[k]
	for _, to := range b.to {
		do(to)
	}
	if to, ok := w.falls(k); ok && w.at[to] != w.at[k]+1 {
		do(to)
	}
}

// falls returns the block that follows block k without a jump.
func (w *writer) falls(k int) (to int, ok bool) {
	return k + 1, w.blocks[k].falls && k+1 < len(w.blocks)
}

// tableJump writes the table.
func (w *writer) tableJump() error {
	// Nearly every call begins at the first place. It needs no look at the table, whose line of memory would be one more.
	w.out = append(w.out, opLocalGet, 0, opI32Eqz)
	w.branch(opBrIf, place, 0)
	w.out = append(w.out, opLocalGet, 0, opBrTable)
	w.out = appendUint(w.out, len(w.function.table)-1)
	for _, k := range w.function.table {
		l := label{kind: trap}
		if w.table[k] {
			l = label{place, k}
		}
		depth := w.depth(l.kind, l.block)
		if depth < 0 {
			return errShape
		}
		w.out = appendUint(w.out, depth)
	}
	return nil
}

func (w *writer) node(n *node, next int) error {
	if n.loop == nil {
		return w.block(n.block, next)
	}
	w.open(opLoop, label{place, n.entry()})
	if err := w.sequence(n.loop, next, false); err != nil {
		return err
	}
	w.close()
	return nil
}

// block writes a block, and a jump to the block behind it if another one comes next.
func (w *writer) block(k, next int) error {
	b := &w.blocks[k]
	outside := len(w.labels)
	for i := b.first; i < b.end; i++ {
		n, err := w.instr(i, b.end, len(w.labels)-outside)
		if err != nil {
			return err
		}
		i += n - 1
	}
	switch to, falls := w.falls(k); {
	case falls && to != next:
		if !w.branch(opBr, place, to) {
			return errShape
		}
	case b.falls && !falls:
		w.out = append(w.out, opUnreachable)
	}
	return nil
}

// instr writes the instruction at i of a block and returns how many were dealt with.
func (w *writer) instr(i, end, nested int) (int, error) {
	switch c := &w.code[i]; c.op {
	case opIf:
		// A jump on a condition is one instruction, but for those by way of the table.
		if i+1+jump < end && w.isJump(i+1, nested+1) && w.code[i+1+jump].op == opEnd && w.branch(opBrIf, place, w.target(i+jump)) {
			return jump + 2, nil
		}
		w.labels = append(w.labels, label{})
	case opBlock, opLoop:
		w.labels = append(w.labels, label{})
	case opEnd:
		w.close()
		return 1, nil
	case opI32Const:
		if i+jump <= end && w.isJump(i, nested) {
			return jump, w.jump(i)
		}
	case opCall:
		if n := w.noReturnCall(i, end, nested); n > 0 {
			w.copy(i)
			w.out = append(w.out, opReturn)
			return n, nil
		}
	case opBrIf:
		if int(c.arg) >= nested {
			w.branch(opBrIf, unwind, 0)
			return 1, nil
		}
	}
	if n := w.shorten(i, end); n > 0 {
		return n, nil
	}
	w.copy(i)
	return 1, nil
}

// isJump reports whether a jump of the program begins at i.
func (w *writer) isJump(i, nested int) bool {
	br := &w.code[i+jump-1]
	return br.op == opBr && int(br.arg) >= nested && w.target(i+jump-1) >= 0
}

// jump writes the jump of the program at i.
func (w *writer) jump(i int) error {
	to := w.target(i + jump - 1)
	if w.branch(opBr, place, to) {
		return nil
	}
	if !w.table[to] || w.depth(dispatch, 0) < 0 {
		return errShape
	}
	w.copy(i)
	w.copy(i + 1)
	w.branch(opBr, dispatch, 0)
	return nil
}

// noReturnCall returns the number of instructions of a call that does not return, up to the jump behind it; 0 if it is another one.
func (w *writer) noReturnCall(i, end, nested int) int {
	if !w.noReturn[w.code[i].arg] {
		return 0
	}
	for k := i + 1; k < end; k++ {
		switch c := &w.code[k]; c.op {
		case opGlobalGet, opLocalSet:
		case opBrIf:
			if int(c.arg) < nested || !w.behindNoReturn(k) {
				return 0
			}
			return k + 1 - i
		default:
			return 0
		}
	}
	return 0
}
