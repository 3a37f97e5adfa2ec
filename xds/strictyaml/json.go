package strictyaml

import (
	"bytes"
	"encoding/json"
)

// jsonReader reads one JSON document and counts lines.
type jsonReader struct {
	doc      []byte
	d        *json.Decoder
	line     int   // of the last token
	at       int64 // up to where lines are counted
	problems *Problems
}

// parseJSON reads one JSON document.
func parseJSON(doc []byte, p *Problems) ([]value, error) {
	r := &jsonReader{doc: doc, d: json.NewDecoder(bytes.NewReader(doc)), line: 1, problems: p}
	v, err := r.value("", 0)
	if err != nil {
		return nil, err
	}
	return []value{v}, nil
}

// token returns the next token and notes its line.
func (r *jsonReader) token() (json.Token, error) {
	t, err := r.d.Token()
	end := r.d.InputOffset()
	r.line += bytes.Count(r.doc[r.at:end], []byte("\n"))
	r.at = end
	return t, err
}

func (r *jsonReader) value(path string, depth int) (value, error) {
	t, err := r.token()
	if err != nil {
		return value{}, err
	}
	line := r.line
	if depth > maxDepth {
		return value{}, failf(line, path, "nested deeper than %d", maxDepth)
	}
	switch t {
	case json.Delim('{'):
		object, err := r.object(path, depth)
		return value{object, line}, err
	case json.Delim('['):
		list, err := r.list(path, depth)
		return value{list, line}, err
	}
	return value{t, line}, nil
}

// object reports duplicate keys, which encoding/json would silently merge, and keeps the first of each.
func (r *jsonReader) object(path string, depth int) (map[string]value, error) {
	object := map[string]value{}
	for r.d.More() {
		t, err := r.token()
		if err != nil {
			return nil, err
		}
		key, line := t.(string), r.line
		v, err := r.value(join(path, key), depth+1)
		if err != nil {
			return nil, err
		}
		if _, dup := object[key]; dup {
			r.problems.add(Problem{Line: line, Path: join(path, key), Text: "is already set"})
			continue
		}
		v.line = line
		object[key] = v
	}
	_, err := r.token()
	return object, err
}

func (r *jsonReader) list(path string, depth int) ([]value, error) {
	list := []value{}
	for r.d.More() {
		v, err := r.value(index(path, len(list)), depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := r.token()
	return list, err
}
