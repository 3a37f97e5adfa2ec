package scrape

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
			name: "out of range", page: "vllm:num_requests_waiting -3\nvllm:num_requests_running 1e99\nvllm:kv_cache_usage_perc 1.5\n",
			want: Metrics{Waiting: 0, Running: 1<<32 - 1, KVUsage: 1, BlockSize: 16, NumBlocks: 100},
		},
		{
			name: "not finite keeps the old value", page: "vllm:num_requests_waiting NaN\nvllm:num_requests_running +Inf\nvllm:kv_cache_usage_perc 0.5\n",
			want: Metrics{Waiting: 1, Running: 2, KVUsage: 0.5, BlockSize: 16, NumBlocks: 100},
		},
		{
			name: "cache info without numbers", page: "vllm:num_requests_waiting 1\nvllm:cache_config_info{block_size=\"None\"} 1\n",
			want: Metrics{Waiting: 1, Running: 2, KVUsage: 0.25},
		},
		{name: "empty", page: "", want: old, err: "page has none of"},
		{name: "others only", page: "# TYPE up gauge\nup 1\nvllm:cache_config_info{block_size=\"32\"} 1\n", want: old, err: "page has none of"},
		{name: "histogram in place of a gauge", page: "# TYPE vllm:num_requests_waiting histogram\nvllm:num_requests_waiting_sum 1\n", want: old, err: "page has none of"},
		{name: "no line end", page: "vllm:num_requests_waiting 7", want: old, err: "text format parsing error"},
		{name: "broken after the metrics", page: "vllm:num_requests_waiting 7\nvllm:num_requests_running{\n", want: old, err: "text format parsing error"},
		{name: "not a metrics page", page: "<html>\n", want: old, err: "page has none of"},
		{name: "names that only begin like ours", page: "vllm:num_requests_waiting_by_reason 1\n", want: old, err: "page has none of"},
		{name: "broken line elsewhere", page: "up{\nvllm:num_requests_waiting 7\n", want: Metrics{Waiting: 7, Running: 2, KVUsage: 0.25, BlockSize: 16, NumBlocks: 100}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := old
			err := m.update([]byte(tt.page))
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Errorf("error = %v, want one with %q", err, tt.err)
			}
			if d := cmp.Diff(tt.want, m); d != "" {
				t.Error(d)
			}
		})
	}
}

func FuzzUpdate(f *testing.F) {
	f.Add([]byte("# TYPE vllm:num_requests_waiting gauge\nvllm:num_requests_waiting{a=\"b\"} 1 2\n"))
	f.Add([]byte("vllm:cache_config_info{block_size=\"32\",num_gpu_blocks=\"64\"} 1\nvllm:kv_cache_usage_perc 1e-3\n"))
	f.Fuzz(func(t *testing.T, page []byte) {
		var m Metrics
		if err := m.update(page); err != nil && m != (Metrics{}) {
			t.Errorf("a page with error %v changed the metrics to %+v", err, m)
		}
		if !(m.KVUsage >= 0 && m.KVUsage <= 1) {
			t.Errorf("KV usage is %v", m.KVUsage)
		}
	})
}

// BenchmarkUpdate parses a page of a real vLLM.
func BenchmarkUpdate(b *testing.B) {
	page, err := os.ReadFile("testdata/vllm_0.32_under_load.txt")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(page)))
	b.ReportAllocs()
	var m Metrics
	scratch := make([]byte, len(page))
	for b.Loop() {
		if err := m.update(scratch[:copy(scratch, page)]); err != nil {
			b.Fatal(err)
		}
	}
}
