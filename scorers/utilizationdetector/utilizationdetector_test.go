package utilizationdetector

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/scorers/plugintest"
	"github.com/zerohop/zerohop/shared/plan"
)

func num(name string, v float64) plan.Param { return plan.Param{Name: name, Num: v} }

// c3 are the parameters of vector C3.
var c3 = plan.Params{num(paramQueue, 5), num(paramKV, .9), num(paramAge, 100e6)}

// ep has a queue and a use of its KV cache.
func ep(queue, kv float64) plugintest.EP { return plugintest.EP{Waiting: queue, KV: kv} }

var (
	stale   = plugintest.EP{AgeMs: 1000}
	missing = plugintest.EP{Unscraped: true}
)

func TestSaturation(t *testing.T) {
	tests := []struct {
		name   string
		params plan.Params
		eps    []plugintest.EP
		want   float64
	}{
		{"C1 no endpoint", nil, nil, 1},
		{"C1 idle", nil, []plugintest.EP{ep(0, 0)}, 0},
		{"C1 queue", nil, []plugintest.EP{ep(5, 0)}, 1},
		{"C1 KV counts", nil, []plugintest.EP{ep(2, .5)}, .625},
		{"C1 KV", nil, []plugintest.EP{ep(1, .8)}, 1},
		{"C1 above 1", nil, []plugintest.EP{ep(0, 1)}, 1.25},
		{"C2 mean", nil, []plugintest.EP{ep(10, .2), ep(0, .4)}, 1.25},
		{"C2 stale", nil, []plugintest.EP{ep(0, 0), stale}, .5},
		{"C3 one", c3, []plugintest.EP{ep(2, .5)}, .5556},
		{"C3 queue", c3, []plugintest.EP{ep(10, .1)}, 2},
		{"C3 KV", c3, []plugintest.EP{ep(1, .95)}, 1.0556},
		{"C3 none", c3, []plugintest.EP{missing}, 1},
		{"C3 two", c3, []plugintest.EP{ep(1, .1), ep(0, .2)}, .2111},
		{"C3 two, one full", c3, []plugintest.EP{ep(1, .1), ep(15, .2)}, 1.6},
		{"C3 three", c3, []plugintest.EP{stale, ep(20, .2), ep(1, .99)}, 2.0333},
		{"own picks do not wait", nil, []plugintest.EP{{Own: 5}}, 0},
		{"not a number is no news", nil, []plugintest.EP{ep(0, math.NaN())}, 1},
		{"below zero is idle", nil, []plugintest.EP{ep(-5, -1)}, 0},
		{"infinite", nil, []plugintest.EP{ep(0, math.Inf(1))}, math.Inf(1)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, err := plugintest.New(&Spec, tt.params, tt.eps, plugintest.Req{})
			if err != nil {
				t.Fatal(err)
			}
			if got := b.Saturation(); got != tt.want && !(math.Abs(got-tt.want) <= 5e-5) {
				t.Errorf("saturation %v, want %v", got, tt.want)
			}
		})
	}
}

func TestFilter(t *testing.T) {
	headroom := plan.Params{num(paramHeadroom, .2)}
	tests := []struct {
		name   string
		params plan.Params
		eps    []plugintest.EP
		want   []int
	}{
		{"F25", nil, []plugintest.EP{ep(9, .1), ep(0, .9), stale}, []int{0, 1, 2}},
		{"below both", nil, []plugintest.EP{ep(4, .79), ep(5, 0), ep(0, .8)}, []int{0}},
		{"headroom", headroom, []plugintest.EP{ep(5, .95), ep(6, 0), ep(0, .97)}, []int{0}},
		{"stale and missing are dropped", nil, []plugintest.EP{stale, ep(0, 0), missing}, []int{1}},
		{"not a number is dropped", nil, []plugintest.EP{ep(0, math.NaN()), ep(0, 0)}, []int{1}},
		{"no endpoint", nil, nil, []int{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, err := plugintest.New(&Spec, tt.params, tt.eps, plugintest.Req{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, b.Filter()); diff != "" {
				t.Errorf("kept (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAgeLimit wants metrics to count at least as long as three scrapes take.
func TestAgeLimit(t *testing.T) {
	tests := []struct {
		name      string
		params    plan.Params
		scrapeNs  uint64
		ageMs     float64
		saturated bool
	}{
		{"young enough", nil, 0, 200, false},
		{"too old", nil, 0, 201, true},
		{"scrapes are slower", nil, 750e6, 700, false},
		{"three scrapes missed", nil, 750e6, 751, true},
		{"longer than three scrapes", plan.Params{num(paramAge, 2e9)}, 750e6, 1999, false},
	}
	for _, tt := range tests {
		b, err := plugintest.NewWith(plugintest.Config{ScrapeNs: tt.scrapeNs}, &Spec, tt.params,
			[]plugintest.EP{{AgeMs: tt.ageMs}}, plugintest.Req{})
		if err != nil {
			t.Fatal(err)
		}
		if got := b.Saturation() == 1; got != tt.saturated {
			t.Errorf("%s: saturated %v, want %v", tt.name, got, tt.saturated)
		}
	}
}

func TestParameters(t *testing.T) {
	for _, tt := range []struct {
		name  string
		value float64
		want  string
	}{
		{paramQueue, 0, "want an integer above 0"},
		{paramQueue, 1.5, "want an integer"},
		{paramKV, 0, "want a number above 0 up to 1"},
		{paramKV, 1.1, "want a number above 0 up to 1"},
		{paramAge, 0, "above 0"},
		{paramHeadroom, -.1, "want a number of at least 0"},
	} {
		_, err := plugintest.New(&Spec, plan.Params{num(tt.name, tt.value)}, nil, plugintest.Req{})
		if err == nil || !strings.Contains(err.Error(), tt.name+": ") || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s %v: error %v, want %s", tt.name, tt.value, err, tt.want)
		}
	}
}
