package concurrencydetector

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/scorers/plugintest"
	"github.com/zerohop/zerohop/shared/plan"
)

func params(mode string, requests, tokens, headroom float64) plan.Params {
	return plan.Params{
		{Name: paramMode, Kind: plan.String, Str: mode},
		{Name: paramRequests, Num: requests},
		{Name: paramTokens, Num: tokens},
		{Name: paramHeadroom, Num: headroom},
	}
}

func ep(requests int32, tokens int64) plugintest.EP {
	return plugintest.EP{InFlight: requests, Tokens: tokens}
}

func TestSaturation(t *testing.T) {
	tests := []struct {
		name   string
		params plan.Params
		eps    []plugintest.EP
		want   float64
	}{
		{"C4 0 of 10", params(modeRequests, 10, 1, 0), []plugintest.EP{ep(0, 9)}, 0},
		{"C4 5 of 10", params(modeRequests, 10, 1, 0), []plugintest.EP{ep(5, 9)}, .5},
		{"C4 10 of 10", params(modeRequests, 10, 1, 0), []plugintest.EP{ep(10, 9)}, 1},
		{"C4 49 of 50", params(modeRequests, 50, 1, 0), []plugintest.EP{ep(49, 9)}, .98},
		{"C4 50 of 50", params(modeRequests, 50, 1, 0), []plugintest.EP{ep(50, 9)}, 1},
		{"sum of requests", params(modeRequests, 10, 1, 0), []plugintest.EP{ep(20, 0), ep(0, 0), ep(4, 0)}, .8},
		{"tokens", params(modeTokens, 1, 1000, 0), []plugintest.EP{ep(9, 1500), ep(9, 100)}, .8},
		{"hybrid is the greater of each", params(modeHybrid, 10, 1000, 0), []plugintest.EP{ep(5, 100), ep(1, 900)}, .7},
		{"headroom is for the filter", params(modeRequests, 10, 1, 1), []plugintest.EP{ep(10, 0)}, 1},
		{"no endpoint", nil, nil, 1},
		{"defaults", nil, []plugintest.EP{ep(25, 1e9)}, .25},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, err := plugintest.New(&Spec, tt.params, tt.eps, plugintest.Req{})
			if err != nil {
				t.Fatal(err)
			}
			if got := b.Saturation(); !(math.Abs(got-tt.want) <= 1e-12) {
				t.Errorf("saturation %v, want %v", got, tt.want)
			}
		})
	}
}

func TestFilter(t *testing.T) {
	tests := []struct {
		name   string
		params plan.Params
		eps    []plugintest.EP
		want   []int
	}{
		{"F24", params(modeRequests, 50, 1, .2), []plugintest.EP{ep(59, 9), ep(60, 0)}, []int{0}},
		{"limits are whole", params(modeRequests, 5, 1, .3), []plugintest.EP{ep(5, 0), ep(6, 0)}, []int{0}},
		{"tokens", params(modeTokens, 1, 1000, 0), []plugintest.EP{ep(9, 999), ep(0, 1000)}, []int{0}},
		{"hybrid needs both", params(modeHybrid, 10, 1000, 0), []plugintest.EP{ep(9, 1000), ep(10, 999), ep(9, 999)}, []int{2}},
		{"may leave nothing", params(modeRequests, 1, 1, 0), []plugintest.EP{ep(1, 0), ep(2, 0)}, []int{}},
		{"no news is needed", params(modeRequests, 1, 1, 0), []plugintest.EP{{Unscraped: true}}, []int{0}},
		{"limit beyond integers", params(modeHybrid, 1e300, 1e300, 1), []plugintest.EP{ep(math.MaxInt32, 1e18)}, []int{0}},
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

func TestParameters(t *testing.T) {
	for _, tt := range []struct {
		name   string
		params plan.Params
		want   string
	}{
		{"requests", params(modeRequests, 0, 1, 0), "maxConcurrency: want an integer above 0"},
		{"tokens", params(modeRequests, 1, -1, 0), "maxTokenConcurrency: want an integer above 0"},
		{"headroom", params(modeRequests, 1, 1, -1), "headroom: want a number of at least 0"},
		{"mode", params("both", 1, 1, 0), "concurrencyMode: want one of requests, tokens, hybrid"},
	} {
		_, err := plugintest.New(&Spec, tt.params, nil, plugintest.Req{})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %s", tt.name, err, tt.want)
		}
	}
}
