package plan

import (
	"math"
	"slices"
	"strconv"
)

// object reads an object. field is called with each name, with the path pointing at that field; it consumes the value and
// returns true, or returns false to have it skipped. A field that appears twice is a problem.
func (r *reader) object(field func(name string) bool) {
	if r.next() != '{' {
		r.mismatch("an object")
		return
	}
	var seen []string
	r.members(func(name string) {
		outer := len(r.path)
		if outer > 0 {
			r.path = append(r.path, '.')
		}
		r.path = append(r.path, name...)
		switch {
		case slices.Contains(seen, name):
			r.problem("appears twice")
			r.skip()
		case field(name):
			seen = append(seen, name)
		default:
			r.skip()
		}
		r.path = r.path[:outer]
	})
}

// array reads an array into a slice; element reads one element. An empty array gives nil.
func array[T any](r *reader, element func(r *reader, v *T)) (out []T) {
	r.array(func() {
		var v T
		element(r, &v)
		out = append(out, v)
	})
	return out
}

// array is what all arrays have in common: what has a type of its own stands in the module once for each.
func (r *reader) array(element func()) {
	if r.next() != '[' {
		r.mismatch("an array")
		return
	}
	r.elements(func(i int) {
		outer := len(r.path)
		r.path = append(strconv.AppendInt(append(r.path, '['), int64(i), 10), ']')
		element()
		r.path = r.path[:outer]
	})
}

// string reads a string into v.
func (r *reader) string(v *string) {
	if r.next() != '"' {
		r.mismatch("a string")
		return
	}
	*v = r.text()
}

// bool reads a boolean into v.
func (r *reader) bool(v *bool) {
	switch r.next() {
	case 't', 'f':
		*v = r.literal() == "true"
	default:
		r.mismatch("true or false")
	}
}

// float reads a number into v.
func (r *reader) float(v *float64) {
	if !isNumberStart(r.next()) {
		r.mismatch("a number")
		return
	}
	text := r.number()
	if r.err != nil {
		return
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		r.problem("number " + text + " is out of range")
		return
	}
	*v = f
}

// integer reads an integer from 0 to MaxInt32 into v, the same on every architecture.
func (r *reader) integer(v *int) { r.within(v, 0) }

// signed reads an integer from MinInt32 to MaxInt32 into v.
func (r *reader) signed(v *int) { r.within(v, math.MinInt32) }

// within reads an integer from least to MaxInt32 into v.
func (r *reader) within(v *int, least int) {
	f, before := 0.0, len(r.problems)
	r.float(&f)
	if r.err != nil || len(r.problems) > before {
		return
	}
	if f < float64(least) || f > math.MaxInt32 || f != math.Trunc(f) {
		r.problem("must be an integer from " + strconv.Itoa(least) + " to " + strconv.Itoa(math.MaxInt32) + ", not " +
			strconv.FormatFloat(f, 'g', -1, 64))
		return
	}
	*v = int(f)
}

// mismatch skips a value of the wrong type and records that.
func (r *reader) mismatch(want string) {
	got := "null"
	switch c := r.next(); {
	case c == '{':
		got = "an object"
	case c == '[':
		got = "an array"
	case c == '"':
		got = "a string"
	case c == 't' || c == 'f':
		got = "a boolean"
	case isNumberStart(c):
		got = "a number"
	}
	r.skip()
	if r.err == nil {
		r.problem("must be " + want + ", not " + got)
	}
}
