// Package plugintest runs one plugin on endpoints and a request that a test writes down: what the scheduler would give it,
// without a scheduler. It is for tests only.
package plugintest

import (
	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
)

// Now is the time of the first cycle, in monotonic nanoseconds.
const Now = 1_000_000_000_000

// StaleMs is the age from which an endpoint is not fresh.
const StaleMs = 2000

// EP is one endpoint. The zero value is idle and freshly scraped.
type EP struct {
	Name    string // namespace/name; "ns/ep-0" and so on by default
	Address string // "10.0.0.1:8000" and so on by default
	Labels  map[string]string
	Rank    int

	Waiting, Running, KV float64 // as scraped
	Own                  float64 // what our own picks add to Waiting, and not to Queue
	AgeMs                float64 // since the scrape
	Unscraped            bool    // no scrape has succeeded
	InFlight             int32
	Tokens               int64 // booked tokens

	Attrs                 map[string]float64 // by "producer/name"
	Active, WaitingModels []string           // adapters in use and waited for
	MaxLoRA               int32
	Models                []string // served; nil if unknown
	Pred                  *Pred
	Match                 int32 // blocks held
}

// Pred is what is predicted for an endpoint, in milliseconds.
type Pred struct {
	TTFT, TPOT, TTFTHeadroom, TPOTHeadroom float64
	Dispatched                             int32
}

// Req is the request.
type Req struct {
	Tokens, MaxTokens int
	BlockTokens       int // 64 by default
	Blocks            int // informative blocks
	Universal         int32
	Model             string
	Headers           map[string]string
	Priority          int32
	TTFTms, TPOTms    float64
	Peer              string // name of an endpoint; none by default
	HasBody, Dry      bool
}

// Config is what the plan says beside the plugin. The zero value has one profile.
type Config struct {
	Profiles      []string // names; "default" by default
	Parity        bool
	ScrapeNs      uint64 // as in scorers.Setup
	MaxSessions   int    // 1024 by default
	UnknownLabels bool   // nobody has said which labels endpoints have
	Peers         []Peer // instances made before, which parameters may name
	Seed          uint64 // of the generator
}

// Peer is another instance of the plan.
type Peer struct {
	Spec   *scorers.Spec
	Name   string
	Params plan.Params
}

// Bed is a plugin with its endpoints and a request. Endpoints are numbered as in the list given to New; their slots are
// other numbers, and between them are free slots, so that a plugin that mixes slots with candidates is found out.
type Bed struct {
	Plugin any
	Cycle  scorers.Cycle
	Wants  *scorers.Wants

	conf  Config
	eps   []EP
	ends  scorers.Endpoints
	gen   []uint32 // by slot
	rand  scorers.Rand
	heads scorers.Headers
}

// New makes an instance of spec as a plan with the given parameters would, completed by spec, among eps.
func New(spec *scorers.Spec, params plan.Params, eps []EP, req Req) (*Bed, error) {
	return NewWith(Config{}, spec, params, eps, req)
}

// NewWith is New for a plan that says more than the plugin.
func NewWith(conf Config, spec *scorers.Spec, params plan.Params, eps []EP, req Req) (*Bed, error) {
	if conf.Profiles == nil {
		conf.Profiles = []string{"default"}
	}
	if conf.MaxSessions == 0 {
		conf.MaxSessions = 1024
	}
	builder := scorers.Builder{
		Profiles: conf.Profiles, Parity: conf.Parity, MaxSlots: 1024, MaxSessions: conf.MaxSessions, ScrapeNs: conf.ScrapeNs,
	}
	for _, p := range append(conf.Peers, Peer{spec, spec.Type, params}) {
		complete, err := p.Spec.Complete(p.Params)
		if err != nil {
			return nil, err
		}
		if _, err = builder.Build(p.Spec, p.Name, complete); err != nil {
			return nil, err
		}
	}
	b := &Bed{Plugin: builder.Instance(spec.Type), Wants: &builder.Wants, conf: conf, rand: scorers.NewRand(conf.Seed)}
	b.Cycle.Now = Now
	b.Cycle.Rand = &b.rand
	b.Endpoints(eps)
	b.Request(req)
	return b, nil
}

// Slot returns the slot of endpoint i.
func Slot(i int) int32 { return int32(2*i + 1) }

// index returns the endpoint in slot.
func index(slot int32) int { return int(slot-1) / 2 }

// Candidates returns the slots of all endpoints. The slice belongs to the caller.
func (b *Bed) Candidates() []int32 {
	out := make([]int32, len(b.eps))
	for i := range out {
		out[i] = Slot(i)
	}
	return out
}

// Score returns the plugin's score of each endpoint, as it gave them.
func (b *Bed) Score() []float64 {
	cand := b.Candidates()
	out := make([]float64, len(cand))
	b.Plugin.(scorers.Scorer).Score(&b.Cycle, cand, out)
	return out
}

// Filter returns the endpoints that the plugin keeps, in its order.
func (b *Bed) Filter() []int {
	return indices(b.Plugin.(scorers.Filter).Filter(&b.Cycle, b.Candidates()))
}

// PickFrom returns the endpoints that a picker takes, given the total score of each.
func (b *Bed) PickFrom(score []float64, limit int) []int {
	total := append([]float64(nil), score...)
	return indices(b.Plugin.(scorers.Picker).Pick(&b.Cycle, b.Candidates(), total, limit))
}

func indices(slots []int32) []int {
	out := make([]int, 0, len(slots))
	for _, s := range slots {
		out = append(out, index(s))
	}
	return out
}

// Admit returns what an admitter says.
func (b *Bed) Admit() bool { return b.Plugin.(scorers.Admitter).Admit(&b.Cycle, b.Candidates()) }

// Saturation returns what a detector says.
func (b *Bed) Saturation() float64 {
	return b.Plugin.(scorers.Detector).Saturation(&b.Cycle, b.Candidates())
}

// Profile returns what a profile handler says.
func (b *Bed) Profile() int { return b.Plugin.(scorers.ProfileHandler).Profile(&b.Cycle) }

// Estimate returns what a load estimator says of endpoint i.
func (b *Bed) Estimate(i int) (tokens int32, untilEnd bool) {
	return b.Plugin.(scorers.LoadEstimator).Estimate(&b.Cycle, Slot(i))
}

// Pick tells the plugin that endpoint i was picked, as Commit does.
func (b *Bed) Pick(i int) {
	if w, ok := b.Plugin.(scorers.PickWatcher); ok && !b.Cycle.Dry {
		w.Picked(&b.Cycle, Slot(i), b.gen[Slot(i)])
	}
}

// Served tells the plugin that endpoint i answers and returns the headers that it adds to the response.
func (b *Bed) Served(i int) map[string]string {
	sink := scorers.HeaderSink{Profile: b.Cycle.Profile}
	b.Plugin.(scorers.Server).Served(&b.ends, Slot(i), []byte(b.eps[i].Name), &sink)
	out := make(map[string]string, sink.Len())
	for k := range sink.Len() {
		name, value := sink.At(k)
		out[string(name)] = string(value)
	}
	return out
}

// Sweep tells the plugin the time, as the tick does, and moves the cycle there.
func (b *Bed) Sweep(now uint64) {
	b.Cycle.Now = now
	if s, ok := b.Plugin.(scorers.Sweeper); ok {
		s.Sweep(now)
	}
}
