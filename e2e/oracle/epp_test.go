package oracle

import (
	"math"
	"strings"
)

// endpoint is a model server as the EPP sees it.
type endpoint struct {
	name, address string
	labels        map[string]string
	waiting       int
	running       int
	kv            float64
	active        []string // adapters in use
	waitingModels []string // adapters that requests wait for
	maxActive     int
	attributes    map[string]float64
}

// request is one chat with one user message.
type request struct {
	model, text string
	headers     map[string]string

	keys []string // what prefixes returned
}

const (
	blockTokens   = 64
	bytesPerToken = 4
)

// input is the number of tokens that the EPP estimates.
func (r *request) input() int {
	return (len("user"+r.text) + bytesPerToken - 1) / bytesPerToken
}

// prefixes returns a key for each block of the prompt that stands for all of the prompt up to there.
func (r *request) prefixes() []string {
	prompt := "user" + r.text
	if r.keys != nil {
		return r.keys
	}
	for end := 0; end < len(prompt); {
		end = min(end+blockTokens*bytesPerToken, len(prompt))
		r.keys = append(r.keys, r.model+"\x00"+prompt[:end])
	}
	return r.keys
}

// epp is one endpoint picker.
type epp struct {
	endpoints []*endpoint // in the order in which they are candidates
	filters   []filter
	scorers   []scorer
	inFlight  map[string]int             // requests by endpoint
	tokens    map[string]int             // uncached tokens by endpoint
	holders   map[string]map[string]bool // endpoints by prefix
	cold      []string                   // endpoints that got a cold request, the least recent first
	sessions  map[string]string          // endpoint by session
}

// filter keeps some of the endpoints.
type filter func(p *epp, r *request, in []*endpoint) []*endpoint

// scorer scores endpoints by name; those that it leaves out score 0.
type scorer struct {
	weight float64
	score  func(p *epp, r *request, in []*endpoint) map[string]float64
}

func newEPP(endpoints []*endpoint, filters []filter, scorers []scorer) *epp {
	return &epp{
		endpoints: endpoints, filters: filters, scorers: scorers, inFlight: map[string]int{}, tokens: map[string]int{},
		holders: map[string]map[string]bool{}, sessions: map[string]string{},
	}
}

// totals returns the endpoints that the filters leave, with their totals.
func (p *epp) totals(r *request) map[string]float64 {
	in := p.filtered(r)
	out := make(map[string]float64)
	for _, e := range in {
		out[e.name] = 0
	}
	for _, s := range p.scorers {
		score := s.score(p, r, in)
		for _, e := range in {
			out[e.name] += s.weight * math.Max(0, math.Min(1, score[e.name]))
		}
	}
	return out
}

func (p *epp) filtered(r *request) []*endpoint {
	in := append([]*endpoint(nil), p.endpoints...)
	for _, f := range p.filters {
		if in = f(p, r, in); len(in) == 0 {
			break
		}
	}
	return in
}

// match returns how many blocks of the prompt an endpoint holds, and how many there are.
func (p *epp) match(r *request, name string) (held, total int) {
	all := r.prefixes()
	for _, key := range all {
		if len(p.holders[key]) == 0 {
			break
		}
		if p.holders[key][name] {
			held++
		}
	}
	return held, len(all)
}

// ratio is the share of the prompt that an endpoint holds.
func (p *epp) ratio(r *request, name string) float64 {
	held, total := p.match(r, name)
	return float64(held) / float64(total)
}

// uncached returns the tokens that an endpoint has to compute.
func (p *epp) uncached(r *request, name string) int {
	held, total := p.match(r, name)
	return max(0, total-held)*blockTokens + max(0, r.input()-total*blockTokens)
}

// isCold says that no endpoint of those holds a block.
func (p *epp) isCold(r *request, in []*endpoint) bool {
	for _, e := range in {
		if held, _ := p.match(r, e.name); held > 0 {
			return false
		}
	}
	return true
}

// picked does what the plugins do once an endpoint is chosen. It returns the tokens that are booked.
func (p *epp) picked(r *request, name string) (booked int) {
	in := p.filtered(r)
	booked = p.uncached(r, name)
	p.inFlight[name]++
	p.tokens[name] += booked
	if p.isCold(r, in) {
		p.cold = append(without(p.cold, name), name)
	}
	if id := r.headers["x-session-id"]; id != "" {
		if bound := p.sessions[id]; bound == "" || !contains(in, bound) {
			p.sessions[id] = name
		}
	}
	for _, key := range r.prefixes() {
		if p.holders[key] == nil {
			p.holders[key] = map[string]bool{}
		}
		p.holders[key][name] = true
	}
	return booked
}

// finished releases what picked booked.
func (p *epp) finished(name string, booked int) {
	p.inFlight[name]--
	p.tokens[name] -= booked
}

func without(list []string, name string) []string {
	var out []string
	for _, x := range list {
		if x != name {
			out = append(out, x)
		}
	}
	return out
}

func contains(in []*endpoint, name string) bool {
	for _, e := range in {
		if e.name == name {
			return true
		}
	}
	return false
}

// oneOf reports whether a word is one of those in a list separated by blanks.
func oneOf(list, word string) bool { return strings.Contains(" "+list+" ", " "+word+" ") }
