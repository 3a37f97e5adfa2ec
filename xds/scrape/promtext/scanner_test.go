package promtext_test

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/zerohop/zerohop/xds/scrape/promtext"
	"github.com/zerohop/zerohop/xds/scrape/promtext/oracle"
)

// realPage is the page of a vLLM 0.32 under load.
const realPage = "../testdata/vllm_0.32_under_load.txt"

var vllm = []promtext.Want{
	{Family: "vllm:num_requests_waiting"},
	{Family: "vllm:num_requests_running"},
	{Family: "vllm:kv_cache_usage_perc"},
	{Family: "vllm:cache_config_info", From: "block_size"},
	{Family: "vllm:cache_config_info", From: "num_gpu_blocks"},
}

// short is what the table asks for.
var short = []promtext.Want{
	{Family: "a"},
	{Family: "a", Combine: promtext.Largest},
	{Family: "a", Match: []promtext.Label{{Name: "k", Value: "v"}}},
	{Family: "a:b", From: "n"},
	{Family: "ab"},
}

// texts ask for the texts of labels, matches for series with certain labels, and every is what the fuzz targets ask for.
var (
	texts = []promtext.Want{
		{Family: "a:b", Texts: []string{"k", "n"}, Combine: promtext.Largest},
		{Family: "ab", Texts: []string{"n"}},
	}
	matches = []promtext.Want{
		{Family: "a", Match: []promtext.Label{{Name: "k", Value: "v"}, {Name: "n", Value: ""}}},
		{Family: "ab", Match: []promtext.Label{{Name: "n", Value: "\"\\\n"}}},
	}
	every = slices.Concat(short, texts, matches)
)

// Indices of short.
const (
	newest = iota
	largest
	matching
	fromLabel
	longer
)

var nan = math.NaN()

func TestScan(t *testing.T) {
	type numbers map[int]float64
	tests := []struct {
		name, page string
		want       numbers
		err        string
	}{
		{"empty", "", nil, ""},
		{"one sample", "a 1\n", numbers{newest: 1, largest: 1}, ""},
		{"several series", "a 1\na{x=\"y\"} 3\na 2\n", numbers{newest: 1, largest: 3}, ""},
		{"timestamps", "a 1 10\na{x=\"y\"} 3 30\na 2 20\n", numbers{newest: 3, largest: 3}, ""},
		{"negative timestamp", "a 1 -5\na{x=\"y\"} 3\n", numbers{newest: 3, largest: 3}, ""},
		{"match", "a{k=\"w\"} 1\na{j=\"i\",k=\"v\"} 2\na{k=\"v\",} 3\n", numbers{newest: 1, largest: 3, matching: 2}, ""},
		{"number in a label", "a:b{m=\"1\",n=\"32\",o=\"2\"} 1\n", numbers{fromLabel: 32}, ""},
		{"None in a label", "a:b{n=\"None\"} 1\n", numbers{fromLabel: nan}, ""},
		{"empty label", "a:b{n=\"\"} 1\n", numbers{fromLabel: nan}, ""},
		{"too large a label", "a:b{n=\"4294967296\"} 1\n", numbers{fromLabel: nan}, ""},
		{"largest label", "a:b{n=\"4294967295\"} 1\n", numbers{fromLabel: math.MaxUint32}, ""},
		{"missing label", "a:b 1\n", numbers{fromLabel: nan}, ""},
		{"names that begin alike", "ab 1\na:bc 2\nabc 3\na_ 4\n", numbers{longer: 1}, ""},
		{"numbers", "a -1.5e-3\nab +Inf\na:b 0\n", numbers{newest: -1.5e-3, largest: -1.5e-3, longer: math.Inf(1), fromLabel: nan}, ""},
		{"not a number", "a NaN\n", numbers{newest: nan, largest: nan}, ""},
		{"maximum beside NaN", "a NaN\na{x=\"y\"} 3\na{x=\"z\"} NaN\n", numbers{newest: nan, largest: 3}, ""},
		{"types", "# HELP a text\n# TYPE a gauge\na 1\n# TYPE ab COUNTER\nab 2\n", numbers{newest: 1, largest: 1, longer: 2}, ""},
		{"histogram has no value", "# TYPE a histogram\na_sum 1\na{le=\"1\"} 1\n", nil, ""},
		{"summary has no value", "# TYPE a:b summary\na:b{n=\"1\",quantile=\"0.5\"} 1\n", nil, ""},
		{"blanks", " \t\n\ta \t{ k = \"v\" , }\t1\t2\n#\tTYPE  ab\tgauge\n  # x\n#\n#TYPE\n", numbers{newest: 1, largest: 1, matching: 1}, ""},
		{"no blanks", "a{k=\"v\"}1\nab+2\n", numbers{newest: 1, largest: 1, matching: 1, longer: 2}, ""},
		{"escapes", "a{x=\"\\\"}\\\\\\n\",k=\"v\"} 1\na{k=\"v\\\\\"} 2\n", numbers{newest: 1, largest: 2, matching: 1}, ""},
		{"name in quotes", "# TYPE \"ab\" gauge\n\"ab\" 1\n\"a\"{k=\"v\"} 2\n", numbers{longer: 1, newest: 2, largest: 2, matching: 2}, ""},
		{"name in braces", "{\"a:b\",\"n\"=\"7\"} 1\n{k=\"v\", a} 2\n{\"x\"} 3\n{}\n{\"", numbers{fromLabel: 7, newest: 2, largest: 2, matching: 2}, "line 5: the page ends within a line"},
		{"broken lines elsewhere", "up{\nup\n<html>\n{x=\"\n{\"y\n\"z\n# TYPE up nonsense\n# HELP up \\x\n\xff\na 1\n", numbers{newest: 1, largest: 1}, ""},
		{"OpenMetrics", "# TYPE a info\n# UNIT a x\na 1 1.5 # {t=\"x\"} 1 2\na{x=\"y\"} 2 1.25\na{x=\"z\"} 3 # {} 1\n# EOF", numbers{newest: 1, largest: 3}, ""},
		{"blank end", "a 1\n \t", numbers{newest: 1, largest: 1}, ""},
		{"no line end", "a 1\na 1", nil, "line 2: the page ends within a line"},
		{"ends in a comment", "a 1\n# EO", nil, "line 2: the page ends within a line"},
		{"no value", "a\n", nil, "line 1: a: the value is no number"},
		{"no value after labels", "\na{}\n", nil, "line 2: a: the value is no number"},
		{"hexadecimal", "a 0x1p3\n", nil, "a: the value is no number"},
		{"underscore", "a 1_0\n", nil, "a: the value is no number"},
		{"out of range", "a 1e999\n", nil, "a: the value is no number"},
		{"line ends of Windows", "a 1\r\n", nil, "a: the value is no number"},
		{"blank after the value", "a 1 \n", nil, "a: the timestamp is no number"},
		{"text after the timestamp", "a 1 2 3\n", nil, "a: text after the timestamp"},
		{"infinite timestamp", "a 1 Inf\n", nil, "a: the timestamp is no number"},
		{"labels without end", "a{k=\"v\"\n", nil, "a: neither a comma nor a brace after a label"},
		{"label without end", "a{k=\"v\n", nil, "a: the value of a label has no end"},
		{"label ends in a backslash", "a{k=\"v\\\n", nil, "a: unknown escape in the value of a label"},
		{"unknown escape", "a{k=\"\\t\"} 1\n", nil, "a: unknown escape in the value of a label"},
		{"label not quoted", "a{k=v} 1\n", nil, "a: the value of a label is not quoted"},
		{"label without value", "a{k} 1\n", nil, "a: no = after the name of a label"},
		{"name twice", "{\"a\",\"a\"} 1\n", nil, "a: no = after the name of a label"},
		{"no label", "a{,} 1\n", nil, "a: no name of a label where one should be"},
		{"reserved label", "a{__name__=\"b\"} 1\n", nil, "a: invalid name of a label"},
		{"label begins with a digit", "a{1=\"b\"} 1\n", nil, "a: invalid name of a label"},
		{"label with a dot", "a{\"x.y\"=\"b\"} 1\n", nil, "a: invalid name of a label"},
		{"label that is not UTF-8", "a{k=\"\xff\"} 1\n", nil, "a: the value of a label is not UTF-8"},
		{"label twice", "a:b{n=\"1\",n=\"2\"} 1\n", nil, "a:b: a label stands twice"},
		{"unknown type", "# TYPE a gage\n", nil, "a: unknown type"},
		{"type twice", "# TYPE a gauge\n# TYPE a gauge\n", nil, "a: second TYPE line"},
		{"type after a sample", "a 1\n# TYPE a gauge\n", nil, "a: second TYPE line, or one after samples"},
		{"type without blank", "# TYPE a{ gauge\n", nil, "a: no blank after the name in a TYPE line"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			scanner := promtext.NewScanner(short)
			values := make([]promtext.Value, len(short))
			if err := scanner.Scan([]byte("a 9\n"), values); err != nil { // must leave no trace
				t.Fatal(err)
			}
			err := scanner.Scan([]byte(tt.page), values)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("error = %v, want one with %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := make([]promtext.Value, len(short))
			for i, n := range tt.want {
				want[i] = promtext.Value{Seen: true, Number: n}
			}
			if d := diff(want, values); d != "" {
				t.Error(d)
			}
		})
	}
}

// diff compares values, but not their timestamps.
func diff(want, got []promtext.Value) string {
	return cmp.Diff(want, got, cmpopts.IgnoreUnexported(promtext.Value{}), cmpopts.EquateNaNs())
}

func TestTexts(t *testing.T) {
	type value = promtext.Value
	text := func(s ...string) (out [][]byte) {
		for _, t := range s {
			out = append(out, []byte(t))
		}
		return out
	}
	tests := []struct {
		name, page string
		want       [2]value // of texts
	}{
		{name: "absent", page: "a 1\n"},
		{name: "one series", page: "a:b{n=\"x, y\",k=\"\"} 1\n", want: [2]value{{Seen: true, Number: 1, Texts: text("", "x, y")}}},
		{name: "missing label", page: "a:b{m=\"x\"} 1\nab 2\n", want: [2]value{{Seen: true, Number: 1, Texts: [][]byte{nil, nil}}, {Seen: true, Number: 2, Texts: [][]byte{nil}}}},
		{
			name: "largest value, whatever the time", page: "a:b{n=\"x\"} 1 30\na:b{n=\"y\"} 3 10\na:b{k=\"z\"} 2 20\n",
			want: [2]value{{Seen: true, Number: 3, Texts: [][]byte{nil, []byte("y")}}},
		},
		{name: "last of equals", page: "a:b{n=\"x\"} 1\na:b{n=\"y\"} 1\n", want: [2]value{{Seen: true, Number: 1, Texts: [][]byte{nil, []byte("y")}}}},
		{name: "NaN is the least", page: "a:b{n=\"x\"} NaN\na:b{n=\"y\"} -5\na:b{n=\"z\"} NaN\n", want: [2]value{{Seen: true, Number: -5, Texts: [][]byte{nil, []byte("y")}}}},
		{name: "newest", page: "ab{n=\"x\"} 9 10\nab{n=\"y\"} 1 20\nab{n=\"z\"} 5 20\n", want: [2]value{{}, {Seen: true, Number: 1, Texts: text("y")}}},
		{name: "escapes", page: "ab{n=\"\\\\a\\n\\\"é\"} 1\n", want: [2]value{{}, {Seen: true, Number: 1, Texts: text("\\a\n\"é")}}},
	}
	scanner := promtext.NewScanner(texts)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			values := make([]value, len(texts))
			if err := scanner.Scan([]byte(tt.page), values); err != nil {
				t.Fatal(err)
			}
			if d := diff(tt.want[:], values); d != "" {
				t.Error(d)
			}
		})
	}
	err := scanner.Scan([]byte("a:b{k=\"x\",k=\"y\"} 1\n"), make([]value, len(texts)))
	if err == nil || !strings.Contains(err.Error(), "a label stands twice") {
		t.Errorf("error = %v for a label that stands twice", err)
	}
	page, values := []byte("a:b{k=\"some text\",n=\"\\\\\"} 1\n"), make([]value, len(texts))
	if n := testing.AllocsPerRun(20, func() {
		if err := scanner.Scan(page, values); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestMatches(t *testing.T) {
	tests := []struct {
		name, page string
		want       [2]float64 // of matches; 0 if there is none
	}{
		{"none", "a 1\nab 1\n", [2]float64{}},
		{"one of two labels", "a{k=\"v\"} 1\na{n=\"\"} 2\n", [2]float64{}},
		{"both, in any order", "a{n=\"\",x=\"y\",k=\"v\"} 3\n", [2]float64{3, 0}},
		{"one has another value", "a{k=\"v\",n=\"1\"} 1\na{k=\"w\",n=\"\"} 2\na{k=\"v\",n=\"\"} 4\n", [2]float64{4, 0}},
		{"escaped value", "ab{n=\"\\\"\\\\\\n\"} 5\nab{n=\"x\"} 6\n", [2]float64{0, 5}},
	}
	scanner := promtext.NewScanner(matches)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			values := make([]promtext.Value, len(matches))
			if err := scanner.Scan([]byte(tt.page), values); err != nil {
				t.Fatal(err)
			}
			for i, want := range tt.want {
				if values[i].Seen != (want != 0) || values[i].Number != want {
					t.Errorf("%d is %+v, want %v", i, values[i], want)
				}
			}
		})
	}
}

func TestScanWithoutWants(t *testing.T) {
	if err := promtext.NewScanner(nil).Scan([]byte("a 1\n# TYPE a gauge\n{a} 1\n"), nil); err != nil {
		t.Error(err)
	}
}

func TestScanAllocatesNothing(t *testing.T) {
	page := read(t)
	none := []byte(strings.Replace(string(page), "num_gpu_blocks=\"64\"", "num_gpu_blocks=\"None\"", 1))
	scanner, values := promtext.NewScanner(vllm), make([]promtext.Value, len(vllm))
	for name, page := range map[string][]byte{"vLLM": page, "vLLM at its start": none} {
		if n := testing.AllocsPerRun(20, func() {
			if err := scanner.Scan(page, values); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// FuzzScan compares with prometheus/common: whatever page that parser accepts gives the same numbers.
func FuzzScan(f *testing.F) {
	for _, seed := range []string{
		"# HELP a x\n# TYPE a gauge\na{k=\"v\",} 1e-3 20\na -2 30\n\n",
		"{\"a\",k=\"v\"} 1\n{k=\"v\", a} 2\n\"ab\"{} +Inf -1\n#\tTYPE  \"a:b\"\tuntyped\na:b{\"n\"=\"7\"} NaN\n",
		"# TYPE a histogram\na_bucket{le=\"+Inf\"} 1\na_sum 1\na_count 1\na 2\na{le=\"1\"}+3\n",
		"# TYPE ab Summary\nab{quantile=\"0.5\"} 1\nab_count 1\n \t# EOF\n  ",
		"a:b{k=\"x\\n\"} 1\na:b{n=\"y\"} 3\na:b{k=\"\"} NaN\nab{n=\"\\\\\"} 1 2\nab 2 1\n",
		"a{k=\"\\\"\\\\\\n\"}1\na:b{n=\"4294967296\"} 1\na:b{n=\"64\"} 1 9223372036854775807\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(compare)
}

// FuzzScanWords is FuzzScan on pages made of whole words, of which prometheus/common accepts far more: each byte is a word
// of a list.
func FuzzScanWords(f *testing.F) {
	words := []string{
		"\n", "\n", " ", "\t", "a", "ab", "a:b", "b", "{", "}", ",", "=", "\"", "\\", "#", "# TYPE ", "# HELP ", " gauge\n", " counter\n",
		" untyped\n", " histogram\n", " summary\n", "gaugehistogram", "_sum", "_count", "_bucket", "a{k=\"v\"", "\",n=\"", "k", "n",
		"{\"a\",", "{\"a:b\"", ",\"n\"=\"3\"}", "le=\"1\"", "quantile=\"0.5\"", "1", "-2", "3e5", "0.25", "NaN", "+Inf", "0x1p1", " 1\n", " 2 17\n",
		"a 1\n", "ab 2\n", "a:b{n=\"8\"} 1\n", "\xc3\xa9", "\xff", "_", "7", "# EOF\n",
	}
	f.Add([]byte{44, 26, 9, 42, 15, 5, 17, 45, 46, 31, 9, 43, 30, 33, 9, 42})
	f.Fuzz(func(t *testing.T, choice []byte) {
		var page []byte
		for _, c := range choice {
			page = append(page, words[int(c)%len(words)]...)
		}
		compare(t, page)
	})
}

// compare scans a page and fails if prometheus/common accepts it and finds other numbers.
func compare(t *testing.T, page []byte) {
	want, got := make([]promtext.Value, len(every)), make([]promtext.Value, len(every))
	err := promtext.NewScanner(every).Scan(page, got)
	if oracle.New(every).Scan(page, want) != nil || accident(page) {
		return
	}
	if err != nil {
		t.Fatalf("prometheus/common reads this page, Scan does not: %v\n%q", err, page)
	}
	if d := diff(want, got); d != "" {
		t.Errorf("%q: %s", page, d)
	}
}

// accident finds the two spellings that the package comment names: a quote that opens within a name, and a backslash in a
// TYPE line.
func accident(page []byte) bool {
	for line := range strings.Lines(string(page)) {
		if text := strings.TrimLeft(line, " \t"); strings.HasPrefix(text, "#") {
			if fields := strings.Fields(text[1:]); len(fields) > 0 && fields[0] == "TYPE" && strings.Contains(text, "\\") {
				return true
			}
		}
		quoted, escaped := false, false
		before := byte(' ')
		for _, b := range []byte(line) {
			switch {
			case escaped:
				escaped = false
			case quoted && b == '\\':
				escaped = true
			case b == '"':
				if !quoted && strings.IndexByte(" \t,={", before) < 0 {
					return true
				}
				quoted = !quoted
			}
			before = b
		}
	}
	return false
}

func read(tb testing.TB) []byte {
	tb.Helper()
	page, err := os.ReadFile(realPage)
	if err != nil {
		tb.Fatal(err)
	}
	return page
}

func BenchmarkScan(b *testing.B) {
	page := read(b)
	values := make([]promtext.Value, len(vllm))
	for _, bb := range []struct {
		name string
		scan func(page []byte, values []promtext.Value) error
	}{
		{"promtext", promtext.NewScanner(vllm).Scan},
		{"expfmt", oracle.New(vllm).Scan},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.SetBytes(int64(len(page)))
			b.ReportAllocs()
			for b.Loop() {
				if err := bb.scan(page, values); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
