// Package strictyaml reads small YAML or JSON documents without guessing: duplicate keys, unknown fields and values of the
// wrong type are problems, each with the path to the field, and all of them are reported at once. It builds a generic
// tree; callers walk it with Node and say what they expect. It is meant for configuration files, not for speed.
package strictyaml

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v2"
)

// MaxBytes is the largest document that Parse reads.
const MaxBytes = 1 << 20

// maxDepth bounds the nesting of a document.
const maxDepth = 64

// Parse reads one YAML or JSON document. The node is the document's root; it does not exist (see Node.Exists) if the
// document is empty. Problems found while the tree is walked are collected in p.
func Parse(doc []byte, p *Problems) (Node, error) {
	if len(doc) > MaxBytes {
		return Node{}, fmt.Errorf("document has %d bytes; the limit is %d", len(doc), MaxBytes)
	}
	v, err := parseTree(doc)
	if err != nil {
		return Node{}, err
	}
	v, err = normalise(v, "", 0)
	if err != nil {
		return Node{}, err
	}
	return Node{value: v, problems: p}, nil
}

// parseTree decodes JSON by a JSON reader, since YAML readers reject some valid JSON (tab indentation, surrogate escapes).
func parseTree(doc []byte) (any, error) {
	if trimmed := bytes.TrimSpace(doc); len(trimmed) > 0 && trimmed[0] == '{' && json.Valid(trimmed) {
		return parseJSON(json.NewDecoder(bytes.NewReader(trimmed)), "", 0)
	}
	d := yaml.NewDecoder(bytes.NewReader(doc))
	d.SetStrict(true)
	var first any
	for n := 0; ; n++ {
		var v any
		err := d.Decode(&v)
		if errors.Is(err, io.EOF) {
			return first, nil
		}
		if err != nil {
			return nil, errors.New(strings.TrimPrefix(strings.ReplaceAll(err.Error(), "\n  ", " "), "yaml: "))
		}
		if n > 0 && v != nil {
			return nil, errors.New("more than one YAML document; keep only the first")
		}
		if n == 0 {
			first = v
		}
	}
}

// parseJSON reads one value and rejects duplicate keys, which encoding/json would silently merge.
func parseJSON(d *json.Decoder, path string, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("%s: nested deeper than %d", path, maxDepth)
	}
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t {
	case json.Delim('{'):
		m := map[any]any{}
		for d.More() {
			k, err := d.Token()
			if err != nil {
				return nil, err
			}
			if _, dup := m[k]; dup {
				return nil, fmt.Errorf("key %q already set in map", join(path, k.(string)))
			}
			if m[k], err = parseJSON(d, join(path, k.(string)), depth+1); err != nil {
				return nil, err
			}
		}
		_, err = d.Token()
		return m, err
	case json.Delim('['):
		l := []any{}
		for d.More() {
			v, err := parseJSON(d, index(path, len(l)), depth+1)
			if err != nil {
				return nil, err
			}
			l = append(l, v)
		}
		_, err = d.Token()
		return l, err
	}
	return t, nil
}

// normalise turns the readers' values into nil, bool, float64, string, []any and map[string]any.
func normalise(v any, path string, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("%s: nested deeper than %d", path, maxDepth)
	}
	switch v := v.(type) {
	case int:
		return float64(v), nil
	case int64:
		return float64(v), nil
	case uint64:
		return float64(v), nil
	case []any:
		for i := range v {
			var err error
			if v[i], err = normalise(v[i], index(path, i), depth+1); err != nil {
				return nil, err
			}
		}
		return v, nil
	case map[any]any:
		m := make(map[string]any, len(v))
		for k, e := range v {
			s, ok := k.(string)
			if !ok {
				return nil, fmt.Errorf("%s: key %v is not a string; put it in quotes", rootName(path), k)
			}
			var err error
			if m[s], err = normalise(e, join(path, s), depth+1); err != nil {
				return nil, err
			}
		}
		return m, nil
	case nil, bool, float64, string:
		return v, nil
	}
	return nil, fmt.Errorf("%s: value %v has no JSON equivalent; put it in quotes", rootName(path), v)
}
