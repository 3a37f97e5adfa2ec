// Package strictyaml reads small YAML or JSON documents without guessing: duplicate keys, unknown fields and values of the
// wrong type are problems, each with its line and the path to the field, and all of them are reported at once. It builds a
// generic tree; callers walk it with Node and say what they expect. It is meant for configuration files, not for speed.
//
// YAML is resolved by the rules of YAML 1.1 (yes is true, 010 is 8), by the library that Kubernetes components use.
package strictyaml

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v2"
)

// MaxBytes is the most that Parse and ParseAll read.
const MaxBytes = 1 << 20

// maxDepth bounds the nesting of a document.
const maxDepth = 64

// Parse reads one YAML or JSON document. The node is the document's root; it does not exist (see Node.Exists) if the
// document is empty. Problems found while the tree is walked are collected in p.
func Parse(doc []byte, p *Problems) (Node, error) {
	all, err := ParseAll(doc, p)
	switch {
	case err != nil:
		return Node{}, err
	case len(all) == 0:
		return Node{problems: p}, nil
	case len(all) > 1:
		return Node{}, &Error{Problems: []Problem{{Line: all[1].Line(), Text: "more than one YAML document; keep only the first"}}}
	}
	return all[0], nil
}

// ParseAll reads one JSON document, or YAML documents separated by lines of ---. Empty documents are skipped. Problems
// found while the trees are walked are collected in p.
func ParseAll(doc []byte, p *Problems) ([]Node, error) {
	if len(doc) > MaxBytes {
		return nil, fmt.Errorf("document has %d bytes; the limit is %d", len(doc), MaxBytes)
	}
	var roots []value
	var err error
	// JSON is read by a JSON reader, since YAML readers reject some valid JSON (tab indentation, surrogate escapes).
	if trimmed := bytes.TrimSpace(doc); len(trimmed) > 0 && trimmed[0] == '{' && json.Valid(trimmed) {
		roots, err = parseJSON(doc, p)
	} else {
		roots, err = parseYAML(doc, p)
	}
	if err != nil {
		return nil, err
	}
	nodes := make([]Node, len(roots))
	for i := range roots {
		nodes[i] = Node{value: roots[i], problems: p}
	}
	return nodes, nil
}

// value is a part of a document: nil, bool, float64, string, []value or map[string]value, with the line of its key, or of
// itself if it has none. Line 0 is unknown.
type value struct {
	v    any
	line int
}

// parseYAML returns the documents that are not empty.
func parseYAML(doc []byte, p *Problems) ([]value, error) {
	d := yaml.NewDecoder(bytes.NewReader(doc))
	d.SetStrict(true)
	lines := newLineReader(doc)
	var out []value
	for {
		var v any
		err := d.Decode(&v)
		mark := lines.document()
		var duplicates *yaml.TypeError
		switch {
		case errors.Is(err, io.EOF):
			return out, nil
		case errors.As(err, &duplicates):
			for _, text := range duplicates.Errors {
				p.add(yamlProblem(text))
			}
		case err != nil:
			return nil, &Error{Problems: []Problem{yamlProblem(strings.TrimPrefix(err.Error(), "yaml: "))}}
		}
		if v == nil {
			continue
		}
		root, err := build(v, mark, mark.line(0), "", 0)
		if err != nil {
			return nil, err
		}
		out = append(out, root)
	}
}

var linePrefix = regexp.MustCompile(`^line (\d+): `)

// yamlProblem takes a message of the YAML reader apart.
func yamlProblem(text string) Problem {
	m := linePrefix.FindStringSubmatch(text)
	if m == nil {
		return Problem{Text: text}
	}
	line, _ := strconv.Atoi(m[1])
	return Problem{Line: line, Text: text[len(m[0]):]}
}

// build turns the YAML reader's value into ours. m is where it stands, line the line that is said of it.
func build(v any, m mark, line int, path string, depth int) (value, error) {
	if depth > maxDepth {
		return value{}, failf(line, path, "nested deeper than %d", maxDepth)
	}
	switch v := v.(type) {
	case int:
		return value{float64(v), line}, nil
	case int64:
		return value{float64(v), line}, nil
	case uint64:
		return value{float64(v), line}, nil
	case []any:
		list := make([]value, len(v))
		for i := range v {
			element := m.element(i)
			var err error
			if list[i], err = build(v[i], element, element.line(line), index(path, i), depth+1); err != nil {
				return value{}, err
			}
		}
		return value{list, line}, nil
	case map[any]any:
		object := make(map[string]value, len(v))
		fields := m.fields()
		for k, e := range v {
			s, ok := k.(string)
			if !ok {
				return value{}, failf(line, path, "key %v is not a string; put it in quotes", k)
			}
			f := fields[s]
			var err error
			if object[s], err = build(e, f.value, f.key.line(line), join(path, s), depth+1); err != nil {
				return value{}, err
			}
		}
		return value{object, line}, nil
	case nil, bool, float64, string:
		return value{v, line}, nil
	}
	return value{}, failf(line, path, "value %v has no JSON equivalent; put it in quotes", v)
}

// failf returns an error that ends the reading of a document.
func failf(line int, path, format string, args ...any) error {
	return &Error{Problems: []Problem{{Line: line, Path: rootName(path), Text: fmt.Sprintf(format, args...)}}}
}
