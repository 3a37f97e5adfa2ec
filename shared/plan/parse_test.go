package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var writeGolden = flag.Bool("write-golden", false, "write the golden file of a new schema version; existing ones are never rewritten")

// sample returns a plan in which every field is set.
func sample() *Plan {
	return &Plan{
		Version:     Version,
		Revision:    "00c0ffee12345678",
		Destination: DestinationList,
		FailureMode: FailClose,
		Parity:      ParityEPP,
		Agent:       Agent{Cluster: "zerohop_agent", PollTimeoutMs: 10_000, StaleMs: 2_000, ScrapeMs: 250, MaxAgeMs: 60_000},
		Bounds:      Bounds{Endpoints: 1024, IndexBlocks: 1 << 20, Sessions: 1000},
		Prefix: Prefix{
			AutoTune: true, BlockSizeTokens: 16, MaxPrefixBlocks: 2048, MaxPrefixTokens: 131_072, LRUCapacityPerServer: 31_250,
		},
		Plugins: []Plugin{
			{Name: "queue-scorer", Type: "queue-scorer"},
			{Name: "fast", Type: "prefix-cache-scorer", Parameters: Params{
				{Name: "matchLengthWeight", Kind: Number, Num: 0.25},
				{Name: "strict", Kind: Bool, Num: 1},
				{Name: "loose", Kind: Bool},
				{Name: "producer", Kind: String, Str: "approx \"quoted\" \\ \n\t\x01 größe <&> 😀"},
			}},
			{Name: "max-score-picker", Type: "max-score-picker"},
			{Name: "single-profile-handler", Type: "single-profile-handler"},
		},
		Profiles: []Profile{{
			Name:    "default",
			Filters: []string{"queue-scorer"},
			Scorers: []Scorer{{Plugin: "queue-scorer", Weight: 2}, {Plugin: "fast", Weight: -0.5}},
			Picker:  "max-score-picker",
		}},
		ProfileHandler: "single-profile-handler",
		Endpoints: []Endpoint{
			{Name: "default/vllm-0", Address: "10.0.0.1:8000", Labels: []Label{{Key: "llm-d.ai/role", Value: "decode"}, {Key: "zone"}}},
			{Name: "default/vllm-1", Address: "[2001:db8::1]:8000", Labels: []Label{{Key: "zone", Value: "a \"b\""}}},
		},
		Objectives: []Objective{{Name: "batch", Priority: -1}, {Name: "chat", Priority: 7}},
		Explain:    Explain{Networks: []string{"10.0.0.0/8", "::1/128"}},
		Log:        Log{Chain: true},
		Sharing:    Sharing{Mode: SharingProcess, IntervalUs: 500, LogBytes: 65536},
		Attempts:   Attempts{Retries: RetryUnanswered, FirstByteMs: 2000},
		Inactive:   []Inactive{{Name: "kv", Type: "precise-prefix-cache-producer"}},
	}
}

// sharingSample returns the plan of the fourth golden file.
func sharingSample() *Plan {
	p := sample()
	p.Agent.MaxAgeMs, p.Attempts = 0, Attempts{}
	return p
}

// policiesSample returns the plan of the third golden file.
func policiesSample() *Plan {
	p := sharingSample()
	p.Sharing = Sharing{}
	return p
}

// firstSample returns the plan of the first golden file, which was written before some fields existed.
func firstSample() *Plan {
	p := revisionSample()
	p.Revision, p.Destination, p.Parity = "", DestinationHeader, ""
	return p
}

// revisionSample returns the plan of the second golden file.
func revisionSample() *Plan {
	p := policiesSample()
	p.Agent.ScrapeMs, p.Bounds.Sessions, p.Endpoints[0].Labels, p.Endpoints[1].Labels = 0, 0, nil, nil
	p.Objectives, p.Explain, p.Log, p.Inactive = nil, Explain{}, Log{}, nil
	return p
}

// TestGolden reads every golden file: at least one for each schema version that this package reads, and another where
// fields were added to a version. The files are never rewritten. What Append writes is the last one.
func TestGolden(t *testing.T) {
	tests := []struct {
		name string
		want *Plan
		last bool
	}{
		{"v1.json", firstSample(), false},
		{"v1_revision.json", revisionSample(), false},
		{"v1_policies.json", policiesSample(), false},
		{"v1_sharing.json", sharingSample(), false},
		{"v1_attempts.json", sample(), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join("testdata", tt.name)
			written := append(Append(nil, tt.want), '\n')
			if *writeGolden && tt.last {
				create(t, path, written)
			}
			got, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			p, err := Parse(got)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, p); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(string(written), string(got)); tt.last && diff != "" {
				t.Errorf("Append writes other text than the golden file (-got +golden):\n%s", diff)
			}
		})
	}
}

// create writes a file that does not exist.
func create(t *testing.T, path string, content []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestAppendNamesFieldsAsTagged reads what Append writes with encoding/json and the struct tags.
func TestAppendNamesFieldsAsTagged(t *testing.T) {
	want := sample()
	for i := range want.Plugins {
		want.Plugins[i].Parameters = nil // an object, which encoding/json cannot put into a slice
	}
	var got Plan
	dec := json.NewDecoder(bytes.NewReader(bytes.ReplaceAll(Append(nil, want), []byte(`"parameters":{}`), []byte(`"parameters":null`))))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, &got); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
}

func TestAppendNumbers(t *testing.T) {
	tests := []struct {
		name string
		v    float64
		want string
	}{
		{"zero", 0, "0"},
		{"integer", 31_250_000, "31250000"},
		{"fraction", 0.1, "0.1"},
		{"negative", -2.5, "-2.5"},
		{"small", 1e-6, "0.000001"},
		{"smaller", 1e-7, "1e-07"},
		{"large", 1e21, "1e+21"},
		{"smallest", math.SmallestNonzeroFloat64, "5e-324"},
		{"largest", math.MaxFloat64, "1.7976931348623157e+308"},
		{"NaN", math.NaN(), "null"},
		{"infinite", math.Inf(-1), "null"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := appendFloat(nil, tt.v)
			if string(got) != tt.want {
				t.Errorf("%v is written as %s, want %s", tt.v, got, tt.want)
			}
			if !json.Valid(got) {
				t.Errorf("%s is not JSON", got)
			}
		})
	}
}

func TestParseSkipsUnknown(t *testing.T) {
	text := string(Append(nil, sample()))
	text = strings.ReplaceAll(text, `{"cluster"`, `{"new":{"a":[1,-2.5e+3,{"b":null}],"c":"\"\u00e9"},"new":[[],{},true],"cluster"`)
	text = strings.ReplaceAll(text, `{"plugin"`, `{"Plugin":1,"plugin"`)
	got, err := Parse([]byte(" \n" + strings.Replace(text, "{", "{\r\t\"first\" : false , ", 1) + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sample(), got); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
}

func TestParseSentinels(t *testing.T) {
	deep := strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1)
	tests := []struct {
		name, in string
		want     error
		text     string
	}{
		{"empty", ``, ErrSyntax, `not valid JSON: offset 0: unexpected end`},
		{"not JSON", `# plan`, ErrSyntax, `not valid JSON: offset 0: want a value`},
		{"cut", `{"version":1,`, ErrSyntax, `not valid JSON: offset 13: want a field name`},
		{"cut in a string", `{"version`, ErrSyntax, `not valid JSON: offset 9: string does not end`},
		{"text after it", `{"version":1} x`, ErrSyntax, `not valid JSON: offset 14: text after the plan`},
		{"comma before the first element", `{"version":[,]}`, ErrSyntax, `not valid JSON: offset 12: want a value`},
		{"too deep", `{"x":` + deep + `}`, ErrSyntax, `not valid JSON: offset 69: nested deeper than 64`},
		{"no version", `{}`, ErrVersion, `version: this plan has version 0, which was made by an older agent; this module reads version 1`},
		{"newer version", `{"version":2,"destination":7}`, ErrVersion, `version: this plan has version 2, which needs a newer zerohop.wasm; this module reads version 1`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := Parse([]byte(tt.in))
			if p != nil {
				t.Error("got a plan with the error")
			}
			if !errors.Is(err, tt.want) {
				t.Fatalf("error %v, want %v", err, tt.want)
			}
			if err.Error() != tt.text {
				t.Errorf("error %q\nwant  %q", err, tt.text)
			}
		})
	}
}

// TestParseProblems changes the sample's text; each change gives exactly the listed problems.
func TestParseProblems(t *testing.T) {
	tests := []struct {
		name     string
		old, new string // "" for old: the new text is the whole plan
		want     []string
	}{
		{"not an object", "", `7`, []string{`version: this plan has version 0, which was made by an older agent; this module reads version 1`}},
		{"nothing but a version", "", `{"version":1}`, []string{
			`destination: must be "header" or "filter_state" or "list", not ""`,
			`failureMode: must be "FailClose" or "FailOpen", not ""`,
			`bounds.endpoints: must be at least 1, not 0`,
			`prefix.blockSizeTokens: must be at least 1, not 0`,
			`profiles: must have at least one profile`,
			`profileHandler: must name a plugin`,
		}},
		{"destination", `"destination":"list"`, `"destination":"lists"`, []string{`destination: must be "header" or "filter_state" or "list", not "lists"`}},
		{"revision too short", `"revision":"00c0ffee12345678"`, `"revision":"c0ffee"`, []string{`revision: must be 16 lower-case hexadecimal digits, not "c0ffee"`}},
		{"revision in capitals", `"revision":"00c0ffee12345678"`, `"revision":"00C0FFEE12345678"`, []string{`revision: must be 16 lower-case hexadecimal digits, not "00C0FFEE12345678"`}},
		{"revision as a number", `"revision":"00c0ffee12345678"`, `"revision":12`, []string{`revision: must be a string, not a number`}},
		{"parity", `"parity":"epp"`, `"parity":"EPP"`, []string{`parity: must be "none" or "epp", not "EPP"`}},
		{"destination of another type", `"destination":"list"`, `"destination":null`, []string{`destination: must be a string, not null`}},
		{"failure mode", `FailClose`, `failclose`, []string{`failureMode: must be "FailClose" or "FailOpen", not "failclose"`}},
		{"poll timeout", `"pollTimeoutMs":10000`, `"pollTimeoutMs":0`, []string{`agent.pollTimeoutMs: must be at least 1, not 0`}},
		{"fraction", `"staleMs":2000`, `"staleMs":0.5`, []string{`agent.staleMs: must be an integer from 0 to 2147483647, not 0.5`}},
		{"negative", `"staleMs":2000`, `"staleMs":-1`, []string{`agent.staleMs: must be an integer from 0 to 2147483647, not -1`}},
		{"too large", `"staleMs":2000`, `"staleMs":2147483648`, []string{`agent.staleMs: must be an integer from 0 to 2147483647, not 2.147483648e+09`}},
		{"no float64", `"staleMs":2000`, `"staleMs":1e999`, []string{`agent.staleMs: number 1e999 is out of range`}},
		{"priority with a fraction", `"priority":-1`, `"priority":-1.5`, []string{
			`objectives[0].priority: must be an integer from -2147483648 to 2147483647, not -1.5`,
		}},
		{"objective twice", `"name":"chat"`, `"name":"batch"`, []string{`objectives[1].name: "batch" is the name of objectives[0] too`}},
		{"label twice", `"key":"zone","value":""`, `"key":"llm-d.ai/role","value":""`, []string{
			`endpoints[0].labels[1].key: "llm-d.ai/role" is the key of endpoints[0].labels[0] too`,
		}},
		{"label without key", `"key":"zone","value":""`, `"key":"","value":""`, []string{`endpoints[0].labels[1].key: must not be empty`}},
		{"networks of another type", `"networks":["10.0.0.0/8","::1/128"]`, `"networks":"::1/128"`, []string{
			`explain.networks: must be an array, not a string`,
		}},
		{"index larger than the module's memory", `"indexBlocks":1048576`, `"indexBlocks":3000000`, []string{
			`bounds.indexBlocks: must be at most 2080895 with 1024 endpoints, not 3000000: the prefix index of a worker would take more than 512 MiB`,
		}},
		{"section of another type", `"bounds":{"endpoints":1024,"indexBlocks":1048576,"sessions":1000}`, `"bounds":[]`, []string{
			`bounds: must be an object, not an array`, `bounds.endpoints: must be at least 1, not 0`,
		}},
		{"list of another type", `"filters":["queue-scorer"]`, `"filters":"queue-scorer"`, []string{`profiles[0].filters: must be an array, not a string`}},
		{"bool of another type", `"autoTune":true`, `"autoTune":1`, []string{`prefix.autoTune: must be true or false, not a number`}},
		{"block size", `"autoTune":true,"blockSizeTokens":16`, `"autoTune":false,"blockSizeTokens":0`, []string{`prefix.blockSizeTokens: must be at least 1, not 0`}},
		{"field twice", `"staleMs":2000`, `"staleMs":1,"staleMs":2`, []string{`agent.staleMs: appears twice`}},
		{"plugin name", `{"name":"queue-scorer"`, `{"name":""`, []string{
			`plugins[0].name: must not be empty`,
			`profiles[0].filters[0]: no plugin named "queue-scorer"`,
			`profiles[0].scorers[0].plugin: no plugin named "queue-scorer"`,
		}},
		{"plugin name twice", `{"name":"max-score-picker"`, `{"name":"fast"`, []string{
			`plugins[2].name: "fast" is the name of plugins[1] too`,
			`profiles[0].picker: no plugin named "max-score-picker"`,
		}},
		{"plugin type", `"type":"max-score-picker"`, `"type":""`, []string{`plugins[2].type: must not be empty`}},
		{"parameter type", `"strict":true`, `"strict":{}`, []string{`plugins[1].parameters.strict: must be a number, a boolean or a string, not an object`}},
		{"parameter twice", `"strict":true`, `"loose":true`, []string{`plugins[1].parameters.loose: appears twice`}},
		{"weight", `"weight":2`, `"weight":"2"`, []string{`profiles[0].scorers[0].weight: must be a number, not a string`}},
		{"scorer", `{"plugin":"fast"`, `{"plugin":"fsat"`, []string{`profiles[0].scorers[1].plugin: no plugin named "fsat"`}},
		{"picker", `"picker":"max-score-picker"`, `"picker":true`, []string{`profiles[0].picker: must be a string, not a boolean`}},
		{"profile handler", `"profileHandler":"single-profile-handler"`, `"profileHandler":"x\ny"`, []string{`profileHandler: no plugin named "x\ny"`}},
		{"endpoint address", `10.0.0.1:8000`, `localhost:8000`, []string{`endpoints[0].address: "localhost:8000" must be ip:port in canonical form, IPv6 in brackets`}},
		{"endpoint name", `default/vllm-1`, `a\u0007`, []string{`endpoints[1].name: must have no control characters and at most 65535 bytes`}},
		{"endpoint twice", `{"name":"default/vllm-1","address":"[2001:db8::1]:8000"`, `{"name":"default/vllm-0","address":"10.0.0.1:8000"`, []string{
			`endpoints[1]: repeats endpoints[0]`,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text := tt.new
			if tt.old != "" {
				text = strings.Replace(string(Append(nil, sample())), tt.old, tt.new, 1)
			}
			p, err := Parse([]byte(text))
			if err == nil || p != nil {
				t.Fatalf("Parse = %v, %v, want nil and an error", p, err)
			}
			if diff := cmp.Diff(tt.want, strings.Split(err.Error(), "\n")); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseWithoutAgent(t *testing.T) {
	want := sample()
	want.Agent = Agent{}
	got, err := Parse(Append(nil, want))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
}

// TestVersionError has the texts of a module that reads a range of versions.
func TestVersionError(t *testing.T) {
	tests := []struct {
		name string
		err  versionError
		want string
	}{
		{"too new", versionError{4, 2, 3}, "version: this plan has version 4, which needs a newer zerohop.wasm; this module reads versions 2 to 3"},
		{"too old", versionError{1, 2, 3}, "version: this plan has version 1, which was made by an older agent; this module reads versions 2 to 3"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.err.Error(); got != tt.want {
				t.Errorf("error %q\nwant  %q", got, tt.want)
			}
		})
	}
}

func TestRevisionID(t *testing.T) {
	for text, want := range map[string]uint64{"00c0ffee12345678": 0xc0ffee12345678, "ffffffffffffffff": 1<<64 - 1, "": 0} {
		if got := (&Plan{Revision: text}).RevisionID(); got != want {
			t.Errorf("RevisionID of %q is %x, want %x", text, got, want)
		}
	}
}

func TestParams(t *testing.T) {
	p := sample().Plugins[1].Parameters
	if got := p.Float("matchLengthWeight", 9); got != 0.25 {
		t.Errorf("Float = %v, want 0.25", got)
	}
	if got := p.Int("matchLengthWeight", 9); got != 0 {
		t.Errorf("Int = %v, want 0", got)
	}
	if !p.Bool("strict", false) || p.Bool("loose", true) || !p.Bool("absent", true) {
		t.Error("Bool: want true, false and the default")
	}
	if got := p.String("producer", ""); !strings.HasPrefix(got, "approx ") {
		t.Errorf("String = %q", got)
	}
	if p.Float("strict", 7) != 7 || p.String("strict", "d") != "d" || p.Bool("producer", true) != true {
		t.Error("a parameter of another kind must give the default")
	}
}

func BenchmarkParse(b *testing.B) {
	text := Append(nil, sample())
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(text); err != nil {
			b.Fatal(err)
		}
	}
}
