package postlink

import "slices"

// node is a block, or a loop of nodes that is entered by the first of them.
type node struct {
	block int
	loop  []node // nil for a block
}

// entry returns the block that a node begins with.
func (n *node) entry() int {
	for n.loop != nil {
		n = &n.loop[0]
	}
	return n.block
}

// nest makes loops of the blocks of a function whose loops allow that: entered at one place, and with nothing in them that the
// runtime may continue at. For the others the table stays, and table[k] says that block k is reached by it.
func (f *function) nest() (nodes []node, table []bool) {
	nodes = make([]node, len(f.blocks))
	table = make([]bool, len(f.blocks))
	for k := range f.blocks {
		nodes[k], table[k] = node{block: k}, f.blocks[k].resumed
	}
	for {
		at := f.places(nodes)
		first, last, ok := f.backEdge(nodes, at, table)
		if !ok {
			return nodes, table
		}
		enter, ok := f.enters(nodes, at, table, first, last)
		if !ok {
			table[nodes[first].entry()] = true
			continue
		}
		// The compiler puts the condition of a loop behind its body and enters there; here it comes first.
		loop := slices.Concat(nodes[enter:last+1], nodes[first:enter])
		nodes = slices.Replace(nodes, first, last+1, node{loop: loop})
	}
}

// places returns for each block the index of the node that it is in.
func (f *function) places(nodes []node) []int {
	at := make([]int, len(f.blocks))
	for i := range nodes {
		walk(nodes[i:i+1], func(k int) { at[k] = i })
	}
	return at
}

// walk calls do for the blocks of nodes in order.
func walk(nodes []node, do func(block int)) {
	for i := range nodes {
		if nodes[i].loop == nil {
			do(nodes[i].block)
			continue
		}
		walk(nodes[i].loop, do)
	}
}

// successors calls do for the blocks that may follow block k.
func (f *function) successors(k int, do func(to int)) {
	b := &f.blocks[k]
	for _, to := range b.to {
		do(to)
	}
	if b.falls && k+1 < len(f.blocks) {
		do(k + 1)
	}
}

// backEdge returns the shortest run of nodes whose last one jumps back to its first one, whichever jumps from furthest.
func (f *function) backEdge(nodes []node, at []int, table []bool) (first, last int, ok bool) {
	furthest := make([]int, len(nodes))
	for i := range furthest {
		furthest[i] = -1
	}
	for i := range nodes {
		walk(nodes[i:i+1], func(k int) {
			f.successors(k, func(to int) {
				if j := at[to]; (j < i || j == i && nodes[i].loop == nil) && !table[nodes[j].entry()] {
					furthest[j] = i
				}
			})
		})
	}
	for j, i := range furthest {
		if i >= 0 && (!ok || i-j < last-first) {
			first, last, ok = j, i, true
		}
	}
	return first, last, ok
}

// enters returns the only node of those from first to last that others jump to; false if there are several, or if the table
// reaches one.
func (f *function) enters(nodes []node, at []int, table []bool, first, last int) (enter int, ok bool) {
	enter, ok = -1, true
	walk(nodes[first:last+1], func(k int) { ok = ok && !table[k] })
	for i := range nodes {
		if i >= first && i <= last {
			continue
		}
		walk(nodes[i:i+1], func(k int) {
			f.successors(k, func(to int) {
				j := at[to]
				switch {
				case j < first || j > last:
				case nodes[j].entry() != to, enter >= 0 && enter != j:
					ok = false
				default:
					enter = j
				}
			})
		})
	}
	return max(enter, first), ok
}
