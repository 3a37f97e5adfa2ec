package inflightloadproducer

import (
	"math"
	"testing"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/plugintest"
	"github.com/zerohop/zerohop/shared/plan"
)

func number(name string, v float64) plan.Param { return plan.Param{Name: name, Num: v} }

// output turns the estimate of the answer on.
func output(more ...plan.Param) plan.Params {
	return append(plan.Params{{Name: paramOutput, Kind: plan.Bool, Num: 1}}, more...)
}

// TestR31 has the estimates of answers alone: of a prompt that the endpoint holds in full.
func TestR31(t *testing.T) {
	tests := []struct {
		name   string
		params plan.Params
		req    plugintest.Req
		want   int32
	}{
		{"10 at 1.5", output(), plugintest.Req{Tokens: 10}, 15},
		{"10 at 2", output(number(paramRatio, 2)), plugintest.Req{Tokens: 10}, 20},
		{"10 at 0", output(number(paramRatio, 0)), plugintest.Req{Tokens: 10}, 0},
		{"100, request's cap 40", output(), plugintest.Req{Tokens: 100, MaxTokens: 40}, 40},
		{"100, plugin's cap 40", output(number(paramMax, 40)), plugintest.Req{Tokens: 100}, 40},
		{"the lower cap", output(number(paramMax, 50)), plugintest.Req{Tokens: 100, MaxTokens: 40}, 40},
		{"cap above the estimate", output(number(paramMax, 500)), plugintest.Req{Tokens: 100, MaxTokens: 400}, 150},
		{"100, no cap", output(), plugintest.Req{Tokens: 100}, 150},
		{"cap 0", output(number(paramMax, 0)), plugintest.Req{Tokens: 100}, 0},
		{"rounded", output(), plugintest.Req{Tokens: 1}, 2},
		{"no prompt", output(), plugintest.Req{MaxTokens: 40}, 0},
		{"off", nil, plugintest.Req{Tokens: 100, MaxTokens: 40}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.req.BlockTokens, tt.req.Blocks = max(tt.req.Tokens, 1), 1
			b, err := plugintest.New(&Spec, tt.params, []plugintest.EP{{Match: 1}}, tt.req)
			if err != nil {
				t.Fatal(err)
			}
			if got, hold := b.Estimate(0); got != tt.want || hold != (tt.params != nil) {
				t.Errorf("%d tokens, until the end %v; want %d", got, hold, tt.want)
			}
		})
	}
}

func TestPrompt(t *testing.T) {
	eps := []plugintest.EP{{}, {Match: 1}, {Match: 3}, {Match: 9}}
	tests := []struct {
		name   string
		params plan.Params
		req    plugintest.Req
		want   []int32
	}{
		{"what is not held", nil, plugintest.Req{Tokens: 200, Blocks: 3}, []int32{200, 136, 8, 8}},
		{"a last block that is not full", nil, plugintest.Req{Tokens: 150, Blocks: 3}, []int32{192, 128, 0, 0}},
		{"universal blocks", nil, plugintest.Req{Tokens: 200, Blocks: 2, Universal: 1}, []int32{200, 72, 8, 8}},
		{"not understood", nil, plugintest.Req{Tokens: 200}, []int32{200, 200, 200, 200}},
		{"with the answer", output(), plugintest.Req{Tokens: 200, Blocks: 3}, []int32{500, 436, 308, 308}},
		{"longest", output(number(paramRatio, 1e300)), plugintest.Req{Tokens: math.MaxInt32}, []int32{math.MaxInt32, math.MaxInt32, math.MaxInt32, math.MaxInt32}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, err := plugintest.New(&Spec, tt.params, eps, tt.req)
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range tt.want {
				if got, _ := b.Estimate(i); got != want {
					t.Errorf("endpoint %d: %d tokens, want %d", i, got, want)
				}
			}
		})
	}
}

func TestParameters(t *testing.T) {
	for name, params := range map[string]plan.Params{
		"ratio below 0": {number(paramRatio, -.1)},
		"cap below 0":   {number(paramMax, -1)},
		"infinite":      {number(paramRatio, math.Inf(1))},
		"unknown":       {number("outputTokens", 1)},
	} {
		if _, err := plugintest.New(&Spec, params, nil, plugintest.Req{}); err == nil {
			t.Errorf("%s: loads", name)
		}
	}
	sync := plan.Params{{Name: paramSync, Kind: plan.Bool}}
	if _, err := plugintest.New(&Spec, sync, nil, plugintest.Req{}); err != nil {
		t.Errorf("%s false: %v", paramSync, err)
	}
}

func TestAllocations(t *testing.T) {
	b, err := plugintest.New(&Spec, output(), []plugintest.EP{{}}, plugintest.Req{Tokens: 100, Blocks: 1})
	if err != nil {
		t.Fatal(err)
	}
	p := b.Plugin.(scorers.LoadEstimator)
	if n := testing.AllocsPerRun(100, func() { p.Estimate(&b.Cycle, plugintest.Slot(0)) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
