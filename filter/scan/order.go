package scan

// insertionMax is the most members that are sorted by insertion.
const insertionMax = 12

// order sorts members by key, those of one key as they stand in the body. It is a heap sort, which never takes more than
// n log n steps and, unlike the one of package slices, some hundred bytes of code.
func (c *canon) order(ms []member) {
	if len(ms) <= insertionMax {
		for i := 1; i < len(ms); i++ {
			m, j := ms[i], i
			for ; j > 0 && c.before(m, ms[j-1]); j-- {
				ms[j] = ms[j-1]
			}
			ms[j] = m
		}
		return
	}
	for i := len(ms)/2 - 1; i >= 0; i-- {
		c.sift(ms, i)
	}
	for n := len(ms) - 1; n > 0; n-- {
		ms[0], ms[n] = ms[n], ms[0]
		c.sift(ms[:n], 0)
	}
}

// sift moves member i down the heap ms until no child is behind it in order.
func (c *canon) sift(ms []member, i int) {
	for {
		child := 2*i + 1
		if child >= len(ms) {
			return
		}
		if child+1 < len(ms) && c.before(ms[child], ms[child+1]) {
			child++
		}
		if !c.before(ms[i], ms[child]) {
			return
		}
		ms[i], ms[child] = ms[child], ms[i]
		i = child
	}
}

// before reports whether a stands before b in order.
func (c *canon) before(a, b member) bool {
	if d := c.compare(a, b); d != 0 {
		return d < 0
	}
	return a.out < b.out
}
