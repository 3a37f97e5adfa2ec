package strictyaml

import (
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
		{name: "duplicate yaml key", doc: "a: 1\na: 2\n", err: `key "a" already set in map`},
		{name: "duplicate json key", doc: `{"b":{"a":1,"a":2}}`, err: `key "b.a" already set in map`},
		{name: "number as key", doc: "a:\n  1: x\n", err: "a: key 1 is not a string"},
		{name: "syntax", doc: "a: [1\n", err: "line 1"},
		{name: "too deep yaml", doc: strings.Repeat("[", 80) + strings.Repeat("]", 80), err: "nested deeper than 64"},
		{name: "too deep json", doc: `{"a":` + strings.Repeat("[", 80) + strings.Repeat("]", 80) + "}", err: "nested deeper than 64"},
		{name: "too large", doc: strings.Repeat("#", MaxBytes+1), err: "the limit is"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n, err := Parse([]byte(tt.doc), &Problems{})
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("error = %v, want one with %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, n.value); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestNodeReportsAllProblems(t *testing.T) {
	var p Problems
	n, err := Parse([]byte("s: 8000\nf: x\nb: 1\nl: {}\no: []\nextra: 1\nnothing: null\n"), &p)
	if err != nil {
		t.Fatal(err)
	}
	n.Fields("s", "f", "b", "l", "o", "nothing")
	n.Field("s").Text()
	n.Field("f").Number()
	n.Field("b").Bool()
	n.Field("l").List()
	n.Field("o").Fields()
	n.Field("nothing").Text()
	n.Field("absent").List()
	want := []string{
		`extra: unknown field "extra"; known here: s, f, b, l, o, nothing`,
		`s: must be a string, not the number 8000; put it in quotes`,
		`f: must be a number, not the string "x"`,
		`b: must be true or false, not the number 1`,
		`l: must be a list, not an object`,
		`o: must be an object, not a list`,
	}
	if d := cmp.Diff(strings.Join(want, "\n"), p.Err().Error()); d != "" {
		t.Error(d)
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
	for _, s := range []string{"", "a: 1", `{"a":[1,{"b":null}]}`, "a: &x [1]\nb: *x", "- 1\n- .nan", "? [a]\n: b", "!!binary aGk="} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		var p Problems
		n, err := Parse(doc, &p)
		if err != nil {
			return
		}
		walk(n)
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
