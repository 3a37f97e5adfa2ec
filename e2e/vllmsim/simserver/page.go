package simserver

import (
	_ "embed" // the template of the metrics page
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/zerohop/zerohop/e2e/engine"
)

// template is a vLLM server's own page: which families, in which order, with which labels and buckets.
//
//go:embed vllm_metrics.txt
var template string

// page renders GET /metrics. It is made once; a rendering only fills in numbers.
type page struct {
	bounds map[string][]float64 // of each histogram that is filled in
	parts  []part
}

// part is constant text, followed by one number unless value is nil.
type part struct {
	text  string
	value func(*sample) float64
}

// sample is what one page shows.
type sample struct {
	stats               engine.Stats
	running             int // instant mode has no engine
	stop, length, abort uint64
	hist                *histograms
}

// values are the samples that change, by name and, where a family has several, by a label.
var values = []struct {
	name, label string
	value       func(*sample) float64
}{
	{"vllm:num_requests_running", "", func(s *sample) float64 { return float64(s.stats.Running + s.running) }},
	{"vllm:num_requests_waiting", "", func(s *sample) float64 { return float64(s.stats.Waiting) }},
	{"vllm:num_requests_waiting_by_reason", `reason="capacity"`, func(s *sample) float64 { return float64(s.stats.Waiting) }},
	{"vllm:kv_cache_usage_perc", "", func(s *sample) float64 { return s.stats.KVUsage() }},
	{"vllm:prefix_cache_queries_total", "", func(s *sample) float64 { return float64(s.stats.PrefixQueries) }},
	{"vllm:prefix_cache_hits_total", "", func(s *sample) float64 { return float64(s.stats.PrefixHits) }},
	{"vllm:num_preemptions_total", "", func(s *sample) float64 { return float64(s.stats.Preemptions) }},
	{"vllm:prompt_tokens_total", "", func(s *sample) float64 { return float64(s.stats.PromptTokens) }},
	{"vllm:prompt_tokens_by_source_total", `source="local_compute"`, func(s *sample) float64 {
		return float64(s.stats.PrefixQueries - s.stats.PrefixHits)
	}},
	{"vllm:prompt_tokens_by_source_total", `source="local_cache_hit"`, func(s *sample) float64 { return float64(s.stats.PrefixHits) }},
	{"vllm:prompt_tokens_cached_total", "", func(s *sample) float64 { return float64(s.stats.PrefixHits) }},
	{"vllm:prompt_tokens_cached_by_source_total", `source="device"`, func(s *sample) float64 { return float64(s.stats.PrefixHits) }},
	{"vllm:generation_tokens_total", "", func(s *sample) float64 { return float64(s.stats.GenerationTokens) }},
	{"vllm:request_success_total", `finished_reason="stop"`, func(s *sample) float64 { return float64(s.stop) }},
	{"vllm:request_success_total", `finished_reason="length"`, func(s *sample) float64 { return float64(s.length) }},
	{"vllm:request_success_total", `finished_reason="abort"`, func(s *sample) float64 { return float64(s.abort) }},
}

// tokenHistograms have buckets up to the model length: 1, 2, 5, 10 and so on.
var tokenHistograms = []string{
	"vllm:request_prompt_tokens", "vllm:request_generation_tokens", "vllm:request_max_num_generation_tokens",
	"vllm:request_params_max_tokens", "vllm:request_prefill_kv_computed_tokens",
}

// newPage prepares the template for an endpoint.
func newPage(cfg Config, started time.Time) *page {
	e := cfg.Engine
	text := strings.NewReplacer(
		`"MODEL"`, strconv.Quote(cfg.Models[0]),
		"BLOCK_SIZE", strconv.Itoa(e.BlockTokens),
		"NUM_BLOCKS", strconv.Itoa(e.CapacityTokens/e.BlockTokens),
		"NUM_TOKENS", strconv.Itoa(e.CapacityTokens/e.BlockTokens*e.BlockTokens),
	).Replace(template)
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")[1:] // the first is a comment about the file
	p := &page{bounds: templateBounds(lines)}
	for _, name := range tokenHistograms {
		p.bounds[name] = tokenBounds(e.MaxModelLen)
	}
	created := strconv.FormatFloat(float64(started.UnixMicro())/1e6, 'f', 6, 64)
	done := map[string]bool{} // histograms whose buckets are written
	for _, line := range lines {
		p.addLine(line, created, done)
	}
	return p
}

// templateBounds returns the bucket bounds of vLLM's histograms, without +Inf.
func templateBounds(lines []string) map[string][]float64 {
	bounds := map[string][]float64{}
	for _, line := range lines {
		name, rest, ok := strings.Cut(line, "_bucket{")
		if !ok || !strings.HasPrefix(name, "vllm:") {
			continue
		}
		_, le, _ := strings.Cut(rest, `le="`)
		le, _, _ = strings.Cut(le, `"`)
		if v, err := strconv.ParseFloat(le, 64); err == nil && !math.IsInf(v, 1) {
			bounds[name] = append(bounds[name], v)
		}
	}
	return bounds
}

// tokenBounds returns 1, 2, 5, 10 and so on up to limit.
func tokenBounds(limit int) []float64 {
	var bounds []float64
	for decade := 1; decade <= limit; decade *= 10 {
		for _, m := range [...]int{1, 2, 5} {
			if m*decade <= limit {
				bounds = append(bounds, float64(m*decade))
			}
		}
	}
	return bounds
}

// addLine appends one line of the template. A comment starts with "# ", a sample is a name, perhaps labels, and a value.
func (p *page) addLine(line, created string, done map[string]bool) {
	series, _, _ := cutLast(line)
	name, labels, _ := strings.Cut(series, "{")
	family := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_sum"), "_count")
	_, isHistogram := p.bounds[family]
	switch {
	case strings.HasPrefix(line, "#"):
		p.addText(line + "\n")
	case strings.HasSuffix(name, "_created"):
		p.addText(series + " " + created + "\n")
	case isHistogram && strings.HasSuffix(name, "_bucket"):
		if !done[family] {
			done[family] = true
			p.addBuckets(family, labels)
		}
	case isHistogram && strings.HasSuffix(name, "_sum"):
		p.addValue(series, func(s *sample) float64 { return s.hist.byName[family].sum })
	case isHistogram && strings.HasSuffix(name, "_count"):
		p.addValue(series, cumulative(family, len(p.bounds[family])))
	default:
		for _, v := range values {
			if v.name == name && strings.Contains(labels, v.label) {
				p.addValue(series, v.value)
				return
			}
		}
		p.addText(line + "\n")
	}
}

// addBuckets appends all buckets of a histogram; labels are those of one of them, from the brace on.
func (p *page) addBuckets(family, labels string) {
	before, rest, _ := strings.Cut(labels, `le="`)
	_, after, _ := strings.Cut(rest, `"`)
	for i := range len(p.bounds[family]) + 1 {
		le := "+Inf"
		if i < len(p.bounds[family]) {
			le = string(appendNumber(nil, p.bounds[family][i]))
		}
		p.addValue(family+"_bucket{"+before+`le="`+le+`"`+after, cumulative(family, i))
	}
}

// cumulative returns the number of observations in buckets 0 to last.
func cumulative(family string, last int) func(*sample) float64 {
	return func(s *sample) float64 {
		n := uint64(0)
		for _, c := range s.hist.byName[family].counts[:last+1] {
			n += c
		}
		return float64(n)
	}
}

// addText appends constant text.
func (p *page) addText(text string) {
	if n := len(p.parts); n > 0 && p.parts[n-1].value == nil {
		p.parts[n-1].text += text
		return
	}
	p.parts = append(p.parts, part{text: text})
}

// addValue appends a series whose number is computed at each rendering.
func (p *page) addValue(series string, value func(*sample) float64) {
	p.addText(series + " ")
	p.parts[len(p.parts)-1].value = value
	p.addText("\n")
}

// render appends the page to dst. Whoever changes the sample's histograms must be locked out meanwhile.
func (p *page) render(dst []byte, s *sample) []byte {
	for _, part := range p.parts {
		dst = append(dst, part.text...)
		if part.value != nil {
			dst = appendNumber(dst, part.value(s))
		}
	}
	return dst
}

// appendNumber writes a number as the Python client does: with a point even if it is whole.
func appendNumber(dst []byte, v float64) []byte {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return append(strconv.AppendInt(dst, int64(v), 10), ".0"...)
	}
	return strconv.AppendFloat(dst, v, 'g', -1, 64)
}

// cutLast cuts a line at its last space.
func cutLast(line string) (before, after string, found bool) {
	i := strings.LastIndexByte(line, ' ')
	if i < 0 {
		return line, "", false
	}
	return line[:i], line[i+1:], true
}

// metrics renders the page.
func (s *Server) metrics() []byte {
	d := s.driver
	d.mu.Lock()
	defer d.mu.Unlock()
	v := &sample{
		stats: d.engine.Stats(), hist: d.hist,
		stop: d.finishedStop, length: d.finishedLength, abort: d.finishedAbort,
	}
	if s.cfg.Instant {
		v.running = int(s.counters.inFlight.Load())
	}
	b := s.page.render(make([]byte, 0, 64<<10), v)
	if len(s.cfg.Adapters) > 0 {
		b = s.lora.render(b)
	}
	return b
}

func (s *Server) serveMetrics(w http.ResponseWriter, r *http.Request) {
	if s.metricsFault(w, r) {
		return
	}
	w.Header().Set("Content-Type", "text/plain; version=1.0.0; charset=utf-8")
	_, _ = w.Write(s.metrics())
}
