package simserver

import (
	"fmt"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/zerohop/zerohop/e2e/engine"
)

// parseMetrics parses an exposition page with Prometheus's parser.
func parseMetrics(t *testing.T, page string) map[string]*dto.MetricFamily {
	t.Helper()
	p := expfmt.NewTextParser(model.LegacyValidation)
	families, err := p.TextToMetricFamilies(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// value returns the number of a family's first series.
func value(t *testing.T, families map[string]*dto.MetricFamily, name string) float64 {
	t.Helper()
	f := families[name]
	if f == nil {
		t.Fatalf("no family %s", name)
	}
	m := f.Metric[0]
	if h := m.GetHistogram(); h != nil {
		return float64(h.GetSampleCount())
	}
	return m.GetCounter().GetValue() + m.GetGauge().GetValue()
}

func TestMetrics(t *testing.T) {
	s := start(t, Config{Models: []string{`quoted "name"`}, Engine: engine.Config{CapacityTokens: 4096, BlockTokens: 32}})
	for range 3 {
		post(t, s.URL()+pathCompletions, `{"prompt":"`+strings.Repeat("x", 400)+`","max_tokens":5}`)
	}
	resp, page := get(t, s.URL()+"/metrics")
	if got := resp.Header.Get("Content-Type"); !strings.HasPrefix(got, "text/plain; version=") {
		t.Errorf("content type = %q", got)
	}
	if len(page) < 45_000 || len(page) > 65_000 {
		t.Errorf("page of %d bytes, want about 50 KB", len(page))
	}
	families := parseMetrics(t, page)
	for name, want := range map[string]float64{
		"vllm:num_requests_running":        0,
		"vllm:num_requests_waiting":        0,
		"vllm:kv_cache_usage_perc":         0,
		"vllm:prefix_cache_queries_total":  300,
		"vllm:prefix_cache_hits_total":     192,
		"vllm:prompt_tokens_total":         300,
		"vllm:generation_tokens_total":     15,
		"vllm:num_preemptions_total":       0,
		"vllm:time_to_first_token_seconds": 3,
		"vllm:inter_token_latency_seconds": 12,
		"vllm:e2e_request_latency_seconds": 3,
		"vllm:request_prompt_tokens":       3,
		"vllm:iteration_tokens_total":      15,
	} {
		if got := value(t, families, name); got != want {
			t.Errorf("%s = %v, want %v", name, got, want)
		}
	}
	labels := map[string]string{}
	for _, l := range families["vllm:cache_config_info"].Metric[0].Label {
		labels[l.GetName()] = l.GetValue()
	}
	if labels["block_size"] != "32" || labels["num_gpu_blocks"] != "128" {
		t.Errorf("cache_config_info: block_size %s, num_gpu_blocks %s, want 32 and 128", labels["block_size"], labels["num_gpu_blocks"])
	}
	for _, l := range families["vllm:num_requests_running"].Metric[0].Label {
		if l.GetName() == "model_name" && l.GetValue() != `quoted "name"` {
			t.Errorf("model_name = %q", l.GetValue())
		}
	}
}

// TestHistograms holds each histogram to the rules of the format: buckets grow, the last is the count.
func TestHistograms(t *testing.T) {
	s := start(t, Config{})
	post(t, s.URL()+pathCompletions, `{"prompt":"`+strings.Repeat("x", 4000)+`","max_tokens":50}`)
	_, page := get(t, s.URL()+"/metrics")
	n := 0
	for name, f := range parseMetrics(t, page) {
		if f.GetType() != dto.MetricType_HISTOGRAM || !strings.HasPrefix(name, "vllm:") {
			continue
		}
		n++
		h := f.Metric[0].GetHistogram()
		last, bound := uint64(0), -1.0
		for _, b := range h.Bucket {
			if b.GetCumulativeCount() < last || b.GetUpperBound() <= bound {
				t.Errorf("%s: bucket %v breaks the order", name, b)
			}
			last, bound = b.GetCumulativeCount(), b.GetUpperBound()
		}
		if h.GetSampleCount() == 0 || h.GetSampleCount() != last {
			t.Errorf("%s: count %d, last bucket %d, want them equal and above 0", name, h.GetSampleCount(), last)
		}
	}
	if n < 15 {
		t.Errorf("%d histograms, want at least 15", n)
	}
}

// TestTimesAreVirtual shows that reported times depend on the engine alone, neither on the speed nor on the machine.
func TestTimesAreVirtual(t *testing.T) {
	p := engine.Qwen3x32B()
	const prompt, tokens = 10_000, 30
	want := p.StepTime(8192, 0, 0) + p.StepTime(prompt-8192, 0, 0)
	for i := 1; i < tokens; i++ {
		want += p.StepTime(0, 1, prompt+i)
	}
	for _, speed := range []float64{20, 1e6} {
		s := start(t, Config{Speed: speed})
		post(t, s.URL()+pathCompletions, fmt.Sprintf(`{"prompt":"%s","max_tokens":%d}`, strings.Repeat("abcd", prompt), tokens))
		families := parseMetrics(t, string(s.metrics()))
		got := families["vllm:e2e_request_latency_seconds"].Metric[0].GetHistogram().GetSampleSum()
		if got != want.Seconds() {
			t.Errorf("at speed %v the request took %v s, want %v", speed, got, want.Seconds())
		}
	}
}

// TestLoadShows fills an engine that does not move and reads its gauges from the page.
func TestLoadShows(t *testing.T) {
	profile := engine.Qwen3x32B()
	profile.MaxRunning = 2
	s := start(t, Config{Speed: 1e-6, Engine: engine.Config{Profile: profile, CapacityTokens: 1600}})
	for i := range 5 {
		r, err := parseRequest(fmt.Appendf(nil, `{"prompt":"%s"}`, strings.Repeat(string(rune('a'+i)), 64*10)), false)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.submit(r); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the first step is on its way", func() bool { return s.Stats().Running > 0 })
	}
	// The first step took one request; four wait for it to end, though there is a free place.
	families := parseMetrics(t, string(s.metrics()))
	for name, want := range map[string]float64{
		"vllm:num_requests_running":           1,
		"vllm:num_requests_waiting":           4,
		"vllm:num_requests_waiting_by_reason": 4,
		"vllm:kv_cache_usage_perc":            0.1,
	} {
		if got := value(t, families, name); got != want {
			t.Errorf("%s = %v, want %v", name, got, want)
		}
	}
}

func BenchmarkMetricsPage(b *testing.B) {
	s, err := Start(Config{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	b.ReportAllocs()
	for b.Loop() {
		s.metrics()
	}
}
