package sloheadroomtierfilter

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/scorers/plugintest"
	"github.com/zerohop/zerohop/shared/plan"
)

func explore(v float64) plan.Params { return plan.Params{{Name: paramExplore, Num: v}} }

// headroom is a prediction with these headrooms.
func headroom(ttft, tpot float64) plugintest.EP {
	return plugintest.EP{Pred: &plugintest.Pred{TTFTHeadroom: ttft, TPOTHeadroom: tpot}}
}

func TestFilter(t *testing.T) {
	pos, neg, none := headroom(10, 5), headroom(10, -5), plugintest.EP{}
	tests := []struct {
		name   string
		params plan.Params
		eps    []plugintest.EP
		want   []int
	}{
		{"F19", explore(0), []plugintest.EP{pos, pos, neg}, []int{0, 1}},
		{"F19 explores", explore(1), []plugintest.EP{pos, pos, neg}, []int{2}},
		{"F20 no predictions", explore(0), []plugintest.EP{none, none}, []int{0, 1}},
		{"F20 all negative", explore(0), []plugintest.EP{neg, headroom(-1, 1)}, []int{0, 1}},
		{"all positive are never explored", explore(1), []plugintest.EP{pos, pos}, []int{0, 1}},
		{"zero is positive", explore(0), []plugintest.EP{headroom(0, 0), neg}, []int{0}},
		{"no prediction is negative", explore(0), []plugintest.EP{none, pos, neg}, []int{1}},
		{"no prediction, none positive", explore(0), []plugintest.EP{none, neg}, []int{0, 1}},
		{"not a number is negative", explore(0), []plugintest.EP{headroom(math.NaN(), 1), pos}, []int{1}},
		{"one endpoint", explore(1), []plugintest.EP{pos}, []int{0}},
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

func TestF20RefusesMoreThanAll(t *testing.T) {
	_, err := plugintest.New(&Spec, explore(1.5), nil, plugintest.Req{})
	if err == nil || !strings.Contains(err.Error(), "epsilonExploreNeg: want a number from 0 to 1") {
		t.Errorf("error %v", err)
	}
}

func TestExploresAsOftenAsAsked(t *testing.T) {
	const rounds = 10000
	b, err := plugintest.New(&Spec, explore(.1), []plugintest.EP{headroom(1, 1), headroom(-1, 1)}, plugintest.Req{})
	if err != nil {
		t.Fatal(err)
	}
	explored := 0
	for range rounds {
		explored += b.Filter()[0]
	}
	if share := float64(explored) / rounds; share < .089 || share > .111 { // 3.5 standard deviations
		t.Errorf("a share of %.3f is explored, want .1", share)
	}
}
