package discovery

import (
	"fmt"
	"slices"
)

// teller leaves out the updates that say nothing new.
type teller struct {
	update func(Update)
	told   bool   // list is what the receiver has
	list   Update // the last one without Err
	err    string // of the last update; empty if it was a list
}

// tell passes u on unless the receiver knows it.
func (t *teller) tell(u Update) {
	if u.Err != nil {
		if text := u.Err.Error(); text != t.err {
			t.err = text
			t.update(u)
		}
		return
	}
	if t.err == "" && t.knows(u) {
		return
	}
	t.told, t.list, t.err = true, u, ""
	t.update(u)
}

// knows says whether u is the receiver's last list.
func (t *teller) knows(u Update) bool {
	return t.told && slices.Equal(t.list.Warnings, u.Warnings) &&
		slices.EqualFunc(t.list.Endpoints, u.Endpoints, func(a, b Endpoint) bool { return a.equal(&b) })
}

// maxWarnings bounds what one update says.
const maxWarnings = 20

// bounded returns the first of the warnings and how many there are beyond them.
func bounded(warnings []string) []string {
	if len(warnings) <= maxWarnings {
		return warnings
	}
	return append(warnings[:maxWarnings:maxWarnings], fmt.Sprintf("and %d more", len(warnings)-maxWarnings))
}
