package headerlabelaffinityscorer

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/scorers/plugintest"
	"github.com/zerohop/zerohop/shared/plan"
)

func params(header, label string) plan.Params {
	return plan.Params{plugintest.Text(paramHeader, header), plugintest.Text(paramLabel, label)}
}

func slices(values ...string) []plugintest.EP { return plugintest.Labelled("slice", values...) }

func TestScore(t *testing.T) {
	tests := []struct {
		name    string
		headers map[string]string
		unknown bool
		eps     []plugintest.EP
		want    []float64
	}{
		{"S34", map[string]string{"x-slice": "slice-a"}, false, slices("slice-a", "slice-b", "none"), []float64{1, 0, 0}},
		{"S34 no header", nil, false, slices("slice-a", "slice-b", "none"), []float64{0, 0, 0}},
		{"empty header", map[string]string{"x-slice": " "}, false, slices("a", "", "none"), []float64{0, 0, 0}},
		{"blanks", map[string]string{"x-slice": " a "}, false, slices("a", "b"), []float64{1, 0}},
		{"case of the value", map[string]string{"x-slice": "A"}, false, slices("a"), []float64{0}},
		{"several", map[string]string{"x-slice": "a"}, false, slices("a", "a"), []float64{1, 1}},
		{"labels not known yet", map[string]string{"x-slice": "a"}, true, slices("a"), []float64{0}},
		{"no endpoint", map[string]string{"x-slice": "a"}, false, nil, []float64{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			conf := plugintest.Config{UnknownLabels: tt.unknown}
			b, err := plugintest.NewWith(conf, &Spec, params("X-Slice", "slice"), tt.eps, plugintest.Req{Headers: tt.headers})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, b.Score()); diff != "" {
				t.Errorf("scores (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSlotsAreGivenAway(t *testing.T) {
	b, err := plugintest.New(&Spec, params("x-slice", "slice"), slices("a", "b"), plugintest.Req{Headers: map[string]string{"x-slice": "a"}})
	if err != nil {
		t.Fatal(err)
	}
	steps := []struct {
		name string
		eps  []plugintest.EP
		want []float64
	}{
		{"labels change", slices("b", "a"), []float64{0, 1}},
		{"label goes", slices("b", "none"), []float64{0, 0}},
		{"back", slices("b", "a"), []float64{0, 1}},
		{"gone", slices("b"), []float64{0}},
		{"the slot has another endpoint", append(slices("b"), plugintest.EP{Name: "ns/other"}), []float64{0, 0}},
		{"more slots", slices("a", "b", "a", "b", "a", "b", "a"), []float64{1, 0, 1, 0, 1, 0, 1}},
	}
	for _, tt := range steps {
		b.Endpoints(tt.eps)
		b.Request(plugintest.Req{Headers: map[string]string{"x-slice": "a"}})
		if diff := cmp.Diff(tt.want, b.Score()); diff != "" {
			t.Errorf("%s: scores (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestNew(t *testing.T) {
	tests := []struct {
		name    string
		params  plan.Params
		wantErr string
	}{
		{"nothing", nil, "headerName: missing\nlabelKey: missing"},
		{"empty header", params(" ", "a"), "headerName: is empty; write"},
		{"empty label", params("a", ""), "labelKey: is empty; write"},
		{"both", params("a", "a"), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := plugintest.New(&Spec, tt.params, nil, plugintest.Req{})
			if (err == nil) != (tt.wantErr == "") || err != nil && !strings.HasPrefix(err.Error(), tt.wantErr) {
				t.Errorf("error %v, want %q", err, tt.wantErr)
			}
		})
	}
}
