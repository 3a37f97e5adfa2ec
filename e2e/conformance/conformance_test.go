package conformance

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zerohop/zerohop/e2e/harness"
)

// leastPasses is how many rows must pass.
const leastPasses = 120

// TestConformance checks every row and prints it, with totals, also to build/out/conformance.txt.
func TestConformance(t *testing.T) {
	var out bytes.Buffer
	var totals [len(statusNames)]int
	for _, r := range rows() {
		t.Run(r.id, func(t *testing.T) { checkRow(t, &r) })
		totals[r.status]++
		fmt.Fprintf(&out, "%-5s %-28s %s\n", r.id, describe(&r), r.what)
	}
	fmt.Fprintln(&out)
	for s, n := range totals {
		fmt.Fprintf(&out, "%4d %s\n", n, statusNames[s])
	}
	if totals[pass] < leastPasses {
		t.Errorf("%d rows pass, want at least %d", totals[pass], leastPasses)
	}
	t.Logf("\n%s", out.Bytes())
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, "build", "out")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "conformance.txt"), out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func describe(r *row) string {
	if r.ref == "" {
		return statusNames[r.status]
	}
	return statusNames[r.status] + " (" + r.ref + ")"
}

// checkRow fails if a row is not what its status says.
func checkRow(t *testing.T, r *row) {
	switch {
	case r.status == pass && r.ref != "" || r.status != pass && r.ref == "":
		t.Errorf("%s with reference %q", statusNames[r.status], r.ref)
	case r.status == notApplicable && r.check != nil:
		t.Error("a row that does not apply has a check")
	case r.status == notApplicable:
	case r.status == notYet:
		if len(r.needs) > 0 && r.missing() == "" {
			t.Errorf("%s is there; write the check", strings.Join(r.needs, ", "))
		}
		if r.check != nil && r.check() == nil {
			t.Error("it passes; say so")
		}
	case r.check == nil:
		t.Error("no check")
	case r.missing() != "":
		t.Errorf("there is no plugin type %s", r.missing())
	default:
		if err := r.check(); err != nil {
			t.Error(err)
		}
	}
}

func TestIDsAreComplete(t *testing.T) {
	var got []string
	for _, r := range rows() {
		got = append(got, r.id)
		if r.what == "" {
			t.Errorf("%s says nothing", r.id)
		}
	}
	want := allIDs()
	slices.SortFunc(want, compareIDs)
	for i := 1; i < len(got); i++ {
		if got[i] == got[i-1] {
			t.Errorf("%s is there twice", got[i])
		}
	}
	for _, id := range want {
		if !slices.Contains(got, id) {
			t.Errorf("%s is missing", id)
		}
	}
	for _, id := range got {
		if !slices.Contains(want, id) {
			t.Errorf("%s is no vector", id)
		}
	}
}

// numbered matches the first cell of a line of the tables in docs/compatibility.md: a number of §13, or N and a number.
var numbered = regexp.MustCompile(`(?m)^\| (N?[0-9]+) \|`)

// surprises is how many numbers §13 of the specification has.
const surprises = 76

// TestCompatibilityIsComplete wants each number of §13 once in docs/compatibility.md, and each number that a row names.
func TestCompatibilityIsComplete(t *testing.T) {
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "docs", "compatibility.md"))
	if err != nil {
		t.Fatal(err)
	}
	count := make(map[string]int)
	for _, m := range numbered.FindAllStringSubmatch(string(text), -1) {
		count[m[1]]++
	}
	for i := 1; i <= surprises; i++ {
		if n := count[fmt.Sprint(i)]; n != 1 {
			t.Errorf("§13 %d stands there %d times", i, n)
		}
	}
	for _, r := range rows() {
		if r.status != deviation {
			continue
		}
		for _, number := range strings.Split(strings.ReplaceAll(r.ref, "§13 ", ""), ", ") {
			if count[number] != 1 {
				t.Errorf("%s: %q stands there %d times", r.id, number, count[number])
			}
		}
	}
}
