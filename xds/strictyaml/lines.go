package strictyaml

import (
	"bytes"

	yamlv3 "go.yaml.in/yaml/v3"
)

// mark is a place in a document. The zero mark is an unknown one. Values come from version 2 of the YAML reader, which
// knows no lines; version 3 does, but resolves scalars by other rules. So both read the document, and a place that only
// the first of them understands has no mark.
type mark struct{ node *yamlv3.Node }

// fieldMark has the places of a field's key and value.
type fieldMark struct{ key, value mark }

// lineReader reads the places of one document after the other.
type lineReader struct{ d *yamlv3.Decoder }

func newLineReader(doc []byte) *lineReader {
	return &lineReader{yamlv3.NewDecoder(bytes.NewReader(doc))}
}

// document returns the root of the next document.
func (r *lineReader) document() mark {
	if r.d == nil {
		return mark{}
	}
	var n yamlv3.Node
	if err := r.d.Decode(&n); err != nil || len(n.Content) == 0 {
		r.d = nil
		return mark{}
	}
	return mark{n.Content[0]}
}

// line returns the line of the place, or def if that is unknown.
func (m mark) line(def int) int {
	if m.node == nil || m.node.Line == 0 {
		return def
	}
	return m.node.Line
}

// target follows an alias to what it stands for.
func (m mark) target() *yamlv3.Node {
	if m.node != nil && m.node.Kind == yamlv3.AliasNode {
		return m.node.Alias
	}
	return m.node
}

// element returns the place of element i of a list.
func (m mark) element(i int) mark {
	n := m.target()
	if n == nil || n.Kind != yamlv3.SequenceNode || i >= len(n.Content) {
		return mark{}
	}
	return mark{n.Content[i]}
}

// fields returns the places of an object's own fields. What it merges from elsewhere has none.
func (m mark) fields() map[string]fieldMark {
	n := m.target()
	if n == nil || n.Kind != yamlv3.MappingNode {
		return nil
	}
	out := make(map[string]fieldMark, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		out[n.Content[i].Value] = fieldMark{mark{n.Content[i]}, mark{n.Content[i+1]}}
	}
	return out
}
