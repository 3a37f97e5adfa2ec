// Package oracle reads the numbers of package promtext with prometheus/common's parser, which reads a whole page into
// protocol buffers. Tests and benchmarks compare the two; the agent links it only with the build tag expfmt.
package oracle

import (
	"bytes"
	"math"
	"slices"
	"strconv"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/zerohop/zerohop/xds/scrape/promtext"
)

// Reader reads pages as promtext.Scanner does.
type Reader struct{ wants []promtext.Want }

// New returns a reader for wants.
func New(wants []promtext.Want) *Reader { return &Reader{wants} }

// Scan reads a page. It sets all values, one for each want.
func (r *Reader) Scan(page []byte, values []promtext.Value) error {
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(page))
	if err != nil {
		return err
	}
	for i := range r.wants {
		values[i] = read(families[r.wants[i].Family], &r.wants[i])
	}
	return nil
}

// read combines the series of a family.
func read(f *dto.MetricFamily, w *promtext.Want) promtext.Value {
	var out promtext.Value
	newest := int64(0)
	for _, m := range f.GetMetric() {
		number, ok := value(m)
		if !ok || !matches(m, w.Match) {
			continue
		}
		if w.From != "" {
			number = labelNumber(m, w.From)
		}
		switch {
		case !out.Seen:
			out.Number = number
		case w.Combine == promtext.Largest:
			if number < out.Number || math.IsNaN(number) && !math.IsNaN(out.Number) {
				continue
			}
			out.Number = number
		case m.GetTimestampMs() > newest:
			out.Number = number
		default:
			continue
		}
		newest, out.Seen, out.Texts = m.GetTimestampMs(), true, texts(m, w.Texts)
	}
	return out
}

// value returns the value of a gauge, counter or untyped series.
func value(m *dto.Metric) (float64, bool) {
	switch {
	case m.GetGauge() != nil:
		return m.GetGauge().GetValue(), true
	case m.GetCounter() != nil:
		return m.GetCounter().GetValue(), true
	case m.GetUntyped() != nil:
		return m.GetUntyped().GetValue(), true
	}
	return 0, false
}

func matches(m *dto.Metric, labels []promtext.Label) bool {
	for _, want := range labels {
		if !slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool { return l.GetName() == want.Name && l.GetValue() == want.Value }) {
			return false
		}
	}
	return true
}

// texts returns the values of labels; nil where one is missing.
func texts(m *dto.Metric, labels []string) [][]byte {
	if len(labels) == 0 {
		return nil
	}
	out := make([][]byte, 0, len(labels))
	for _, label := range labels {
		var value []byte
		for _, l := range m.GetLabel() {
			if l.GetName() == label {
				value = append([]byte{}, l.GetValue()...)
			}
		}
		out = append(out, value)
	}
	return out
}

func text(m *dto.Metric, label string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == label {
			return l.GetValue()
		}
	}
	return ""
}

func labelNumber(m *dto.Metric, label string) float64 {
	n, err := strconv.ParseUint(text(m, label), 10, 32)
	if err != nil {
		return math.NaN()
	}
	return float64(n)
}
