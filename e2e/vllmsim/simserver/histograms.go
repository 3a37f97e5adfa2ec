package simserver

import "github.com/zerohop/zerohop/e2e/engine"

// histogram counts observations by bucket, the last one being +Inf.
type histogram struct {
	bounds []float64
	counts []uint64
	sum    float64
}

func (h *histogram) observe(v float64) {
	i := 0
	for i < len(h.bounds) && v > h.bounds[i] {
		i++
	}
	h.counts[i]++
	h.sum += v
}

// histograms are the distributions on the metrics page, by family name, and those of them that change with a token.
type histograms struct {
	byName                 map[string]*histogram
	step, firstToken, next *histogram
}

// newHistograms returns empty histograms with the page's bounds.
func newHistograms(p *page) *histograms {
	h := &histograms{byName: make(map[string]*histogram, len(p.bounds))}
	for name, bounds := range p.bounds {
		h.byName[name] = &histogram{bounds: bounds, counts: make([]uint64, len(bounds)+1)}
	}
	h.step = h.byName["vllm:iteration_tokens_total"]
	h.firstToken = h.byName["vllm:time_to_first_token_seconds"]
	h.next = h.byName["vllm:inter_token_latency_seconds"]
	return h
}

// output records what a step did for a job. Times are virtual seconds.
func (h *histograms) output(j *job, o engine.Output) {
	t := o.Times
	switch {
	case !o.Token:
	case o.Generated == 1:
		h.firstToken.observe((t.FirstToken - t.Arrived).Seconds())
	default:
		h.next.observe((t.LastToken - t.PrevToken).Seconds())
	}
	if !o.Finished {
		return
	}
	perToken := 0.0
	if o.Generated > 1 {
		perToken = (t.LastToken - t.FirstToken).Seconds() / float64(o.Generated-1)
	}
	for _, v := range [...]struct {
		name  string
		value float64
	}{
		{"vllm:request_prompt_tokens", float64(j.prompt)},
		{"vllm:request_generation_tokens", float64(o.Generated)},
		{"vllm:request_max_num_generation_tokens", float64(o.Generated)},
		{"vllm:request_params_n", 1},
		{"vllm:request_params_max_tokens", float64(j.max)},
		{"vllm:request_time_per_output_token_seconds", perToken},
		{"vllm:e2e_request_latency_seconds", (t.LastToken - t.Arrived).Seconds()},
		{"vllm:request_queue_time_seconds", (t.Admitted - t.Arrived).Seconds()},
		{"vllm:request_inference_time_seconds", (t.LastToken - t.Admitted).Seconds()},
		{"vllm:request_prefill_time_seconds", (t.FirstToken - t.Admitted).Seconds()},
		{"vllm:request_decode_time_seconds", (t.LastToken - t.FirstToken).Seconds()},
		{"vllm:request_num_preemptions", float64(o.Preemptions)},
		{"vllm:request_prefill_kv_computed_tokens", float64(j.prompt - o.CachedTokens)},
	} {
		h.byName[v.name].observe(v.value)
	}
}
