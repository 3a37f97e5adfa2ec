package oracle

import (
	"math"
	"strconv"
	"strings"
)

// each scores every endpoint by itself.
func each(f func(p *epp, r *request, e *endpoint) float64) func(*epp, *request, []*endpoint) map[string]float64 {
	return func(p *epp, r *request, in []*endpoint) map[string]float64 {
		out := map[string]float64{}
		for _, e := range in {
			out[e.name] = f(p, r, e)
		}
		return out
	}
}

// fewest scores the endpoint with the least of a count 1, and the one with the most 0.
func fewest(count func(e *endpoint) int) func(*epp, *request, []*endpoint) map[string]float64 {
	return func(_ *epp, _ *request, in []*endpoint) map[string]float64 {
		lo, hi := math.Inf(1), math.Inf(-1)
		for _, e := range in {
			lo, hi = math.Min(lo, float64(count(e))), math.Max(hi, float64(count(e)))
		}
		out := map[string]float64{}
		for _, e := range in {
			out[e.name] = 1
			if hi > lo {
				out[e.name] = (hi - float64(count(e))) / (hi - lo)
			}
		}
		return out
	}
}

var (
	queue   = fewest(func(e *endpoint) int { return e.waiting })
	running = fewest(func(e *endpoint) int { return e.running })
	kv      = each(func(_ *epp, _ *request, e *endpoint) float64 { return 1 - e.kv })
	prefix  = each(func(p *epp, r *request, e *endpoint) float64 { return p.ratio(r, e.name) })
)

func loadAware(threshold float64) func(*epp, *request, []*endpoint) map[string]float64 {
	return each(func(_ *epp, _ *request, e *endpoint) float64 {
		if e.waiting == 0 {
			return .5
		}
		return .5 * (1 - math.Min(float64(e.waiting), threshold)/threshold)
	})
}

// weightedPrefix is the prefix scorer with a share for the length.
func weightedPrefix(weight, scale float64) func(*epp, *request, []*endpoint) map[string]float64 {
	return each(func(p *epp, r *request, e *endpoint) float64 {
		held, total := p.match(r, e.name)
		length := math.Pow(math.Min(1, float64(held*blockTokens)/scale), 2)
		return weight*length + (1-weight)*float64(held)/float64(total)
	})
}

func activeRequests(idle int, maxBusy float64) func(*epp, *request, []*endpoint) map[string]float64 {
	return func(p *epp, _ *request, in []*endpoint) map[string]float64 {
		most := 0
		for _, e := range in {
			most = max(most, p.inFlight[e.name])
		}
		out := map[string]float64{}
		for _, e := range in {
			n := p.inFlight[e.name]
			out[e.name] = 1
			if n > idle {
				out[e.name] = float64(most-n) / float64(most) * maxBusy
			}
		}
		return out
	}
}

func tokenLoad(threshold float64) func(*epp, *request, []*endpoint) map[string]float64 {
	return each(func(p *epp, r *request, e *endpoint) float64 {
		t := float64(p.tokens[e.name] + p.uncached(r, e.name))
		if t <= 0 {
			return 1
		}
		return 1 - math.Min(t, threshold)/threshold
	})
}

var lora = each(func(_ *epp, r *request, e *endpoint) float64 {
	switch {
	case oneOf(strings.Join(e.active, " "), r.model):
		return 1
	case len(e.active)+len(e.waitingModels) < e.maxActive:
		return .8
	case oneOf(strings.Join(e.waitingModels, " "), r.model):
		return .6
	}
	return 0
})

func noHitLRU(p *epp, r *request, in []*endpoint) map[string]float64 {
	out := map[string]float64{}
	var never []string
	for _, e := range in {
		if !p.isCold(r, in) {
			out[e.name] = .5
		} else if len(in) == 1 {
			out[e.name] = 1
		} else if index(p.cold, e.name) < 0 {
			never = append(never, e.name)
		}
	}
	if !p.isCold(r, in) || len(in) == 1 {
		return out
	}
	span := float64(len(in) - 1)
	for i, name := range never {
		out[name] = 1 - float64(i)/span
	}
	for i, name := range p.cold {
		if contains(in, name) {
			out[name] = math.Max(0, 1-float64(len(never)+i)/span)
		}
	}
	return out
}

func index(list []string, name string) int {
	for i, x := range list {
		if x == name {
			return i
		}
	}
	return -1
}

func session(p *epp, r *request, in []*endpoint) map[string]float64 {
	out := map[string]float64{}
	if bound := p.sessions[r.headers["x-session-id"]]; r.headers["x-session-id"] != "" && contains(in, bound) {
		out[bound] = 1
	}
	return out
}

func headerLabel(header, label string) func(*epp, *request, []*endpoint) map[string]float64 {
	return each(func(_ *epp, r *request, e *endpoint) float64 {
		if v := r.headers[header]; v != "" && e.labels[label] == v {
			return 1
		}
		return 0
	})
}

// lengthRange parses "min-max".
func lengthRange(text string) (lo, hi int, ok bool) {
	parts := strings.Split(text, "-")
	if len(parts) != 2 {
		return 0, 0, false
	}
	lo, err1 := strconv.Atoi(strings.TrimSpace(parts[0]))
	hi, err2 := strconv.Atoi(strings.TrimSpace(parts[1]))
	return lo, hi, err1 == nil && err2 == nil && lo <= hi
}

const rangeLabel = "llm-d.ai/context-length-range"

var contextLength = each(func(_ *epp, r *request, e *endpoint) float64 {
	text, ok := e.labels[rangeLabel]
	if !ok {
		return .5
	}
	lo, hi, ok := lengthRange(text)
	n := r.input()
	width := float64(hi - lo)
	switch {
	case !ok:
		return 0
	case n < lo:
		return .3 / (1 + float64(lo-n)/1000)
	case n > hi:
		return .3 / (1 + float64(n-hi)/1000)
	case width == 0:
		return 1
	}
	return .3 + .7*(.7/(1+width/10000)+.3*float64(hi-n)/width)
})

// attributeLow prefers less of an attribute, over the range that there is.
func attributeLow(name string) func(*epp, *request, []*endpoint) map[string]float64 {
	return func(_ *epp, _ *request, in []*endpoint) map[string]float64 {
		lo, hi := math.Inf(1), math.Inf(-1)
		for _, e := range in {
			if v, ok := e.attributes[name]; ok {
				lo, hi = math.Min(lo, v), math.Max(hi, v)
			}
		}
		out := map[string]float64{}
		for _, e := range in {
			if v, ok := e.attributes[name]; ok {
				out[e.name] = 1
				if hi > lo {
					out[e.name] = (hi - v) / (hi - lo)
				}
			}
		}
		return out
	}
}

// latencyComposite is the latency scorer without predictions.
func latencyComposite(p *epp, r *request, in []*endpoint) map[string]float64 {
	most := 0
	for _, e := range in {
		most = max(most, e.waiting)
	}
	out := map[string]float64{}
	for _, e := range in {
		room := 1.0
		if most > 0 {
			room = float64(most-e.waiting) / float64(most)
		}
		out[e.name] = math.Round(100*((1-e.kv)+room+p.ratio(r, e.name))/3) / 100
	}
	return out
}
