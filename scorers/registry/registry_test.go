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
			plugin, err := scorers.Alone(&s, s.Defaults())
			if err != nil {
				t.Fatalf("the defaults are refused: %v", err)
			}
			_, filter := plugin.(scorers.Filter)
			_, scorer := plugin.(scorers.Scorer)
			_, picker := plugin.(scorers.Picker)
			_, handler := plugin.(scorers.ProfileHandler)
			for _, k := range []struct {
				kind  scorers.Kind
				plays bool
			}{
				{scorers.KindFilter, filter},
				{scorers.KindScorer, scorer},
				{scorers.KindPicker, picker},
				{scorers.KindProfileHandler, handler},
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
		for _, p := range s.Params {
			ok := false
			switch p.Default.(type) {
			case float64:
				ok = p.Kind == plan.Number
			case bool:
				ok = p.Kind == plan.Bool
			case string:
				ok = p.Kind == plan.String
			}
			if !ok || p.Doc == "" {
				t.Errorf("%s.%s: default %#v of kind %d, doc %q", s.Type, p.Name, p.Default, p.Kind, p.Doc)
			}
		}
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
