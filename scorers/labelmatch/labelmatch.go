// Package labelmatch narrows candidates by what their labels say. Text is compared when an endpoint's labels arrive; a request
// reads one flag for each candidate.
package labelmatch

import "github.com/zerohop/zerohop/scorers"

// Role is the label with an endpoint's part in disaggregated serving.
const Role = "llm-d.ai/role"

// Filter keeps the endpoints whose labels a function accepts, and those whose labels nobody has said yet.
type Filter struct {
	accepts func(f *scorers.Facts) bool
	drop    []bool // by slot
}

// New returns a Filter. accepts is called when the facts of an endpoint arrive; a label that is Unknown must not count
// against the endpoint.
func New(accepts func(f *scorers.Facts) bool) *Filter { return &Filter{accepts: accepts} }

// ByValue returns a Filter that keeps the endpoints with one of these values, and those without the label if absent is true.
func ByValue(id scorers.LabelID, absent bool, values ...string) *Filter {
	return New(func(f *scorers.Facts) bool {
		value, presence := f.Label(id)
		switch presence {
		case scorers.Absent:
			return absent
		case scorers.Present:
			return In(value, values)
		}
		return true
	})
}

// In reports whether value is one of values.
func In(value []byte, values []string) bool {
	for _, v := range values {
		if string(value) == v {
			return true
		}
	}
	return false
}

// Filter implements scorers.Filter.
func (m *Filter) Filter(c *scorers.Cycle, cand []int32) []int32 {
	n := 0
	for i, s := range cand {
		keep := !m.drop[s]
		c.Pass[i] = keep
		if keep {
			n++
		}
	}
	return c.Keep(cand, n)
}

// Binding implements scorers.Rule.
func (*Filter) Binding() bool { return true }

// Grow implements scorers.SlotWatcher.
func (m *Filter) Grow(slots int) {
	if n := slots - len(m.drop); n > 0 {
		m.drop = append(m.drop, make([]bool, n)...)
	}
}

// Facts implements scorers.SlotWatcher.
func (m *Filter) Facts(slot int32, f *scorers.Facts) { m.drop[slot] = !m.accepts(f) }

// Forget implements scorers.SlotWatcher.
func (m *Filter) Forget(slot int32) { m.drop[slot] = false }
