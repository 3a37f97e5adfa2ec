package bootstrap

import (
	"bytes"
	"encoding/json"
	"strings"
)

// readable breaks a compact JSON object into lines: one for a field, and one for each element of a field that is a list.
func readable(compact []byte) (string, error) {
	d := json.NewDecoder(bytes.NewReader(compact))
	if _, err := d.Token(); err != nil { // the opening brace
		return "", err
	}
	var fields []string
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return "", err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return "", err
		}
		text, err := field(value)
		if err != nil {
			return "", err
		}
		name, err := json.Marshal(key)
		if err != nil {
			return "", err
		}
		fields = append(fields, "  "+string(name)+": "+text)
	}
	return "{\n" + strings.Join(fields, ",\n") + "\n}", nil
}

// field formats the value of one field.
func field(value json.RawMessage) (string, error) {
	if value[0] != '[' {
		return line(value)
	}
	var elements []json.RawMessage
	if err := json.Unmarshal(value, &elements); err != nil || len(elements) == 0 {
		return "[]", err
	}
	lines := make([]string, len(elements))
	for i, e := range elements {
		text, err := line(e)
		if err != nil {
			return "", err
		}
		lines[i] = "    " + text
	}
	return "[\n" + strings.Join(lines, ",\n") + "\n  ]", nil
}

// line puts spaces into a value and keeps it on one line. A JSON string has no line breaks of its own.
func line(value json.RawMessage) (string, error) {
	var b bytes.Buffer
	if err := json.Indent(&b, value, "", ""); err != nil {
		return "", err
	}
	return strings.ReplaceAll(b.String(), "\n", " "), nil
}
