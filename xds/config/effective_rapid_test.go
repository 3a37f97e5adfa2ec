package config

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/registry"
	"github.com/zerohop/zerohop/shared/plan"
)

// TestEffectiveRoundTrip draws documents of all plugin types with parameters of every declared shape, and checks that what
// is printed of those that load is the same again.
func TestEffectiveRoundTrip(t *testing.T) {
	specs := registry.Specs()
	for _, k := range knownTypes(specs) {
		specs = append(specs, k.Spec)
	}
	active, loaded := registry.Specs(), 0
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		b.WriteString(header + "plugins:\n")
		for i := range rapid.IntRange(1, 5).Draw(t, "plugins") {
			s := &specs[rapid.IntRange(0, len(specs)-1).Draw(t, "type")]
			fmt.Fprintf(&b, "- type: %s\n  name: p%d\n  parameters: {%s}\n", s.Type, i, drawObject(t, s.Params))
		}
		c, err := Load([]byte(b.String()), active)
		if err != nil {
			return
		}
		loaded++
		again, err := Load(c.YAML(), active)
		if err != nil {
			t.Fatalf("%v\nof\n%s\n%s", err, b.String(), c.YAML())
		}
		want, got := plan.Append(nil, c.Plan(Settings{})), plan.Append(nil, again.Plan(Settings{}))
		if string(want) != string(got) {
			t.Fatalf("%s\nis then\n%s\nof\n%s\n%s", want, got, b.String(), c.YAML())
		}
		if len(c.Inactive) != len(again.Inactive) {
			t.Fatalf("%v is then %v", c.Inactive, again.Inactive)
		}
	})
	if loaded < 10 {
		t.Errorf("only %d documents loaded", loaded)
	}
}

// drawObject returns some fields of an object.
func drawObject(t *rapid.T, fields []scorers.Param) string {
	var parts []string
	for i := range fields {
		p := &fields[i]
		if p.Required || rapid.IntRange(0, 2).Draw(t, "given") == 0 {
			parts = append(parts, p.Name+": "+drawParam(t, p))
		}
	}
	return strings.Join(parts, ", ")
}

// drawParam returns a value of a parameter.
func drawParam(t *rapid.T, p *scorers.Param) string {
	var parts []string
	count := rapid.IntRange(1, 3)
	switch p.Shape {
	case scorers.List:
		for range count.Draw(t, "elements") {
			if len(p.Fields) > 0 {
				parts = append(parts, "{"+drawObject(t, p.Fields)+"}")
			} else {
				parts = append(parts, drawScalar(t, p))
			}
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case scorers.Map:
		for i := range count.Draw(t, "entries") {
			parts = append(parts, scalar("k"+strconv.Itoa(i)+"."+drawText(t))+": "+drawScalar(t, p))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case scorers.Object:
		return "{" + drawObject(t, p.Fields) + "}"
	default:
		return drawScalar(t, p)
	}
}

func drawScalar(t *rapid.T, p *scorers.Param) string {
	switch {
	case p.Duration:
		return time.Duration(rapid.Int64Range(1, 1e12).Draw(t, "duration")).String()
	case p.Kind == plan.Bool:
		return strconv.FormatBool(rapid.Bool().Draw(t, "flag"))
	case len(p.Choices) > 0:
		return rapid.SampledFrom(p.Choices).Draw(t, "choice")
	case p.Kind == plan.String:
		return scalar(drawText(t))
	}
	f := rapid.Float64Range(-2, 100).Draw(t, "number")
	if p.Integer || rapid.Bool().Draw(t, "whole") {
		f = float64(int(f))
	}
	return numberText(f)
}

// drawText returns text that YAML could take for something else.
func drawText(t *rapid.T) string {
	return rapid.SampledFrom([]string{"a", "yes", "1", "a b", "x: y", "#", "é", "1-2", "0", ""}).Draw(t, "text")
}

// TestManyPlugins loads a document of 300 plugins, each referred to, in good time.
func TestManyPlugins(t *testing.T) {
	var plugins, refs strings.Builder
	for i := range 300 {
		fmt.Fprintf(&plugins, "- {type: %s, name: s%d}\n", []string{"queue-scorer", "prefix-cache-scorer", "kv-cache-utilization-scorer"}[i%3], i)
		fmt.Fprintf(&refs, "  - {pluginRef: s%d, weight: %d}\n", i, i-100)
	}
	doc := header + "plugins:\n" + plugins.String() + "schedulingProfiles:\n- name: a\n  plugins:\n" + refs.String()
	begun := time.Now()
	c, err := Load([]byte(doc), registry.Specs())
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); took > time.Second {
		t.Errorf("it took %v", took)
	}
	if n := len(c.Profiles[0].Scorers); n != 300 {
		t.Errorf("%d scorers", n)
	}
	sameAgain(t, c, registry.Specs())
}
