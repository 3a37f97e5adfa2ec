package contextlengthaware

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/zerohop/zerohop/scorers/plugintest"
	"github.com/zerohop/zerohop/shared/plan"
)

// labelled returns endpoints with these ranges; "none" is an endpoint without the label.
func labelled(ranges ...string) []plugintest.EP {
	eps := make([]plugintest.EP, len(ranges))
	for i, r := range ranges {
		if r != "none" {
			eps[i].Labels = map[string]string{defaultLabel: r}
		}
	}
	return eps
}

func bed(t *testing.T, conf plugintest.Config, filtering bool, eps []plugintest.EP, length int) *plugintest.Bed {
	t.Helper()
	var params plan.Params
	if filtering {
		params = plan.Params{{Name: paramFilter, Kind: plan.Bool, Num: 1}}
	}
	b, err := plugintest.NewWith(conf, &Spec, params, eps, plugintest.Req{Tokens: length})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestScore(t *testing.T) {
	eps := labelled("0-100", "0-2000", "0-10000", "500-1000", "none", "x", "100-100")
	tests := []struct {
		name   string
		length int
		want   []float64
	}{
		{"S23", 0, []float64{.9951485149, .9183333333, .755, .2, .5, 0, .2727272727}},
		{"S24", 50, []float64{.8901485149, .9130833333, .75395, .2068965517, .5, 0, .2857142857}},
		{"S25", 100, []float64{.7851485149, .9078333333, .7529, .2142857143, .5, 0, 1}},
		{"S26", 1500, []float64{.125, .7608333333, .7235, .2, .5, 0, .125}},
		{"S27", 5000, []float64{.05084745763, .075, .65, .06, .5, 0, .05084745763}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := bed(t, plugintest.Config{}, false, eps, tt.length).Score()
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
				t.Errorf("scores (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFilter(t *testing.T) {
	tests := []struct {
		name      string
		filtering bool
		unknown   bool
		length    int
		ranges    []string
		want      []int
	}{
		{"F12", true, false, 0, []string{"0-100", "100-500", "0-2000", "none"}, []int{0, 2, 3}},
		{"bounds belong to the range", true, false, 100, []string{"0-100", "100-500", "101-500", "0-99"}, []int{0, 1}},
		{"unusable ranges are dropped", true, false, 5, []string{"", "x", "0-10"}, []int{2}},
		{"off", false, false, 5, []string{"", "x", "100-200"}, []int{0, 1, 2}},
		{"labels not told yet", true, true, 5, []string{"", "x", "100-200"}, []int{0, 1, 2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := bed(t, plugintest.Config{UnknownLabels: tt.unknown}, tt.filtering, labelled(tt.ranges...), tt.length)
			if diff := cmp.Diff(tt.want, b.Filter()); diff != "" {
				t.Errorf("kept (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFollowsEndpoints(t *testing.T) {
	b := bed(t, plugintest.Config{}, true, labelled("0-10", "20-30"), 25)
	for _, step := range []struct {
		name   string
		ranges []string
		want   []int
	}{
		{"ranges change", []string{"20-30", "0-10"}, []int{0}},
		{"more endpoints", []string{"20-30", "0-10", "x", "none", "25-25"}, []int{0, 3, 4}},
		{"fewer, and labels go", []string{"none"}, []int{0}},
	} {
		b.Endpoints(labelled(step.ranges...))
		if diff := cmp.Diff(step.want, b.Filter()); diff != "" {
			t.Errorf("%s: kept (-want +got):\n%s", step.name, diff)
		}
	}
}

func TestParse(t *testing.T) {
	tests := []struct {
		text string
		want tokens
	}{
		{"0-100", tokens{usable, 0, 100}},
		{" 5 - 7 ", tokens{usable, 5, 7}},
		{"7-7", tokens{usable, 7, 7}},
		{"", tokens{state: unusable}}, // S28, as the next three
		{"0-100-200", tokens{state: unusable}},
		{"100-50", tokens{state: unusable}},
		{"abc-100", tokens{state: unusable}},
		{"100", tokens{state: unusable}},
		{"-100", tokens{state: unusable}},
		{"1-", tokens{state: unusable}},
		{"1.5-2", tokens{state: unusable}},
		{"0-99999999999999999999", tokens{state: unusable}},
	}
	for _, tt := range tests {
		if got := parse(tt.text); got != tt.want {
			t.Errorf("%q: %+v, want %+v", tt.text, got, tt.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"0-100", "", "a-b", "1-2-3", "100-50", "+1-2"} {
		f.Add(seed, 50)
	}
	f.Fuzz(func(t *testing.T, text string, length int) {
		r := parse(text)
		if r.state == usable {
			if r.lo > r.hi {
				t.Fatalf("%q: %+v", text, r)
			}
			if v := r.score(length); !(v >= 0 && v <= 1) {
				t.Fatalf("%q: score %v at %d", text, v, length)
			}
		}
	})
}

func TestEmptyLabelIsRefused(t *testing.T) {
	if _, err := plugintest.New(&Spec, plan.Params{{Name: paramLabel, Kind: plan.String}}, nil, plugintest.Req{}); err == nil {
		t.Error("loads")
	}
}
