package scorers

// An instance that implements one of these hooks gets its calls. They are found once, when a plan is compiled.

// SlotWatcher follows what lives in the slots. Sizes are by slot; slots never shrink.
type SlotWatcher interface {
	// Grow says how many slots there are. Each of them is free unless Facts says otherwise.
	Grow(slots int)
	// Facts tells that a new endpoint is in slot, or that what is known about the one in it changed. f is valid during the call.
	Facts(slot int32, f *Facts)
	// Forget tells that the endpoint in slot is gone. The slot may be given to another.
	Forget(slot int32)
}

// Constant is a ProfileHandler that chooses the same profile for every request. Profile is asked once, with a nil Cycle.
type Constant interface {
	ProfileHandler
	Constant()
}

// PickWatcher learns of each pick, in the cycle that decided it, with the slot and its generation. It is not called for a
// cycle that is Dry. One whose state is worth sharing is a Sharer, too.
type PickWatcher interface {
	Picked(c *Cycle, slot int32, gen uint32)
}

// Event is what one pick changes in the state of a plugin.
type Event struct {
	Key  uint64 // what the event is about, such as the hash of a session
	At   uint64 // monotonic ns
	Slot int32
	Gen  uint32 // generation of the slot
}

// Sharer is a PickWatcher whose state the workers share. Events that are applied in another order, or more than once, give the
// same state, as long as each has a time of its own.
type Sharer interface {
	PickWatcher
	// TakeEvent returns what the Picked call before changed; false if it changed nothing.
	TakeEvent() (Event, bool)
	// Apply applies the event of another worker, or one that another worker's Event gave.
	Apply(e Event)
	// Events is the number of places that Event can be asked for, and Event what makes up the state at place i; false for a
	// place that is free, or whose endpoint is gone.
	Events() int
	Event(i int) (Event, bool)
}

// Server learns which endpoint answers, when the response headers arrive, and may add headers to the response.
type Server interface {
	Served(e *Endpoints, slot int32, name []byte, out *HeaderSink)
}

// Keeper takes over the state of the instance with the same name and type of the plan before. It is called after every
// instance of the new plan was made, and before Grow.
type Keeper interface {
	Adopt(old any)
}

// Sweeper drops what has expired. It is called every 100 ms or so.
type Sweeper interface {
	Sweep(now uint64)
}

// Presence says whether an endpoint has a label.
type Presence uint8

// The presences of a label.
const (
	Unknown Presence = iota // nobody has said yet whether endpoints have this label
	Absent
	Present
)

// Facts is what is known about one endpoint beside its metrics.
type Facts struct {
	Name, Address []byte // namespace/name and ip:port
	Rank          int    // data-parallel rank
	labels        []label
}

type label struct {
	value    []byte
	presence Presence
}

// Reset makes f the facts of an endpoint without labels, of which count are registered.
func (f *Facts) Reset(name, address []byte, rank, count int) {
	f.Name, f.Address, f.Rank = name, address, rank
	if cap(f.labels) < count {
		f.labels = make([]label, count)
	}
	f.labels = f.labels[:count]
	clear(f.labels)
}

// SetLabel says what is known of a registered label.
func (f *Facts) SetLabel(id LabelID, value []byte, p Presence) { f.labels[id] = label{value, p} }

// Label returns the value of a registered label, which is empty unless it is Present.
func (f *Facts) Label(id LabelID) (value []byte, p Presence) {
	if int(id) >= len(f.labels) {
		return nil, Unknown
	}
	l := f.labels[id]
	return l.value, l.presence
}

// The most that a HeaderSink takes.
const (
	MaxSinkHeaders = 4
	MaxSinkBytes   = 1024
)

// HeaderSink collects headers for one response, and says of its request what they may depend on. The zero value is empty.
type HeaderSink struct {
	Profile int // index of the profile that the request ran

	b     []byte // names and values, one after the other
	ends  [2 * MaxSinkHeaders]uint16
	count int
}

// Reset empties the sink and keeps its memory.
func (h *HeaderSink) Reset() { h.b, h.count = h.b[:0], 0 }

// Set adds a header. It reports false, and adds nothing, if the sink is full.
func (h *HeaderSink) Set(name string, value []byte) bool {
	if h.count == MaxSinkHeaders || len(h.b)+len(name)+len(value) > MaxSinkBytes {
		return false
	}
	h.b = append(h.b, name...)
	h.ends[2*h.count] = uint16(len(h.b))
	h.b = append(h.b, value...)
	h.ends[2*h.count+1] = uint16(len(h.b))
	h.count++
	return true
}

// Len returns the number of headers.
func (h *HeaderSink) Len() int { return h.count }

// At returns header i. The slices are valid until the next Set or Reset.
func (h *HeaderSink) At(i int) (name, value []byte) {
	start := uint16(0)
	if i > 0 {
		start = h.ends[2*i-1]
	}
	middle, end := h.ends[2*i], h.ends[2*i+1]
	return h.b[start:middle:middle], h.b[middle:end:end]
}
