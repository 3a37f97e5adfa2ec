package hosttest

// Field is one field of a header map.
type Field struct{ Name, Value string }

// Fields is a header map as Envoy keeps it: in order, with repeated names, names in lower case.
type Fields []Field

// Pairs makes Fields of names and values in turn.
func Pairs(kv ...string) Fields {
	f := make(Fields, 0, len(kv)/2)
	for i := 0; i+1 < len(kv); i += 2 {
		f = append(f, Field{kv[i], kv[i+1]})
	}
	return f
}

// First returns the first value of name.
func (f Fields) First(name string) (string, bool) {
	for i := range f {
		if f[i].Name == name {
			return f[i].Value, true
		}
	}
	return "", false
}

// Has reports whether name is present.
func (f Fields) Has(name string) bool {
	_, ok := f.First(name)
	return ok
}

// remove drops all values of name in place.
func (f *Fields) remove(name string) {
	kept := (*f)[:0]
	for _, x := range *f {
		if x.Name != name {
			kept = append(kept, x)
		}
	}
	*f = kept
}

// replace sets the only value of name.
func (f *Fields) replace(name, value string) {
	f.remove(name)
	*f = append(*f, Field{name, value})
}

// appendPairs appends f as proxy-wasm serializes header maps.
func (f Fields) appendPairs(b []byte) []byte {
	b = append32(b, len(f))
	for i := range f {
		b = append32(append32(b, len(f[i].Name)), len(f[i].Value))
	}
	for i := range f {
		b = append(append(b, f[i].Name...), 0)
		b = append(append(b, f[i].Value...), 0)
	}
	return b
}

func append32(b []byte, n int) []byte {
	return append(b, byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
}
