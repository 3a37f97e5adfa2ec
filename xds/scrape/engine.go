package scrape

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

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
	Waiting   uint32      // requests that wait in the engine
	Running   uint32      // requests that run in the engine
	KVUsage   float32     // share of KV blocks in use, 0..1
	BlockSize uint32      // engine KV block size in tokens; 0 if not reported
	NumBlocks uint32      // engine KV blocks; 0 if not reported
	LoRA      *LoRA       // adapters; nil if the engine has never told. What it points to never changes.
	Custom    *Attributes // metrics that the configuration names; nil if there are none, or none was told
}

// Indices of engine.at: what an engine may have a metric for.
const (
	waiting = iota
	running
	kvUsage
	blockSize
	numBlocks
	lora
	quantities
)

// engine says what an engine calls its metrics.
type engine struct {
	name  string
	wants []promtext.Want
	at    [quantities]int // index in wants, -1 if the engine has no such metric
	keys  []string        // of custom metrics, which are the last of wants
}

// newEngine returns the engine whose metrics are given by quantity. Those without a family do not exist.
func newEngine(name string, metrics [quantities]promtext.Want) *engine {
	e := &engine{name: name}
	for q, w := range metrics {
		e.at[q] = -1
		if w.Family != "" {
			e.at[q] = len(e.wants)
			e.wants = append(e.wants, w)
		}
	}
	return e
}

// labelled is the series of a family that has this label.
func labelled(family, name, value string) promtext.Want {
	return promtext.Want{Family: family, Match: []promtext.Label{{Name: name, Value: value}}}
}

// engines are the names of the EPP's core-metrics-extractor. Of several series of a gauge the newest counts, as there, and of
// the adapters, whose gauge is a time, the largest.
var engines = makeEngines(
	newEngine("vllm", [quantities]promtext.Want{
		waiting:   {Family: "vllm:num_requests_waiting"},
		running:   {Family: "vllm:num_requests_running"},
		kvUsage:   {Family: "vllm:kv_cache_usage_perc"},
		blockSize: {Family: "vllm:cache_config_info", From: "block_size"},
		numBlocks: {Family: "vllm:cache_config_info", From: "num_gpu_blocks"},
		lora:      {Family: "vllm:lora_requests_info", Texts: loraTexts, Combine: promtext.Largest},
	}),
	newEngine("sglang", [quantities]promtext.Want{
		waiting:   {Family: "sglang:num_queue_reqs"},
		running:   {Family: "sglang:num_running_reqs"},
		kvUsage:   {Family: "sglang:token_usage"},
		blockSize: {Family: "sglang:cache_config_info", From: "page_size"},
		numBlocks: {Family: "sglang:cache_config_info", From: "num_pages"},
	}),
	newEngine("trtllm-serve", [quantities]promtext.Want{
		waiting:   {Family: "trtllm_num_requests_waiting"},
		running:   {Family: "trtllm_num_requests_running"},
		kvUsage:   {Family: "trtllm_kv_cache_utilization"},
		blockSize: {Family: "trtllm_kv_cache_tokens_per_block"},
		numBlocks: {Family: "trtllm_kv_cache_max_blocks"},
	}),
	newEngine("triton-tensorrt-llm", [quantities]promtext.Want{
		waiting:   labelled("nv_trt_llm_request_metrics", "request_type", "waiting"),
		running:   labelled("nv_trt_llm_request_metrics", "request_type", "scheduled"),
		kvUsage:   labelled("nv_trt_llm_kv_cache_block_metrics", "kv_cache_block_type", "fraction"),
		blockSize: labelled("nv_trt_llm_kv_cache_block_metrics", "kv_cache_block_type", "tokens_per"),
		numBlocks: labelled("nv_trt_llm_kv_cache_block_metrics", "kv_cache_block_type", "max"),
	}),
	// Triton itself has no gauge of running requests; the EPP reads the count of all that ever ran.
	newEngine(engineTriton, [quantities]promtext.Want{
		waiting: {Family: "nv_inference_pending_request_count"},
		running: {Family: "nv_inference_exec_count"},
	}),
)

// engineTriton is the engine whose running requests only grow.
const engineTriton = "triton"

func makeEngines(list ...*engine) map[string]*engine {
	m := make(map[string]*engine, len(list))
	for _, e := range list {
		m[e.name] = e
	}
	return m
}

// Engines returns the names of the built-in engines.
func Engines() []string { return slices.Sorted(maps.Keys(engines)) }

// engineName returns what the labels of an endpoint call its engine; empty if they say nothing.
func engineName(e *discovery.Endpoint, label string) string {
	if name, ok := e.Labels[label]; ok {
		return name
	}
	return e.Labels[labelEngineOld]
}

// SameEngine reports whether the labels of a and b name the same engine, or none. label is Options.EngineLabel.
func SameEngine(a, b *discovery.Endpoint, label string) bool {
	label = cmp.Or(label, LabelEngine)
	return engineName(a, label) == engineName(b, label)
}

// engineOf returns the engine of an endpoint.
func (s *Scraper) engineOf(e *discovery.Endpoint) *engine {
	if known, ok := s.engines[engineName(e, s.options.EngineLabel)]; ok {
		return known
	}
	return s.engines[s.options.Engine]
}

// setEngines compiles the engines of the options. One that is called like a built-in one takes its place.
func (s *Scraper) setEngines() error {
	s.engines = maps.Clone(engines)
	var errs []error
	seen := make(map[string]bool)
	for i := range s.options.Engines {
		c := &s.options.Engines[i]
		e, err := c.engine()
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("engine %q: %w", c.Name, err))
		case seen[c.Name]:
			errs = append(errs, fmt.Errorf("engine %q: is described twice", c.Name))
		default:
			seen[c.Name] = true
			s.engines[c.Name] = e
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if _, ok := s.engines[s.options.Engine]; !ok {
		return fmt.Errorf("engine: %q is unknown; known are %s", s.options.Engine, strings.Join(slices.Sorted(maps.Keys(s.engines)), ", "))
	}
	return nil
}

// reader reads a page. It is promtext.Scanner, or with the build tag expfmt prometheus/common's parser, for comparison.
type reader interface {
	Scan(page []byte, values []promtext.Value) error
}

// update reads a page into the metrics. A metric that the page lacks, or whose number is not finite, keeps its value; at
// least one of the three gauges must be there. On error the metrics are unchanged.
func (l *loop) update(page []byte) error {
	if l.models {
		return l.updateModels(page)
	}
	if err := l.reader.Scan(page, l.values); err != nil {
		return err
	}
	if err := l.impossible(); err != nil {
		return err
	}
	next, found := l.sample.Metrics, 0
	if v, ok := finite(l.value(waiting)); ok {
		next.Waiting = count(v)
		found++
	}
	if v, ok := finite(l.value(running)); ok {
		next.Running = count(v)
		found++
	}
	if v, ok := finite(l.value(kvUsage)); ok {
		next.KVUsage = float32(min(max(v, 0), 1))
		found++
	}
	var told int
	if next.Custom, told = l.attributes(next.Custom); found+told == 0 {
		return errors.New("the page has no number for any of " + l.engine.gauges())
	}
	// What is constant may be unknown at first and is then 0.
	if v := l.value(blockSize); v.Seen {
		next.BlockSize = count(v.Number)
	}
	if v := l.value(numBlocks); v.Seen {
		next.NumBlocks = count(v.Number)
	}
	if v := l.value(lora); v.Seen {
		next.LoRA = l.adapters.read(next.LoRA, v.Texts)
	}
	l.sample.Metrics = next
	return nil
}

var loads = [...]struct {
	quantity int
	name     string
}{{waiting, "waiting requests"}, {running, "running requests"}, {kvUsage, "KV cache usage"}}

// impossible returns an error if a load is one that no server has. Such a page is not believed in anything: an endpoint that
// says nonsense must not look idle.
func (l *loop) impossible() error {
	for _, load := range loads {
		v := l.value(load.quantity)
		if _, ok := finite(v); v.Seen && (!ok || v.Number < 0) {
			return fmt.Errorf("the page says %g for the %s", v.Number, load.name)
		}
	}
	return nil
}

// value returns what the page says of a quantity.
func (l *loop) value(quantity int) promtext.Value {
	if at := l.engine.at[quantity]; at >= 0 {
		return l.values[at]
	}
	return promtext.Value{}
}

// gauges names the metrics of which a page must have one.
func (e *engine) gauges() string {
	var names []string
	for _, q := range []int{waiting, running, kvUsage} {
		if at := e.at[q]; at >= 0 && !slices.Contains(names, e.wants[at].Family) {
			names = append(names, e.wants[at].Family)
		}
	}
	if names == nil {
		for _, w := range e.wants[len(e.wants)-len(e.keys):] {
			names = append(names, w.Family)
		}
	}
	return strings.Join(names, ", ")
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
