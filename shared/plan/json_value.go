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

// field is a field of an object and where its value goes: a *string, *bool, *float64, *int or *signed, an object, or for
// an array a function that appends an element and returns where the value of that goes.
type field struct {
	name string
	into any
}

// object is what reads itself from an object.
type object interface{ read(r *reader) }

// signed is an integer that may be below 0.
type signed int

// fields reads an object with the known fields.
//
//go:noinline
func (r *reader) fields(known ...field) {
	r.object(func(name string) bool {
		for i := range known {
			if known[i].name == name {
				r.value(known[i].into)
				return true
			}
		}
		return false
	})
}

// value reads a value into what a field names.
func (r *reader) value(into any) {
	switch v := into.(type) {
	case *string:
		r.string(v)
	case *bool:
		r.bool(v)
	case *float64:
		r.float(v)
	case *int:
		r.within(v, 0)
	case *signed:
		r.within((*int)(v), math.MinInt32)
	case func() any:
		r.array(v)
	case object:
		v.read(r)
	}
}

// elementsOf returns what appends the elements of an array to list, which an empty one leaves nil.
func elementsOf[T any](list *[]T) func() any {
	return func() any {
		*list = append(*list, make([]T, 1)...)
		return &(*list)[len(*list)-1]
	}
}

// array reads an array whose elements go to what element returns.
func (r *reader) array(element func() any) {
	if r.next() != '[' {
		r.mismatch("an array")
		return
	}
	r.elements(func(i int) {
		outer := len(r.path)
		r.path = append(strconv.AppendInt(append(r.path, '['), int64(i), 10), ']')
		r.value(element())
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

// within reads an integer from least to MaxInt32 into v, the same on every architecture.
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
