package utilizationfilter

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/scorers/plugintest"
	"github.com/zerohop/zerohop/shared/plan"
)

func limit(i int, metric string, most float64) plan.Params {
	at := plan.Element(paramConditions, i)
	return plan.Params{{Name: at + ".metric", Kind: plan.String, Str: metric}, {Name: at + ".maxValue", Num: most}}
}

func TestFilter(t *testing.T) {
	fallback := plan.Param{Name: paramFallback, Kind: plan.Bool, Num: 1}
	f6 := append(limit(0, metricRunning, 40), limit(1, metricWaiting, 0)...)
	tests := []struct {
		name   string
		parity bool
		params plan.Params
		eps    []plugintest.EP
		want   []int
	}{
		{"F3", false, limit(0, metricActive, 2), []plugintest.EP{{InFlight: 1}, {InFlight: 2}, {InFlight: 3}}, []int{0, 1}},
		{"F4", false, limit(0, metricActive, 1), []plugintest.EP{{}, {InFlight: 5}}, []int{0}},
		{"F5 running", false, limit(0, metricRunning, 4), []plugintest.EP{{Running: 4}, {Running: 5}}, []int{0}},
		{"F5 waiting", false, limit(0, metricWaiting, 0), []plugintest.EP{{}, {Waiting: 3}}, []int{0}},
		{"F5 kv", false, limit(0, metricKV, .8), []plugintest.EP{{KV: .5}, {KV: .9}}, []int{0}},
		{"F6", false, f6, []plugintest.EP{{Running: 10}, {Running: 41}, {Running: 10, Waiting: 1}}, []int{0}},
		{"boundary is kept", false, limit(0, metricKV, .8), []plugintest.EP{{KV: .8}}, []int{0}},
		{"nothing left", false, limit(0, metricActive, 0), []plugintest.EP{{InFlight: 1}, {InFlight: 2}}, []int{}},
		{
			"nothing left, fall back", false, append(limit(0, metricActive, 0), fallback),
			[]plugintest.EP{{InFlight: 2}, {InFlight: 1}},
			[]int{0, 1},
		},
		{"own picks do not wait", false, limit(0, metricWaiting, 0), []plugintest.EP{{Own: .25}}, []int{0}},
		{"no news is not held against it", false, f6, []plugintest.EP{{Running: 99, AgeMs: 1e4}, {Unscraped: true}}, []int{0, 1}},
		{"parity takes the last numbers", true, f6, []plugintest.EP{{Running: 99, AgeMs: 1e4}, {Unscraped: true}}, []int{1}},
		{"own requests count without news", false, limit(0, metricActive, 0), []plugintest.EP{{Unscraped: true, InFlight: 1}}, []int{}},
		{
			"not a number, and below zero", false, limit(0, metricKV, .5),
			[]plugintest.EP{{KV: math.NaN()}, {KV: -1}, {KV: math.Inf(1)}},
			[]int{0, 1},
		},
		{"no endpoint", false, f6, nil, []int{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, err := plugintest.NewWith(plugintest.Config{Parity: tt.parity}, &Spec, tt.params, tt.eps, plugintest.Req{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, b.Filter()); diff != "" {
				t.Errorf("kept (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParameters(t *testing.T) {
	tests := []struct {
		name   string
		params plan.Params
		want   string
	}{
		{"no condition", nil, "conditions: missing; want at least one element"},
		{"unknown metric", limit(0, "load", 1), "conditions[0].metric: want one of active-requests, running-requests, waiting-queue, kv-"},
		{"no limit", limit(0, metricKV, 1)[:1], "conditions[0].maxValue: missing"},
		{"negative", limit(0, metricRunning, -1), "conditions[0].maxValue: want a number of at least 0"},
		{"share above 1", append(limit(0, metricRunning, 5), limit(1, metricKV, 80)...), "conditions[1].maxValue: kv-cache-utilization is a share"},
	}
	for _, tt := range tests {
		_, err := plugintest.New(&Spec, tt.params, nil, plugintest.Req{})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %s", tt.name, err, tt.want)
		}
	}
}
