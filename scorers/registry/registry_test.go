package registry

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
)

// headings are what each plugin's README has, in this order.
var headings = []string{"What it prefers and why", "Formula", "Inputs", "Parameters", "Failure behaviour", "Example"}

// samples are parameters for the types that cannot do without.
var samples = map[string]plan.Params{
	"by-label": {text("label", "gpu"), text("validValues[0]", "h100")},
	"endpoint-attribute-filter": {
		text("attribute", "load"), text("algorithm.type", "threshold"), text("algorithm.threshold.operator", "LessThan"),
		number("algorithm.threshold.value", 10),
	},
	"endpoint-attribute-scorer":    {text("attributeKey", "depth"), text("algorithm.type", "linear_lower_is_better")},
	"header-label-affinity-scorer": {text("headerName", "x-slice"), text("labelKey", "slice")},
	"utilization-filter":           {text("conditions[0].metric", "waiting-queue"), number("conditions[0].maxValue", 5)},
	"session-id-producer":          {text("headerName", "x-session")},
}

func text(name, value string) plan.Param {
	return plan.Param{Name: name, Kind: plan.String, Str: value}
}

func number(name string, value float64) plan.Param {
	return plan.Param{Name: name, Kind: plan.Number, Num: value}
}

func TestSpecsAreSorted(t *testing.T) {
	specs := Specs()
	if !slices.IsSortedFunc(specs, func(a, b scorers.Spec) int { return strings.Compare(a.Type, b.Type) }) {
		t.Error("the list is not sorted by type")
	}
	for i := 1; i < len(specs); i++ {
		if specs[i].Type == specs[i-1].Type {
			t.Errorf("%s is listed twice", specs[i].Type)
		}
	}
}

func TestInstancesPlayTheirKinds(t *testing.T) {
	for _, s := range Specs() {
		t.Run(s.Type, func(t *testing.T) {
			params, err := s.Complete(samples[s.Type])
			if err != nil {
				t.Fatalf("the parameters are incomplete: %v", err)
			}
			plugin, err := scorers.Alone(&s, params)
			if err != nil {
				t.Fatalf("the parameters are refused: %v", err)
			}
			_, filter := plugin.(scorers.Filter)
			_, scorer := plugin.(scorers.Scorer)
			_, picker := plugin.(scorers.Picker)
			_, handler := plugin.(scorers.ProfileHandler)
			_, admitter := plugin.(scorers.Admitter)
			_, detector := plugin.(scorers.Detector)
			for _, k := range []struct {
				kind  scorers.Kind
				plays bool
			}{
				{scorers.KindFilter, filter},
				{scorers.KindScorer, scorer},
				{scorers.KindPicker, picker},
				{scorers.KindProfileHandler, handler},
				{scorers.KindAdmitter, admitter},
				{scorers.KindDetector, detector},
			} {
				if declared := s.Kinds&k.kind != 0; declared != k.plays {
					t.Errorf("kind %d: declared %v, implemented %v", k.kind, declared, k.plays)
				}
			}
		})
	}
}

func TestDefaultsHaveTheirKind(t *testing.T) {
	for _, s := range Specs() {
		checkParams(t, s.Type, s.Params)
	}
}

// checkParams wants a text for each parameter, fields included, and a default of its kind where there is one.
func checkParams(t *testing.T, path string, params []scorers.Param) {
	for _, p := range params {
		ok := false
		switch p.Default.(type) {
		case nil:
			ok = true
		case float64:
			ok = p.Kind == plan.Number
		case bool:
			ok = p.Kind == plan.Bool
		case string:
			ok = p.Kind == plan.String
		}
		if !ok || p.Doc == "" || p.Default != nil && p.Shape != scorers.Scalar {
			t.Errorf("%s.%s: default %#v of kind %d, doc %q", path, p.Name, p.Default, p.Kind, p.Doc)
		}
		checkParams(t, path+"."+p.Name, p.Fields)
	}
}

func TestREADMEs(t *testing.T) {
	for _, s := range Specs() {
		t.Run(s.Type, func(t *testing.T) {
			path := filepath.Join("..", strings.ReplaceAll(s.Type, "-", ""), "README.md")
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for line := range strings.Lines(string(text)) {
				if h, ok := strings.CutPrefix(line, "## "); ok {
					got = append(got, strings.TrimSpace(h))
				}
			}
			if !slices.Equal(got, headings) {
				t.Errorf("headings %q, want %q", got, headings)
			}
			if !strings.HasPrefix(string(text), "# "+s.Type+"\n") {
				t.Errorf("the title is not %q", s.Type)
			}
			for _, p := range s.Params {
				if !strings.Contains(string(text), "`"+p.Name+"`") {
					t.Errorf("parameter %s is not documented", p.Name)
				}
			}
		})
	}
}

func TestLookup(t *testing.T) {
	if s, ok := Lookup("queue-scorer"); !ok || s.Type != "queue-scorer" {
		t.Errorf("queue-scorer: %q, %v", s.Type, ok)
	}
	if _, ok := Lookup("queue-depth-scorer"); ok {
		t.Error("queue-depth-scorer exists")
	}
}
