package labelmatch

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/plugintest"
)

var spec = scorers.Spec{
	Type: "test",
	New:  func(u *scorers.Setup) (any, error) { return ByValue(u.Label("color"), false, "red", "green", ""), nil },
}

func colors(values ...string) []plugintest.EP {
	eps := make([]plugintest.EP, len(values))
	for i, v := range values {
		if v != "none" {
			eps[i].Labels = map[string]string{"color": v}
		}
	}
	return eps
}

func TestByValue(t *testing.T) {
	eps := colors("red", "blue", "none", "green", "", "reddish")
	for _, tt := range []struct {
		name    string
		unknown bool
		want    []int
	}{
		{"labels told", false, []int{0, 3, 4}},
		{"labels not told yet", true, []int{0, 1, 2, 3, 4, 5}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, err := plugintest.NewWith(plugintest.Config{UnknownLabels: tt.unknown}, &spec, nil, eps, plugintest.Req{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, b.Filter()); diff != "" {
				t.Errorf("kept (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFollowsEndpoints(t *testing.T) {
	b, err := plugintest.New(&spec, nil, colors("red", "blue", "blue"), plugintest.Req{})
	if err != nil {
		t.Fatal(err)
	}
	steps := []struct {
		name string
		eps  []plugintest.EP
		want []int
	}{
		{"labels change", colors("blue", "red", "none"), []int{1}},
		{"more endpoints", colors("blue", "red", "none", "red", "red", "blue", "red"), []int{1, 3, 4, 6}},
		{"fewer endpoints", colors("red"), []int{0}},
		{"another in the slot", []plugintest.EP{{Name: "ns/other"}, {Name: "ns/red", Labels: map[string]string{"color": "red"}}}, []int{1}},
	}
	for _, s := range steps {
		b.Endpoints(s.eps)
		if diff := cmp.Diff(s.want, b.Filter()); diff != "" {
			t.Errorf("%s: kept (-want +got):\n%s", s.name, diff)
		}
	}
}

func TestForgottenSlotIsNotJudged(t *testing.T) {
	m := ByValue(0, false, "red")
	m.Grow(2)
	var f scorers.Facts
	f.Reset(nil, nil, 0, 1)
	f.SetLabel(0, nil, scorers.Absent)
	m.Facts(1, &f)
	m.Forget(1)
	m.Grow(1) // slots never shrink
	c := scorers.Cycle{Pass: make([]bool, 2)}
	if diff := cmp.Diff([]int32{1}, m.Filter(&c, []int32{1})); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
}
