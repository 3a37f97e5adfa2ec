package strictyaml

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	tests := []struct {
		name, doc string
		want      any
		err       string
	}{
		{name: "empty", doc: "", want: nil},
		{name: "comments only", doc: "# nothing\n", want: nil},
		{name: "yaml", doc: "a: 1\nb: [x, 2.5, true, null]\n", want: map[string]any{"a": 1.0, "b": []any{"x", 2.5, true, nil}}},
		{name: "json with tabs", doc: "{\n\t\"a\": \"\\ud83d\\ude00\"\n}", want: map[string]any{"a": "😀"}},
		{name: "flow yaml", doc: "{a: 1}", want: map[string]any{"a": 1.0}},
		{name: "closing separator", doc: "---\na: 1\n---\n", want: map[string]any{"a": 1.0}},
		{name: "two documents", doc: "a: 1\n---\nb: 2\n", err: "more than one YAML document"},
		{name: "duplicate yaml key", doc: "a: 1\na: 2\n", err: `line 2: key "a" already set in map`},
		{name: "duplicate json key", doc: "{\"b\":{\"a\":1,\n\"a\":2}}", err: "line 2: b.a: is already set"},
		{name: "number as key", doc: "a:\n  1: x\n", err: "line 1: a: key 1 is not a string"},
		{name: "syntax", doc: "a: [1\n", err: "line 1"},
		{name: "too deep yaml", doc: strings.Repeat("[", 80) + strings.Repeat("]", 80), err: "nested deeper than 64"},
		{name: "too deep json", doc: `{"a":` + strings.Repeat("[", 80) + strings.Repeat("]", 80) + "}", err: "nested deeper than 64"},
		{name: "too large", doc: strings.Repeat("#", MaxBytes+1), err: "the limit is"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var p Problems
			n, err := Parse([]byte(tt.doc), &p)
			if err == nil {
				err = p.Err()
			}
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("error = %v, want one with %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, plain(n.value)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestNodeReportsAllProblems(t *testing.T) {
	var p Problems
	n, err := Parse([]byte("s: 8000\nf: x\nb: 1\nl: {}\no: []\nextar: 1\nnothing: null\nc: fail-open\nxyz: 1\n"), &p)
	if err != nil {
		t.Fatal(err)
	}
	n.Fields("s", "f", "b", "l", "o", "nothing", "c", "extra")
	n.Field("s").Text()
	n.Field("f").Number()
	n.Field("b").Bool()
	n.Field("l").List()
	n.Field("o").Fields()
	n.Field("nothing").Text()
	n.Field("absent").List()
	n.Field("c").Choice("FailClose", "FailOpen")
	n.Field("absent").Required()
	want := []string{
		`line 1: s: must be a string, not the number 8000; put it in quotes`,
		`line 1: absent: is missing`,
		`line 2: f: must be a number, not the string "x"`,
		`line 3: b: must be true or false, not the number 1`,
		`line 4: l: must be a list, not an object`,
		`line 5: o: must be an object, not a list`,
		`line 6: extar: unknown field "extar"; did you mean "extra"?`,
		`line 8: c: "fail-open" is not known; did you mean "FailOpen"?`,
		`line 9: xyz: unknown field "xyz"; known here: s, f, b, l, o, nothing, c, extra`,
	}
	if d := cmp.Diff(strings.Join(want, "\n"), p.Err().Error()); d != "" {
		t.Error(d)
	}
}

// plain strips the lines.
func plain(v value) any {
	switch x := v.v.(type) {
	case []value:
		l := make([]any, len(x))
		for i := range x {
			l[i] = plain(x[i])
		}
		return l
	case map[string]value:
		m := make(map[string]any, len(x))
		for k, e := range x {
			m[k] = plain(e)
		}
		return m
	}
	return v.v
}

func TestLines(t *testing.T) {
	tests := []struct {
		name, doc string
		path      []any // string for a field, int for an element
		want      int
	}{
		{"field", "a: 1\n\nb:\n  c: 2\n", []any{"b", "c"}, 4},
		{"object is at its key", "a: 1\nb:\n\n  c: 2\n", []any{"b"}, 2},
		{"absent field is at its object", "a: 1\nb:\n  c: 2\n", []any{"b", "x"}, 2},
		{"element", "a:\n- 1\n- x: 1\n  z: 2\n", []any{"a", 1}, 3},
		{"field of an element", "a:\n- 1\n- x: 1\n  z: 2\n", []any{"a", 1, "z"}, 4},
		{"quoted key", "x: 1\n\"a\\u0062\": 1\n", []any{"ab"}, 2},
		{"root after comments", "# x\n\na: 1\n", nil, 3},
		{"through an alias", "a: &x\n  b: 1\nc: *x\n", []any{"c", "b"}, 2},
		{"merged field is at its object", "a: &x\n  b: 1\nc:\n  <<: *x\n", []any{"c", "b"}, 3},
		{"json", "\n{\n\t\"a\": [\n1,\n{\"b\": 2}]\n}", []any{"a", 1, "b"}, 5},
		{"json root", "\n{\n\"a\": 1}", nil, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var p Problems
			n, err := Parse([]byte(tt.doc), &p)
			if err != nil {
				t.Fatal(err)
			}
			for _, step := range tt.path {
				switch step := step.(type) {
				case string:
					n = n.Field(step)
				case int:
					n = n.List()[step]
				}
			}
			if n.Line() != tt.want {
				t.Errorf("line %d, want %d", n.Line(), tt.want)
			}
		})
	}
}

func TestParseAll(t *testing.T) {
	var p Problems
	all, err := ParseAll([]byte("# nothing\n---\na: 1\n---\n---\nb:\n  c: x\n...\n"), &p)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 2 {
		t.Fatalf("%d documents", len(all))
	}
	if all[0].Field("a").Line() != 3 || all[1].Field("b").Field("c").Line() != 7 {
		t.Errorf("lines %d and %d", all[0].Field("a").Line(), all[1].Field("b").Field("c").Line())
	}
}

func TestNearest(t *testing.T) {
	known := []string{"interval", "timeout", "staleness", "maxPageBytes", "queue-scorer", "kv-cache-utilization-scorer", "ip"}
	tests := []struct{ word, want string }{
		{"intervall", "interval"},
		{"timeuot", "timeout"},
		{"max_page_bytes", "maxPageBytes"},
		{"queue-score", "queue-scorer"},
		{"Queue-Scorer", "queue-scorer"},
		{"kv-cache-scorer", ""},
		{"pi", "ip"},
		{"x", ""},
		{"", ""},
		{strings.Repeat("interval", 1000), ""},
	}
	for _, tt := range tests {
		t.Run(tt.word[:min(len(tt.word), 20)], func(t *testing.T) {
			if got := Nearest(tt.word, known); got != tt.want {
				t.Errorf("Nearest = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestListOf(t *testing.T) {
	var p Problems
	n, err := Parse([]byte("a: 1"), &p)
	if err != nil {
		t.Fatal(err)
	}
	n.Field("a").Text()
	want := []Problem{{Line: 1, Path: "a", Text: "must be a string, not the number 1; put it in quotes"}}
	if d := cmp.Diff(want, ListOf(fmt.Errorf("load: %w", p.Err()))); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]Problem{{Text: "x"}}, ListOf(errors.New("x"))); d != "" {
		t.Error(d)
	}
	if got := ListOf(nil); got != nil {
		t.Errorf("ListOf(nil) = %v", got)
	}
}

func TestProblemsAreBounded(t *testing.T) {
	var p Problems
	for i := range maxListed + 7 {
		p.Addf("x", "bad %d", i)
		p.Addf("x", "bad %d", i)
	}
	if got := p.Err().Error(); !strings.HasSuffix(got, "\nand 7 more") {
		t.Errorf("error ends in %q", got[len(got)-20:])
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "a: 1", `{"a":[1,{"b":null}]}`, "a: &x [1]\nb: *x", "- 1\n- .nan", "? [a]\n: b", "!!binary aGk=", "a: 1\n---\nb: *a\n", "a: &a [*a]", "<<: {a: 1}", "a: 1\r\n--- b\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		var p Problems
		all, err := ParseAll(doc, &p)
		if err != nil {
			return
		}
		for _, n := range all {
			walk(n)
		}
	})
}

// walk calls every reader on every node.
func walk(n Node) {
	n.Text()
	n.Number()
	n.Bool()
	for _, e := range n.List() {
		walk(e)
	}
	for _, k := range n.Keys() {
		walk(n.Field(k))
	}
}
