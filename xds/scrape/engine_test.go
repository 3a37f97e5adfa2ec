package scrape

import (
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/xds/discovery"
	"github.com/zerohop/zerohop/xds/scrape/promtext"
)

// reading returns a loop that reads pages of an engine and has old metrics.
func reading(engine string, old Metrics) *loop {
	e := engines[engine]
	return &loop{engine: e, reader: newReader(e.wants), values: make([]promtext.Value, len(e.wants)), sample: Sample{Metrics: old}}
}

func TestUpdate(t *testing.T) {
	page, err := os.ReadFile("testdata/vllm_0.32_under_load.txt")
	if err != nil {
		t.Fatal(err)
	}
	old := Metrics{Waiting: 1, Running: 2, KVUsage: 0.25, BlockSize: 16, NumBlocks: 100}
	tests := []struct {
		name, page string
		want       Metrics
		err        string
	}{
		{name: "a real vLLM page", page: string(page), want: Metrics{Waiting: 2, Running: 8, KVUsage: 0.95238096, BlockSize: 32, NumBlocks: 64}},
		{name: "one gauge only", page: "vllm:num_requests_waiting 7\n", want: Metrics{Waiting: 7, Running: 2, KVUsage: 0.25, BlockSize: 16, NumBlocks: 100}},
		{
			name: "untyped and counter are read", page: "vllm:num_requests_waiting 7\n# TYPE vllm:num_requests_running counter\nvllm:num_requests_running 8\n",
			want: Metrics{Waiting: 7, Running: 8, KVUsage: 0.25, BlockSize: 16, NumBlocks: 100},
		},
		{
			name: "first of several series", page: "vllm:num_requests_waiting{engine=\"0\"} 3\nvllm:num_requests_waiting{engine=\"1\"} 4\n",
			want: Metrics{Waiting: 3, Running: 2, KVUsage: 0.25, BlockSize: 16, NumBlocks: 100},
		},
		{
			name: "newest of several series", page: "vllm:num_requests_waiting{engine=\"0\"} 3 10\nvllm:num_requests_waiting{engine=\"1\"} 4 20\n",
			want: Metrics{Waiting: 4, Running: 2, KVUsage: 0.25, BlockSize: 16, NumBlocks: 100},
		},
		{
			name: "out of range", page: "vllm:num_requests_waiting 0.5\nvllm:num_requests_running 1e99\nvllm:kv_cache_usage_perc 1.5\n",
			want: Metrics{Waiting: 0, Running: 1<<32 - 1, KVUsage: 1, BlockSize: 16, NumBlocks: 100},
		},
		{
			name: "infinite", page: "vllm:num_requests_waiting 3\nvllm:num_requests_running +Inf\nvllm:kv_cache_usage_perc 0.5\n",
			want: old, err: "the page says +Inf for the running requests",
		},
		{
			name: "negative", page: "vllm:num_requests_waiting 3\nvllm:num_requests_running 1\nvllm:kv_cache_usage_perc -0.5\n",
			want: old, err: "the page says -0.5 for the KV cache usage",
		},
		{
			name: "cache info without numbers", page: "vllm:num_requests_waiting 1\nvllm:cache_config_info{block_size=\"None\"} 1\n",
			want: Metrics{Waiting: 1, Running: 2, KVUsage: 0.25},
		},
		{
			name: "OpenMetrics", page: "# TYPE vllm:num_requests_waiting gauge\nvllm:num_requests_waiting 7 1.5\n# TYPE vllm:cache_config info\nvllm:cache_config_info{block_size=\"8\",num_gpu_blocks=\"9\"} 1\n# EOF",
			want: Metrics{Waiting: 7, Running: 2, KVUsage: 0.25, BlockSize: 8, NumBlocks: 9},
		},
		{name: "broken line elsewhere", page: "up{\nvllm:num_requests_waiting 7\n", want: Metrics{Waiting: 7, Running: 2, KVUsage: 0.25, BlockSize: 16, NumBlocks: 100}},
		{name: "empty", page: "", want: old, err: "the page has no number for any of vllm:num_requests_waiting, "},
		{name: "no number", page: "vllm:num_requests_waiting NaN\n", want: old, err: "the page says NaN for the waiting requests"},
		{name: "others only", page: "# TYPE up gauge\nup 1\nvllm:cache_config_info{block_size=\"32\"} 1\n", want: old, err: "the page has no number"},
		{name: "histogram in place of a gauge", page: "# TYPE vllm:num_requests_waiting histogram\nvllm:num_requests_waiting_sum 1\n", want: old, err: "the page has no number"},
		{name: "no line end", page: "vllm:num_requests_waiting 7", want: old, err: "line 1: the page ends within a line"},
		{name: "broken after the metrics", page: "vllm:num_requests_waiting 7\nvllm:num_requests_running{\n", want: old, err: "line 2: vllm:num_requests_running: no name of a label"},
		{name: "not a metrics page", page: "<!doctype html>\n<html>\n", want: old, err: "the page has no number"},
		{name: "not text", page: "\x1f\x8b\x08\x00\n\x00\n", want: old, err: "the page has no number"},
		{name: "names that only begin like ours", page: "vllm:num_requests_waiting_by_reason 1\n", want: old, err: "the page has no number"},
		{name: "another engine", page: "sglang:num_queue_reqs 1\n", want: old, err: "the page has no number"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := reading("vllm", old)
			err := l.update([]byte(tt.page))
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Errorf("error = %v, want one with %q", err, tt.err)
			}
			if d := cmp.Diff(tt.want, l.sample.Metrics); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestEngines reads pages as the other engines write them: SGLang with its labels, one series per rank; TensorRT-LLM with
// gauges for the size of its cache.
func TestEngines(t *testing.T) {
	tests := []struct {
		engine, page string
		want         Metrics
	}{
		{"sglang", `# HELP sglang:num_running_reqs The number of running requests.
# TYPE sglang:num_running_reqs gauge
sglang:num_running_reqs{engine_type="unified",model_name="m",pp_rank="0",tp_rank="0"} 162.0
# HELP sglang:num_queue_reqs The number of requests in the waiting queue.
# TYPE sglang:num_queue_reqs gauge
sglang:num_queue_reqs{engine_type="unified",model_name="m",pp_rank="0",tp_rank="0"} 2826.0
# HELP sglang:num_queue_reqs_total Another one.
# TYPE sglang:token_usage gauge
sglang:token_usage{engine_type="unified",model_name="m",pp_rank="0",tp_rank="0"} 0.28
# TYPE sglang:cache_config_info gauge
sglang:cache_config_info{model_name="m",num_pages="11264",page_size="64"} 1.0
`, Metrics{Waiting: 2826, Running: 162, KVUsage: 0.28, BlockSize: 64, NumBlocks: 11264}},
		{"trtllm-serve", `# HELP trtllm_num_requests_running Number of active requests
# TYPE trtllm_num_requests_running gauge
trtllm_num_requests_running{engine_type="pytorch",model_name="m"} 3.0
# TYPE trtllm_num_requests_waiting gauge
trtllm_num_requests_waiting{engine_type="pytorch",model_name="m"} 5.0
# TYPE trtllm_kv_cache_utilization gauge
trtllm_kv_cache_utilization{engine_type="pytorch",model_name="m"} 0.5
# TYPE trtllm_kv_cache_max_blocks gauge
trtllm_kv_cache_max_blocks{engine_type="pytorch",model_name="m"} 4096.0
# TYPE trtllm_kv_cache_tokens_per_block gauge
trtllm_kv_cache_tokens_per_block{engine_type="pytorch",model_name="m"} 32.0
`, Metrics{Waiting: 5, Running: 3, KVUsage: 0.5, BlockSize: 32, NumBlocks: 4096}},
		{"triton-tensorrt-llm", `# TYPE nv_trt_llm_request_metrics gauge
nv_trt_llm_request_metrics{model="m",request_type="waiting",version="1"} 4
nv_trt_llm_request_metrics{model="m",request_type="context",version="1"} 9
nv_trt_llm_request_metrics{model="m",request_type="scheduled",version="1"} 6
nv_trt_llm_request_metrics{model="m",request_type="max",version="1"} 512
# TYPE nv_trt_llm_kv_cache_block_metrics gauge
nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="fraction",model="m",version="1"} 0.25
nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="tokens_per",model="m",version="1"} 64
nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="used",model="m",version="1"} 7
nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="max",model="m",version="1"} 1024
`, Metrics{Waiting: 4, Running: 6, KVUsage: 0.25, BlockSize: 64, NumBlocks: 1024}},
		{"triton", `# TYPE nv_inference_pending_request_count gauge
nv_inference_pending_request_count{model="m",version="1"} 3
# TYPE nv_inference_exec_count counter
nv_inference_exec_count{model="m",version="1"} 70
`, Metrics{Waiting: 3, Running: 70}},
	}
	for _, tt := range tests {
		t.Run(tt.engine, func(t *testing.T) {
			l := reading(tt.engine, Metrics{})
			if err := l.update([]byte(tt.page)); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, l.sample.Metrics); d != "" {
				t.Error(d)
			}
		})
	}
	for name, e := range engines {
		if e.name != name || e.at[waiting] < 0 || e.at[running] < 0 || e.gauges() == "" {
			t.Errorf("engine %q is called %q and has %d numbers", name, e.name, len(e.wants))
		}
	}
	if want := []string{"sglang", "triton", "triton-tensorrt-llm", "trtllm-serve", "vllm"}; !slices.Equal(Engines(), want) {
		t.Errorf("engines %v, want %v", Engines(), want)
	}
}

func TestEngineOf(t *testing.T) {
	tests := []struct {
		name   string
		labels map[string]string
		want   string
	}{
		{"no labels", nil, "vllm"},
		{"label", map[string]string{LabelEngine: "sglang"}, "sglang"},
		{"older label", map[string]string{labelEngineOld: "trtllm-serve"}, "trtllm-serve"},
		{"both", map[string]string{LabelEngine: "vllm", labelEngineOld: "sglang"}, "vllm"},
		{"unknown", map[string]string{LabelEngine: "llama.cpp"}, "vllm"},
	}
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := s.engineOf(&discovery.Endpoint{Labels: tt.labels}); got.name != tt.want {
				t.Errorf("engine %q, want %q", got.name, tt.want)
			}
		})
	}
}

// TestTritonWarns checks that a number that only grows is told of, once.
func TestTritonWarns(t *testing.T) {
	var out strings.Builder
	s, err := New(Options{Log: slog.New(slog.NewTextHandler(&out, nil))})
	if err != nil {
		t.Fatal(err)
	}
	for _, engine := range []string{"vllm", "triton", "triton"} {
		newLoop(s, &discovery.Endpoint{Labels: map[string]string{LabelEngine: engine}})
	}
	if n := strings.Count(out.String(), "engine triton has no number of running requests"); n != 1 {
		t.Errorf("%d warnings in %q", n, out.String())
	}
}

func TestSameEngine(t *testing.T) {
	none, vllm, sglang := discovery.Endpoint{}, discovery.Endpoint{}, discovery.Endpoint{}
	other := discovery.Endpoint{Labels: map[string]string{"zone": "a"}}
	vllm.Labels = map[string]string{LabelEngine: "vllm"}
	sglang.Labels = map[string]string{LabelEngine: "sglang"}
	if !SameEngine(&none, &other, "") || !SameEngine(&sglang, &sglang, "") {
		t.Error("equal engines differ")
	}
	if SameEngine(&none, &vllm, "") || SameEngine(&vllm, &sglang, "") { // none is what the configuration says, perhaps SGLang
		t.Error("different engines are the same")
	}
}

func FuzzUpdate(f *testing.F) {
	f.Add([]byte("# TYPE vllm:num_requests_waiting gauge\nvllm:num_requests_waiting{a=\"b\"} 1 2\n"))
	f.Add([]byte("vllm:cache_config_info{block_size=\"32\",num_gpu_blocks=\"64\"} 1\nvllm:kv_cache_usage_perc 1e-3\n"))
	f.Fuzz(func(t *testing.T, page []byte) {
		l := reading("vllm", Metrics{})
		if err := l.update(page); err != nil && l.sample.Metrics != (Metrics{}) {
			t.Errorf("a page with error %v changed the metrics to %+v", err, l.sample.Metrics)
		}
		if !(l.sample.KVUsage >= 0 && l.sample.KVUsage <= 1) {
			t.Errorf("KV usage is %v", l.sample.KVUsage)
		}
	})
}
