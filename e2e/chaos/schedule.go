package main

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"time"
)

const (
	// minLength is what the shortest run needs for a warm-up, one fault and a rest.
	minLength = 20 * time.Second
	// segment is the time between two rests.
	segment = 50 * time.Second
	// restTime is planned for a rest. It lasts as long as it takes.
	restTime = 5 * time.Second
	// warmUp comes before all faults but the first of all.
	warmUp = 8 * time.Second
	// quiet is kept free of faults before a rest, so that their endpoints can recover.
	quiet = 2 * time.Second
)

// Endpoints by role. Those that fail and those whose entries are edited are different ones, so that any two faults can overlap
// and two endpoints at least are left alone.
const (
	failing = 4 // e0 to e3
	edited  = 2 // e4 and e5
	spare   = failing + edited
	members = failing + edited // in the list at first
)

// Planned is a fault of the schedule. Times count from the first request.
type Planned struct {
	Kind   Kind          `json:"kind"`
	Target string        `json:"target,omitempty"` // name of an endpoint
	At     time.Duration `json:"at_ns"`
	Length time.Duration `json:"length_ns"`
	Draw   uint64        `json:"draw"` // chance that the fault may use
}

// Schedule is what a seed comes to. The same seed and length always give the same.
type Schedule struct {
	Faults []Planned       `json:"faults"` // by time
	Rests  []time.Duration `json:"rests_ns"`
	Length time.Duration   `json:"length_ns"`
}

// newSchedule draws the faults of a run of at least this length, from the given kinds or from all.
func newSchedule(seed uint64, length time.Duration, kinds []Kind) Schedule {
	s := Schedule{Length: length}
	late := ruleOf(AgentLate)
	s.Faults = append(s.Faults, Planned{Kind: AgentLate, Length: time.Duration(late.least) * time.Second})
	for end := min(segment, length); ; end = min(end+segment, length) {
		if length-end < segment/2 {
			end = length // no short segment at the end
		}
		s.Rests = append(s.Rests, end-restTime)
		if end == length {
			break
		}
	}
	for l := laneEndpoints; l <= laneClients; l++ {
		rng := rand.New(rand.NewPCG(seed, uint64(l)))
		s.fill(rng, newDeck(rng, l, kinds))
	}
	slices.SortStableFunc(s.Faults, func(a, b Planned) int { return int(a.At - b.At) })
	return s
}

// fill puts the faults of one lane one after the other between the rests.
func (s *Schedule) fill(rng *rand.Rand, d *deck) {
	if len(d.kinds) == 0 {
		return
	}
	at := warmUp
	for _, rest := range s.Rests {
		for {
			p := d.peek(rng)
			begin := at + time.Duration(500+rng.IntN(2500))*time.Millisecond
			if p.Kind == Burst {
				begin = s.besideStops(begin, p.Length)
			}
			if begin+p.Length+quiet > rest {
				break
			}
			p.At = begin
			s.Faults = append(s.Faults, p)
			d.take()
			at = begin + p.Length
		}
		at = rest + restTime
	}
}

// besideStops returns when a burst can begin, at begin or later: not while an endpoint is stopped. The requests that it would have
// there time out at once, and are more than the retry budget lets move on.
func (s *Schedule) besideStops(begin, length time.Duration) time.Duration {
	for _, p := range s.Faults { // those of an earlier lane, by time
		if p.Kind == Stop && p.At < begin+length && p.At+p.Length > begin-quiet {
			begin = p.At + p.Length + quiet
		}
	}
	return begin
}

// deck deals every kind of a lane once before any comes again.
type deck struct {
	lane  lane
	kinds []Kind
	left  []Kind
	next  *Planned
	last  string // target of the one before
}

func newDeck(rng *rand.Rand, l lane, only []Kind) *deck {
	d := &deck{lane: l}
	for i := range rules {
		if rules[i].lane == l && (only == nil || slices.Contains(only, rules[i].Kind)) {
			d.kinds = append(d.kinds, rules[i].Kind)
		}
	}
	d.shuffle(rng)
	// A burst first: the memory that it takes is part of what is warm.
	if i := slices.Index(d.left, Burst); i >= 0 {
		d.left[0], d.left[i] = d.left[i], d.left[0]
	}
	return d
}

func (d *deck) shuffle(rng *rand.Rand) {
	d.left = slices.Clone(d.kinds)
	rng.Shuffle(len(d.left), func(i, j int) { d.left[i], d.left[j] = d.left[j], d.left[i] })
}

// peek returns the fault that is dealt next.
func (d *deck) peek(rng *rand.Rand) Planned {
	if d.next != nil {
		return *d.next
	}
	if len(d.left) == 0 {
		d.shuffle(rng)
	}
	r := ruleOf(d.left[0])
	p := Planned{Kind: r.Kind, Draw: rng.Uint64(), Target: d.target(rng, r.Kind)}
	p.Length = time.Duration(r.least)*time.Second + time.Duration(rng.IntN(1000*r.spread+1))*time.Millisecond
	d.next = &p
	return p
}

func (d *deck) take() {
	d.last, d.next, d.left = d.next.Target, nil, d.left[1:]
}

// target draws the endpoint of a fault, if it has one.
func (d *deck) target(rng *rand.Rand, k Kind) string {
	first, n := 0, failing
	switch {
	case k == Add:
		first, n = spare, 1
	case d.lane == laneAgent && k != AgentKill && k != AgentWrong:
		first, n = failing, edited
	case d.lane != laneEndpoints:
		return ""
	}
	for {
		name := endpointName(first + rng.IntN(n))
		if n == 1 || name != d.last {
			return name
		}
	}
}

func endpointName(i int) string { return "e" + strconv.Itoa(i) }
