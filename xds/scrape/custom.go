package scrape

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/zerohop/zerohop/xds/scrape/promtext"
)

// EngineConfig describes an engine by its metrics, as core-metrics-extractor does. Specs are "name" or "name{label=value,…}";
// an empty one means that the engine has no such metric.
type EngineConfig struct {
	Name                 string
	Waiting, Running     string // gauges of requests
	KVUsage              string // gauge of the share of KV blocks in use
	LoRA                 string // gauge with vLLM's labels of adapters
	CacheInfo            string // series whose labels are the sizes of the cache
	BlockSizeLabel       string // label of CacheInfo with the block size in tokens
	NumBlocksLabel       string // label of CacheInfo with the number of blocks
	BlockSize, NumBlocks string // gauges of the same, which go before the labels
	Custom               []CustomMetric
}

// CustomMetric is a metric that becomes an attribute of the endpoint.
type CustomMetric struct{ Key, Spec string }

// Attributes are custom metrics of one endpoint. What they hold never changes.
type Attributes struct {
	Keys   []string
	Values []float64 // NaN for a metric that the engine has never told
}

// MaxCustom bounds the custom metrics of an engine.
const MaxCustom = 64

// engine compiles c. The error lists every problem by the parameters of core-metrics-extractor.
func (c *EngineConfig) engine() (*engine, error) {
	var errs []error
	spec := func(field, text, from string) promtext.Want {
		if text == "" {
			return promtext.Want{}
		}
		w, err := parseSpec(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", field, err))
		}
		w.From = from
		return w
	}
	if c.Name == "" || c.Name == "default" {
		errs = append(errs, fmt.Errorf("name: %q is no name of an engine", c.Name))
	}
	metrics := [quantities]promtext.Want{
		waiting:   spec("queuedRequestsSpec", c.Waiting, ""),
		running:   spec("runningRequestsSpec", c.Running, ""),
		kvUsage:   spec("kvUsageSpec", c.KVUsage, ""),
		blockSize: spec("cacheBlockSizeSpec", c.BlockSize, ""),
		numBlocks: spec("cacheNumBlocksSpec", c.NumBlocks, ""),
		lora:      spec("loraSpec", c.LoRA, ""),
	}
	if metrics[lora].Family != "" {
		metrics[lora].Texts, metrics[lora].Combine = loraTexts, promtext.Largest
	}
	for _, size := range []struct {
		quantity int
		label    string
	}{{blockSize, c.BlockSizeLabel}, {numBlocks, c.NumBlocksLabel}} {
		if metrics[size.quantity].Family == "" && size.label != "" {
			metrics[size.quantity] = spec("cacheInfoSpec", c.CacheInfo, size.label)
		}
	}
	e := newEngine(c.Name, metrics)
	if len(c.Custom) > MaxCustom {
		errs = append(errs, fmt.Errorf("customMetrics: %d are more than %d", len(c.Custom), MaxCustom))
		return nil, errors.Join(errs...)
	}
	for i, m := range c.Custom {
		field := fmt.Sprintf("customMetrics[%d]", i)
		if m.Key == "" || slices.Contains(e.keys, m.Key) {
			errs = append(errs, fmt.Errorf("%s.attributeKey: %q is empty or stands twice", field, m.Key))
		}
		if m.Spec == "" {
			errs = append(errs, fmt.Errorf("%s.metricSpec: is empty", field))
		}
		e.keys = append(e.keys, m.Key)
		e.wants = append(e.wants, spec(field+".metricSpec", m.Spec, ""))
	}
	if len(e.wants) == 0 {
		errs = append(errs, errors.New("has no metric"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return e, nil
}

// parseSpec reads "name" or "name{label=value,…}", with or without quotes around values.
func parseSpec(text string) (promtext.Want, error) {
	text = strings.TrimSpace(text)
	name, rest, braces := strings.Cut(text, "{")
	w := promtext.Want{Family: strings.TrimSpace(name)}
	if !validFamily(w.Family) {
		return w, fmt.Errorf("%q does not begin with the name of a metric; write name or name{label=value}", text)
	}
	if !braces {
		return w, nil
	}
	rest, closed := strings.CutSuffix(rest, "}")
	if !closed {
		return w, fmt.Errorf("%q has no closing brace at its end", text)
	}
	for rest = strings.TrimSpace(rest); rest != ""; {
		label, after, ok := strings.Cut(rest, "=")
		if label = strings.TrimSpace(label); !ok || !validLabel(label) {
			return w, fmt.Errorf("%q has no label=value where one should be", text)
		}
		value, after, err := specValue(strings.TrimSpace(after))
		if err != nil {
			return w, fmt.Errorf("%q: label %s: %w", text, label, err)
		}
		if slices.ContainsFunc(w.Match, func(l promtext.Label) bool { return l.Name == label }) {
			return w, fmt.Errorf("%q has label %s twice", text, label)
		}
		w.Match = append(w.Match, promtext.Label{Name: label, Value: value})
		if rest = strings.TrimSpace(after); rest == "" {
			break
		}
		if rest[0] != ',' {
			return w, fmt.Errorf("%q has no comma after label %s", text, label)
		}
		rest = strings.TrimSpace(rest[1:])
	}
	if len(w.Match) > promtext.MaxMatch {
		return w, fmt.Errorf("%q has more than %d labels", text, promtext.MaxMatch)
	}
	return w, nil
}

// specValue reads a value and returns what follows it.
func specValue(text string) (value, rest string, err error) {
	if text == "" || text[0] != '"' {
		end := strings.IndexByte(text, ',')
		if end < 0 {
			end = len(text)
		}
		return strings.TrimSpace(text[:end]), text[end:], nil
	}
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return b.String(), text[i+1:], nil
		case c == '\\' && i+1 < len(text):
			i++
			if c = text[i]; c == 'n' {
				c = '\n'
			}
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return "", "", errors.New("the value has no closing quote")
}

func validFamily(name string) bool {
	return name != "" && strings.Trim(name, nameBytes+":") == "" && (name[0] < '0' || name[0] > '9')
}

func validLabel(name string) bool {
	return name != "" && strings.Trim(name, nameBytes) == "" && (name[0] < '0' || name[0] > '9') && name != "__name__"
}

const nameBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

// attributes returns the custom metrics of a page. That is old itself if nothing differs. A metric that is absent or not
// finite keeps its value.
func (l *loop) attributes(old *Attributes) (next *Attributes, found int) {
	first := len(l.engine.wants) - len(l.engine.keys)
	for i := range l.engine.keys {
		v, ok := finite(l.values[first+i])
		if !ok {
			continue
		}
		found++
		if next == nil {
			if old != nil && old.Values[i] == v {
				continue
			}
			next = l.engine.copyOf(old)
		}
		next.Values[i] = v
	}
	if next == nil {
		next = old
	}
	return next, found
}

// copyOf returns a copy of old that may be written to.
func (e *engine) copyOf(old *Attributes) *Attributes {
	next := &Attributes{Keys: e.keys, Values: make([]float64, len(e.keys))}
	for i := range next.Values {
		next.Values[i] = math.NaN()
	}
	if old != nil {
		copy(next.Values, old.Values)
	}
	return next
}

// Of returns the value of the metric called key; NaN if the engine has none, or never told it.
func (a *Attributes) Of(key string) float64 {
	if a != nil {
		if i := slices.Index(a.Keys, key); i >= 0 {
			return a.Values[i]
		}
	}
	return math.NaN()
}
