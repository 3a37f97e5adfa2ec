package scrape

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/zerohop/zerohop/xds/discovery"
	"github.com/zerohop/zerohop/xds/scrape/promtext"
)

// readingOf returns a loop for an endpoint whose engine is c.
func readingOf(t testing.TB, c EngineConfig) *loop {
	t.Helper()
	s, err := New(Options{Engines: []EngineConfig{c}})
	if err != nil {
		t.Fatal(err)
	}
	return newLoop(s, &discovery.Endpoint{Labels: map[string]string{LabelEngine: c.Name}})
}

func TestParseSpec(t *testing.T) {
	match := func(pairs ...string) (out []promtext.Label) {
		for i := 0; i < len(pairs); i += 2 {
			out = append(out, promtext.Label{Name: pairs[i], Value: pairs[i+1]})
		}
		return out
	}
	tests := []struct {
		spec string
		want promtext.Want
		err  string
	}{
		{spec: "up", want: promtext.Want{Family: "up"}},
		{spec: " vllm:x_total ", want: promtext.Want{Family: "vllm:x_total"}},
		{spec: "x{}", want: promtext.Want{Family: "x"}},
		{spec: "x{a=b}", want: promtext.Want{Family: "x", Match: match("a", "b")}},
		{spec: "x { a = b c , d=\"e,f}\" , }", want: promtext.Want{Family: "x", Match: match("a", "b c", "d", "e,f}")}},
		{spec: `x{a="q\"\\\n"}`, want: promtext.Want{Family: "x", Match: match("a", "q\"\\\n")}},
		{spec: "x{a=}", want: promtext.Want{Family: "x", Match: match("a", "")}},
		{spec: "{a=b}", err: "does not begin with the name of a metric"},
		{spec: "1x", err: "does not begin with the name of a metric"},
		{spec: "a-b", err: "does not begin with the name of a metric"},
		{spec: "x{a=b", err: "has no closing brace"},
		{spec: "x{a}", err: "has no label=value"},
		{spec: "x{,}", err: "has no label=value"},
		{spec: "x{a.b=c}", err: "has no label=value"},
		{spec: "x{__name__=c}", err: "has no label=value"},
		{spec: `x{a="b}`, err: "label a: the value has no closing quote"},
		{spec: `x{a="b" c=d}`, err: "has no comma after label a"},
		{spec: "x{a=b,a=c}", err: "has label a twice"},
		{spec: "x{" + strings.Repeat("a", 3) + "=1," + "b=1,c=1,d=1,e=1,f=1,g=1,h=1,i=1,j=1,k=1,l=1,m=1,n=1,o=1,p=1,q=1}", err: "has more than 16 labels"},
	}
	for _, tt := range tests {
		t.Run(tt.spec, func(t *testing.T) {
			got, err := parseSpec(tt.spec)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("error = %v, want one with %q", err, tt.err)
				}
				return
			}
			if d := cmp.Diff(tt.want, got); d != "" || err != nil {
				t.Errorf("error %v\n%s", err, d)
			}
		})
	}
}

func FuzzParseSpec(f *testing.F) {
	f.Add("x{a=b,c=\"d\\\"\"}")
	f.Fuzz(func(t *testing.T, text string) {
		w, err := parseSpec(text)
		if err != nil {
			return
		}
		promtext.NewScanner([]promtext.Want{w}) // panics if it is no metric
		var b strings.Builder
		b.WriteString(w.Family + "{")
		for _, l := range w.Match {
			b.WriteString(l.Name + `="` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(l.Value) + `",`)
		}
		again, err := parseSpec(b.String() + "}")
		if d := cmp.Diff(w, again); d != "" || err != nil {
			t.Errorf("error %v\n%s", err, d)
		}
	})
}

func TestCustomEngine(t *testing.T) {
	c := EngineConfig{
		Name: "llama.cpp", Waiting: "llamacpp:requests_deferred", Running: "llamacpp:requests_processing",
		KVUsage: `usage{kind="kv",pool=main}`, CacheInfo: "cache_info", BlockSizeLabel: "page", NumBlocksLabel: "pages", NumBlocks: "pages",
		LoRA: "adapters", Custom: []CustomMetric{{"speed", "tokens_per_second"}, {"heat", "gpu_temperature{gpu=0}"}},
	}
	nan := math.NaN()
	tests := []struct {
		name, page string
		want       Metrics
	}{
		{
			"everything", `llamacpp:requests_deferred 3
llamacpp:requests_processing 2
usage{kind="gpu",pool="main"} 0.75
usage{kind="kv",pool="other"} 0.5
usage{kind="kv",pool="main",x="y"} 0.25
cache_info{page="64",pages="1"} 1
pages 99
adapters{running_lora_adapters="sql",max_lora="2"} 5
tokens_per_second 12.5
gpu_temperature{gpu="1"} 90
gpu_temperature{gpu="0"} -3e2
`, Metrics{
				Waiting: 3, Running: 2, KVUsage: 0.25, BlockSize: 64, NumBlocks: 99, LoRA: &LoRA{Max: 2, Active: adapters("sql")},
				Custom: &Attributes{[]string{"speed", "heat"}, []float64{12.5, -300}},
			},
		},
		{
			"what is absent or not finite stays", "tokens_per_second +Inf\ngpu_temperature{gpu=\"0\"} 7\n", Metrics{
				Waiting: 3, Running: 2, KVUsage: 0.25, BlockSize: 64, NumBlocks: 99, LoRA: &LoRA{Max: 2, Active: adapters("sql")},
				Custom: &Attributes{[]string{"speed", "heat"}, []float64{12.5, 7}},
			},
		},
	}
	l := readingOf(t, c)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := l.sample.Custom
			if err := l.update([]byte(tt.page)); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, l.sample.Metrics, cmpopts.EquateEmpty()); d != "" {
				t.Error(d)
			}
			if before != nil && before.Values[1] != -300 {
				t.Error("values that were given away have changed")
			}
			same := l.sample.Custom
			if err := l.update([]byte(tt.page)); err != nil || l.sample.Custom != same {
				t.Errorf("the same page gives other attributes, error %v", err)
			}
		})
	}
	if err := l.update([]byte("up 1\n")); err == nil || !strings.Contains(err.Error(), "llamacpp:requests_deferred, llamacpp:requests_processing, usage") {
		t.Errorf("error = %v for a page without any", err)
	}
	fresh := readingOf(t, EngineConfig{Name: "own", Custom: c.Custom})
	if err := fresh.update([]byte("tokens_per_second 1\n")); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(Metrics{Custom: &Attributes{[]string{"speed", "heat"}, []float64{1, nan}}}, fresh.sample.Metrics, cmpopts.EquateNaNs()); d != "" {
		t.Error(d)
	}
	a := fresh.sample.Custom
	if a.Of("speed") != 1 || !math.IsNaN(a.Of("heat")) || !math.IsNaN(a.Of("other")) || !math.IsNaN((*Attributes)(nil).Of("speed")) {
		t.Errorf("attributes by key: %+v", a)
	}
}

// TestOwnEngineReplaces describes an engine that is built in: nothing of that stays.
func TestOwnEngineReplaces(t *testing.T) {
	l := readingOf(t, EngineConfig{Name: "vllm", Waiting: "my_queue"})
	if err := l.update([]byte("my_queue 4\nvllm:num_requests_running 9\n")); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(Metrics{Waiting: 4}, l.sample.Metrics); d != "" {
		t.Error(d)
	}
	if engines["vllm"].wants[0].Family != "vllm:num_requests_waiting" {
		t.Error("the built-in engine has changed")
	}
}

func TestEngineConfigRefused(t *testing.T) {
	many := make([]CustomMetric, MaxCustom+1)
	tests := []struct {
		name    string
		options Options
		want    string
	}{
		{"no name", Options{Engines: []EngineConfig{{Waiting: "x"}}}, `engine "": name: "" is no name of an engine`},
		{"default", Options{Engines: []EngineConfig{{Name: "default", Waiting: "x"}}}, `name: "default" is no name of an engine`},
		{"twice", Options{Engines: []EngineConfig{{Name: "a", Waiting: "x"}, {Name: "a", Waiting: "y"}}}, `engine "a": is described twice`},
		{"nothing", Options{Engines: []EngineConfig{{Name: "a"}}}, `engine "a": has no metric`},
		{"spec", Options{Engines: []EngineConfig{{Name: "a", Running: "x{"}}}, `engine "a": runningRequestsSpec: "x{" has no closing brace`},
		{"custom spec", Options{Engines: []EngineConfig{{Name: "a", Custom: []CustomMetric{{"k", "-"}}}}}, `customMetrics[0].metricSpec: "-" does not begin`},
		{"no custom spec", Options{Engines: []EngineConfig{{Name: "a", Custom: []CustomMetric{{"k", ""}}}}}, "customMetrics[0].metricSpec: is empty"},
		{"custom twice", Options{Engines: []EngineConfig{{Name: "a", Custom: []CustomMetric{{"k", "x"}, {"k", "y"}}}}}, `customMetrics[1].attributeKey: "k" is empty or stands twice`},
		{"too many", Options{Engines: []EngineConfig{{Name: "a", Custom: many}}}, "customMetrics: 65 are more than 64"},
		{"default that is none", Options{Engine: "b", Engines: []EngineConfig{{Name: "a", Waiting: "x"}}}, `engine: "b" is unknown; known are a, sglang`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := New(tt.options); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want one with %q", err, tt.want)
			}
		})
	}
	if _, err := New(Options{Engine: "a", EngineLabel: "engine", Engines: []EngineConfig{{Name: "a", Waiting: "x"}}}); err != nil {
		t.Errorf("a default of one's own: %v", err)
	}
}
