package filter

import (
	"math"
	"strconv"
	"unicode/utf8"
)

// writer writes explanations into b. A call of a method takes half of the code of a call that is given b and returns it, and
// there are many.
type writer struct{ b []byte }

//go:noinline
func (w *writer) put(text string) { w.b = put(w.b, text) }

// between writes what separates element i of a list from the one before.
//
//go:noinline
func (w *writer) between(i int, text string) {
	if i > 0 {
		w.b = put(w.b, text)
	}
}

// int writes key and a number, as the methods below write key and a value.
//
//go:noinline
func (w *writer) int(key string, n int64) { w.b = appendInt(w.b, key, n) }

// word writes a name as appendText does.
//
//go:noinline
func (w *writer) word(key, name string) { w.b = appendText(put(w.b, key), name) }

// number writes f with as many digits as people read.
//
//go:noinline
func (w *writer) number(key string, f float64) {
	w.b = strconv.AppendFloat(put(w.b, key), f, 'g', 6, 64)
}

// scraped writes the age of scraped numbers, or none.
//
//go:noinline
func (w *writer) scraped(in *inputs, none string) {
	if in.scraped {
		w.int("", int64(in.ageMs))
	} else {
		w.put(none)
	}
}

//go:noinline
func (w *writer) json(key, text string) { w.b = appendJSON(put(w.b, key), text) }

//go:noinline
func (w *writer) bool(key string, is bool) { w.b = strconv.AppendBool(put(w.b, key), is) }

// float writes f, or null if JSON has no such number.
//
//go:noinline
func (w *writer) float(key string, f float64) {
	w.put(key)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		w.put("null")
	} else {
		w.b = strconv.AppendFloat(w.b, f, 'g', -1, 64)
	}
}

// plugin begins an object with the name and the type of a plugin.
//
//go:noinline
func (w *writer) plugin(name, typ string) {
	w.json(`{"plugin":`, name)
	w.json(`,"type":`, typ)
}

// appendJSON appends a JSON string. What is no UTF-8 becomes U+FFFD.
//
//go:noinline
func appendJSON(b []byte, text string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ':
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		case c < utf8.RuneSelf:
			b = append(b, c)
		default:
			r, n := utf8.DecodeRuneInString(text[i:])
			b = utf8.AppendRune(b, r)
			i += n
			continue
		}
		i++
	}
	return append(b, '"')
}
