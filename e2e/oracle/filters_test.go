package oracle

import "math"

// where keeps the endpoints that pass.
func where(pass func(p *epp, r *request, e *endpoint) bool) filter {
	return func(p *epp, r *request, in []*endpoint) []*endpoint {
		var out []*endpoint
		for _, e := range in {
			if pass(p, r, e) {
				out = append(out, e)
			}
		}
		return out
	}
}

// orAll keeps all where a filter keeps none.
func orAll(f filter) filter {
	return func(p *epp, r *request, in []*endpoint) []*endpoint {
		if out := f(p, r, in); len(out) > 0 {
			return out
		}
		return in
	}
}

var decode = where(func(_ *epp, _ *request, e *endpoint) bool {
	role, ok := e.labels["llm-d.ai/role"]
	return !ok || oneOf("decode prefill-decode both encode-prefill-decode", role) && role != ""
})

func label(key, value string) filter {
	return where(func(_ *epp, _ *request, e *endpoint) bool { return e.labels[key] == value })
}

var fittingLength = where(func(_ *epp, r *request, e *endpoint) bool {
	text, ok := e.labels[rangeLabel]
	lo, hi, valid := lengthRange(text)
	return !ok || valid && lo <= r.input() && r.input() <= hi
})

func below(name string, most float64) filter {
	return where(func(_ *epp, _ *request, e *endpoint) bool {
		v, ok := e.attributes[name]
		return !ok || v < most
	})
}

func utilization(active, waiting int, usage float64) filter {
	return where(func(p *epp, _ *request, e *endpoint) bool {
		return p.inFlight[e.name] <= active && e.waiting <= waiting && e.kv <= usage
	})
}

func unsaturated(depth, usage float64) filter {
	return orAll(where(func(_ *epp, _ *request, e *endpoint) bool { return float64(e.waiting) < depth && e.kv < usage }))
}

func concurrency(most int) filter {
	return where(func(p *epp, _ *request, e *endpoint) bool { return p.inFlight[e.name] < most })
}

// sticky is the prefix-cache-affinity-filter with TTFT by throughput.
func sticky(threshold, penaltyMs, perSecond float64) filter {
	return func(p *epp, r *request, in []*endpoint) []*endpoint {
		if len(in) <= 1 || threshold <= 0 {
			return in
		}
		best, rest := math.Inf(1), math.Inf(1)
		var out []*endpoint
		for _, e := range in {
			ttft := float64(p.tokens[e.name]) / perSecond * 1000
			if p.ratio(r, e.name) >= threshold {
				out, best = append(out, e), math.Min(best, ttft)
			} else {
				rest = math.Min(rest, ttft)
			}
		}
		if len(out) == 0 || penaltyMs > 0 && len(out) < len(in) && best-rest > penaltyMs {
			return in
		}
		return out
	}
}

func sessionFilter(p *epp, r *request, in []*endpoint) []*endpoint {
	bound := p.sessions[r.headers["x-session-id"]]
	for _, e := range in {
		if e.name == bound && r.headers["x-session-id"] != "" {
			return []*endpoint{e}
		}
	}
	return in
}
