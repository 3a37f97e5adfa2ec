package conventions

import (
	"go/ast"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// statPrefix begins the name of every stat.
const statPrefix = "zerohop_"

// TestStatsAreDocumented compares the names of the filter's stats with the README's table. The counter per reason is one row
// there, which names the reasons.
func TestStatsAreDocumented(t *testing.T) {
	tr := repository(t)
	table := statTable(t, string(tr.text["README.md"]))
	stats := map[string]bool{}
	for _, s := range literals(t, tr, "filter/stats.go", "") {
		switch {
		case s == statPrefix+"fallback_":
			stats[s+"REASON_total"] = true
		case strings.HasPrefix(s, statPrefix):
			stats[s] = true
		}
	}
	compare(t, "stats of filter/stats.go", stats, table.stats)
	reasons := map[string]bool{}
	for _, s := range literals(t, tr, "filter/reason.go", "reasonNames") {
		if s != "scored" { // which is no fallback
			reasons[s] = true
		}
	}
	compare(t, "reasons of filter/reason.go", reasons, table.reasons)
}

// compare names what only one side has.
func compare(t *testing.T, what string, source, readme map[string]bool) {
	t.Helper()
	if len(source) == 0 {
		t.Errorf("no %s found", what)
	}
	for _, name := range slices.Sorted(maps.Keys(source)) {
		if !readme[name] {
			t.Errorf("%s: the README's table lacks %s", what, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(readme)) {
		if !source[name] {
			t.Errorf("%s: there is no %s, which the README's table has", what, name)
		}
	}
}

// literals returns the string literals in the definition of a variable, or if none is named in the whole file.
func literals(t *testing.T, tr *tree, path, variable string) []string {
	t.Helper()
	f, ok := tr.source[path]
	if !ok {
		t.Fatalf("there is no %s", path)
	}
	var out []string
	collect := func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			s, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatalf("%s:%d: %v", path, f.line(lit), err)
			}
			out = append(out, s)
		}
		return true
	}
	if variable == "" {
		ast.Inspect(f.ast, collect)
		return out
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && v.Names[0].Name == variable {
			ast.Inspect(v, collect)
		}
		return true
	})
	return out
}

// statNames is what the README's table of stats names.
type statNames struct{ stats, reasons map[string]bool }

// statTable reads the table whose first column has the stats; the reasons stand in the second one.
func statTable(t *testing.T, readme string) statNames {
	t.Helper()
	code := regexp.MustCompile("`([^`]+)`")
	got := statNames{stats: map[string]bool{}, reasons: map[string]bool{}}
	_, rest, found := strings.Cut(readme, "| Stat | Counts |\n")
	if !found {
		t.Fatal(`README.md has no table "Stat | Counts"`)
	}
	for line := range strings.Lines(rest) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 { // the end of the table
			break
		}
		for _, m := range code.FindAllStringSubmatch(cells[1], -1) {
			got.stats[m[1]] = true
		}
		if strings.Contains(cells[1], "REASON") {
			for _, m := range code.FindAllStringSubmatch(cells[2], -1) {
				got.reasons[m[1]] = true
			}
		}
	}
	return got
}
