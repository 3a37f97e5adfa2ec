package conformance

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/zerohop/zerohop/scorers/registry"
)

// status is what zerohop does about a vector.
type status uint8

const (
	pass          status = iota // what the EPP does
	deviation                   // something else, on purpose: ref is the number in docs/compatibility.md
	notYet                      // nothing: ref is the plugin or the part that is missing
	notApplicable               // nothing, for ever: ref is the reason
)

var statusNames = [...]string{"pass", "deviation", "not yet", "not applicable"}

// row is one vector.
type row struct {
	id     string
	what   string // one line
	status status
	ref    string
	needs  []string // plugin types that it is about; a row that is not yet there must lack one of them
	// check returns what differs: from the EPP's result for a row that passes, and from the documented one for a deviation.
	check func() error
}

// rows returns all rows, sorted by id.
func rows() []row {
	out := slices.Concat(
		hashRows(), blockRows(), indexRows(), scoreRows(), statefulRows(), keepRows(), detectorRows(), requestRows(), loaderRows(), missingRows(),
	)
	slices.SortFunc(out, func(a, b row) int { return compareIDs(a.id, b.id) })
	return out
}

// compareIDs compares the letters of two ids, and then their numbers.
func compareIDs(a, b string) int {
	la, na := splitID(a)
	lb, nb := splitID(b)
	return cmp.Or(cmp.Compare(la, lb), cmp.Compare(na, nb))
}

func splitID(id string) (letters string, number int) {
	i := 0
	for i < len(id) && (id[i] < '0' || id[i] > '9') {
		i++
	}
	number, _ = strconv.Atoi(id[i:])
	return id[:i], number
}

// allIDs lists the id of every vector of the specification: §12.1 (H, and HB for its unnumbered block counts and sizes), 12.2
// (A), 12.3 (P), 12.4 (S), 12.5 (F), 12.6 (C), 12.7 (M), 12.8 (R), 12.9 (B), 12.10 (L).
func allIDs() []string {
	var out []string
	for _, set := range []struct {
		letters string
		n       int
	}{{"A", 6}, {"B", 1}, {"C", 15}, {"F", 25}, {"H", 30}, {"HB", 12}, {"L", 16}, {"M", 1}, {"P", 5}, {"R", 34}, {"S", 45}} {
		for i := range set.n {
			out = append(out, set.letters+strconv.Itoa(i+1))
		}
	}
	return out
}

// missing returns the first type of r that this version does not have; empty if it has all.
func (r *row) missing() string {
	for _, typ := range r.needs {
		if _, ok := registry.Lookup(typ); !ok {
			return typ
		}
	}
	return ""
}

// differ returns an error if got is not want.
func differ[T comparable](what string, got, want T) error {
	if got != want {
		return fmt.Errorf("%s %v, want %v", what, got, want)
	}
	return nil
}
