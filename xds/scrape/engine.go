package scrape

import (
	"errors"
	"maps"
	"math"
	"slices"

	"github.com/zerohop/zerohop/xds/discovery"
	"github.com/zerohop/zerohop/xds/scrape/promtext"
)

// LabelEngine is the endpoint's label that names its engine, and labelEngineOld its predecessor, as the EPP knows them. An
// unknown name means the default engine.
const (
	LabelEngine    = "llm-d.ai/engine-type"
	labelEngineOld = "inference.networking.k8s.io/engine-type"
)

// Metrics are the numbers of one endpoint that scheduling uses.
type Metrics struct {
	Waiting   uint32  // requests that wait in the engine
	Running   uint32  // requests that run in the engine
	KVUsage   float32 // share of KV blocks in use, 0..1
	BlockSize uint32  // engine KV block size in tokens; 0 if not reported
	NumBlocks uint32  // engine KV blocks; 0 if not reported
}

// engine says what an engine calls its metrics: one number for each field of Metrics, in that order.
type engine struct {
	name  string
	wants []promtext.Want
}

// Indices of engine.wants.
const (
	waiting = iota
	running
	kvUsage
	blockSize
	numBlocks
)

// engines are the names of the EPP's core-metrics-extractor. Of several series of a gauge the newest counts, as there.
var engines = map[string]*engine{
	"vllm": {"vllm", []promtext.Want{
		{Family: "vllm:num_requests_waiting"},
		{Family: "vllm:num_requests_running"},
		{Family: "vllm:kv_cache_usage_perc"},
		{Family: "vllm:cache_config_info", From: "block_size"},
		{Family: "vllm:cache_config_info", From: "num_gpu_blocks"},
	}},
	"sglang": {"sglang", []promtext.Want{
		{Family: "sglang:num_queue_reqs"},
		{Family: "sglang:num_running_reqs"},
		{Family: "sglang:token_usage"},
		{Family: "sglang:cache_config_info", From: "page_size"},
		{Family: "sglang:cache_config_info", From: "num_pages"},
	}},
	"trtllm-serve": {"trtllm-serve", []promtext.Want{
		{Family: "trtllm_num_requests_waiting"},
		{Family: "trtllm_num_requests_running"},
		{Family: "trtllm_kv_cache_utilization"},
		{Family: "trtllm_kv_cache_tokens_per_block"},
		{Family: "trtllm_kv_cache_max_blocks"},
	}},
}

// Engines returns the names of the known engines.
func Engines() []string { return slices.Sorted(maps.Keys(engines)) }

// engineOf returns the engine of an endpoint.
func engineOf(e *discovery.Endpoint, defaultEngine string) *engine {
	for _, label := range []string{LabelEngine, labelEngineOld} {
		if name, ok := e.Labels[label]; ok {
			if known, ok := engines[name]; ok {
				return known
			}
			break
		}
	}
	return engines[defaultEngine]
}

// reader reads a page. It is promtext.Scanner, or with the build tag expfmt prometheus/common's parser, for comparison.
type reader interface {
	Scan(page []byte, values []promtext.Value) error
}

// update reads a page into the metrics. A metric that the page lacks, or whose number is not finite, keeps its value; at
// least one of the three gauges must be there. On error the metrics are unchanged.
func (l *loop) update(page []byte) error {
	if err := l.reader.Scan(page, l.values); err != nil {
		return err
	}
	next, found := l.sample.Metrics, 0
	if v, ok := finite(l.values[waiting]); ok {
		next.Waiting = count(v)
		found++
	}
	if v, ok := finite(l.values[running]); ok {
		next.Running = count(v)
		found++
	}
	if v, ok := finite(l.values[kvUsage]); ok {
		next.KVUsage = float32(min(max(v, 0), 1))
		found++
	}
	if found == 0 {
		return errors.New("the page has no number for any of " + l.engine.wants[waiting].Family + ", " +
			l.engine.wants[running].Family + ", " + l.engine.wants[kvUsage].Family)
	}
	// What is constant may be unknown at first and is then 0.
	if v := l.values[blockSize]; v.Seen {
		next.BlockSize = count(v.Number)
	}
	if v := l.values[numBlocks]; v.Seen {
		next.NumBlocks = count(v.Number)
	}
	l.sample.Metrics = next
	return nil
}

func finite(v promtext.Value) (float64, bool) {
	return v.Number, v.Seen && !math.IsNaN(v.Number) && !math.IsInf(v.Number, 0)
}

// count truncates to a number of things. What is no number is 0.
func count(v float64) uint32 {
	if math.IsNaN(v) {
		return 0
	}
	return uint32(min(max(v, 0), math.MaxUint32))
}

// SameEngine reports whether the labels of a and b name the same engine, or none.
func SameEngine(a, b *discovery.Endpoint) bool { return engineOf(a, "") == engineOf(b, "") }
