package filter

// The garbage collector is off: it starves in a module whose exports never block. Nothing is allocated per request, so what
// garbage there is comes from growth and from new configurations; it is collected by an explicit, bounded pause.
const (
	heapSlack  = 8 << 20 // collect when the heap has grown by this much since the last collection
	checkTicks = 10      // ticks between looks at the heap
	checkPicks = 1 << 14 // picks between looks, should ticks be late
)

// heapGuard decides when to collect.
type heapGuard struct {
	base  uint64 // heap after the last collection
	ticks int
	picks int
}

// check collects if the heap has grown enough. It is called by every tick.
func (g *heapGuard) check(h Host) {
	if g.ticks++; g.ticks < checkTicks {
		return
	}
	g.ticks, g.picks = 0, 0
	if h.HeapBytes() > g.base+heapSlack {
		g.collect(h)
	}
}

// request counts a pick and looks at the heap after many.
func (g *heapGuard) request(h Host) {
	if g.picks++; g.picks >= checkPicks {
		g.ticks = checkTicks
		g.check(h)
	}
}

func (g *heapGuard) collect(h Host) {
	h.Collect()
	g.base = h.HeapBytes()
}
