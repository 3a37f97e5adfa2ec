package agent

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/zerohop/zerohop/scorers/registry"
	"github.com/zerohop/zerohop/shared/snapshot"
	"github.com/zerohop/zerohop/xds/config"
	"github.com/zerohop/zerohop/xds/discovery"
	"github.com/zerohop/zerohop/xds/publish"
	"github.com/zerohop/zerohop/xds/scrape"
)

// servers are model servers with adapters.
type servers struct {
	mu     sync.Mutex
	models string // JSON list
	lora   string // a series, or empty
	asked  int    // for models
}

func (s *servers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.URL.Path == "/v1/models" {
		s.asked++
		_, _ = w.Write([]byte(s.models))
		return
	}
	_, _ = fmt.Fprint(w, "vllm:num_requests_waiting 1\n"+s.lora)
}

func (s *servers) change(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// planWatch is a log that runs sent when the plan was sent.
type planWatch struct {
	slog.Handler
	sent func()
}

func (p planWatch) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "plan is ready" {
		p.sent()
	}
	return nil
}

func (p planWatch) Enabled(context.Context, slog.Level) bool { return true }

// WithAttrs implements slog.Handler.
func (p planWatch) WithAttrs([]slog.Attr) slog.Handler { return p }

// startFacts runs an agent with the configuration doc, for servers at 10.0.0.1 and 10.0.0.2, while do runs. sent is called
// after each plan.
func startFacts(t *testing.T, doc string, s *servers, sent func(l *live), do func(l *live)) {
	synctest.Test(t, func(t *testing.T) {
		l := &live{world: newWorld(t), lists: make(chan discovery.Update), documents: make(chan []byte)}
		var running sync.WaitGroup
		var up []*http.Server
		for i := 1; i <= 2; i++ {
			srv := &http.Server{Handler: s}
			up = append(up, srv)
			listener := l.net.Listen(fmt.Sprintf("10.0.0.%d:80", i))
			running.Go(func() { _ = srv.Serve(listener) })
		}
		ctx, cancel := context.WithCancel(t.Context())
		o := l.options(l)
		o.ConfigFile, o.Watch = "epp.yaml", l.watch
		o.Load = func(doc []byte) (*config.Config, error) { return config.Load(doc, registry.Specs()) }
		o.Log = slog.New(planWatch{slog.DiscardHandler, func() { sent(l) }})
		var err error
		if o.Config, err = o.Load([]byte(doc)); err != nil {
			t.Fatal(err)
		}
		running.Go(func() {
			if err := Run(ctx, o); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		do(l)
		cancel()
		l.client.CloseIdleConnections()
		for _, srv := range up {
			_ = srv.Close()
		}
		running.Wait()
	})
}

// labelled is an update with two endpoints, of which the first has these labels.
func labelled(labels map[string]string, rank int) discovery.Update {
	return discovery.Update{Endpoints: []discovery.Endpoint{
		{Namespace: "n", Name: "a", Address: netip.MustParseAddrPort("10.0.0.1:80"), Labels: labels, Rank: rank},
		{Namespace: "n", Name: "b", Address: netip.MustParseAddrPort("10.0.0.2:80")},
	}}
}

// facts are what the newest snapshot says of endpoint a, and which labels it carries.
type facts struct {
	Keys, Label     []string
	Rank, MaxLoRA   int
	Models, Loaded  []uint64
	KnowsModels, Ok bool
}

func (l *live) facts() facts {
	l.t.Helper()
	v := l.poll(0)
	f := v.Facts()
	var out facts
	for k := range f.Labels() {
		out.Keys = append(out.Keys, string(f.LabelKey(k)))
	}
	for i := range v.Len() {
		var e snapshot.Endpoint
		if v.Endpoint(i, &e); string(e.Name) != "n/a" {
			continue
		}
		out.Ok = true
		for k := range f.Labels() {
			if value, ok := f.Label(i, k); ok {
				out.Label = append(out.Label, string(value))
			}
		}
		out.Rank, out.MaxLoRA = f.Rank(i), f.MaxLoRA(i)
		out.Models, out.KnowsModels = f.AppendModels(nil, i)
		out.Loaded, _ = f.AppendAdapters(nil, i, false)
	}
	return out
}

const (
	profile = "apiVersion: inference.networking.x-k8s.io/v1alpha1\nkind: EndpointPickerConfig\nplugins:\n- type: queue-scorer\n"
	byZone  = "- type: label-selector-filter\n  parameters: {matchLabels: {zone: east}}\n"
	byRole  = "- type: decode-filter\n"
	byModel = "- type: served-model-filter\n"
	byLoRA  = "- type: lora-affinity-scorer\n"
)

// TestSnapshotBeforePlan edits the configuration so that plugins read labels: when the plan goes out, the snapshot has them,
// and those of the plan before stay for a while.
func TestSnapshotBeforePlan(t *testing.T) {
	var plans [][]string // keys that are carried when a plan is sent
	sent := func(l *live) {
		var keys []string
		if len(plans) > 0 { // there is no snapshot yet when the first plan is sent
			keys = l.facts().Keys
		}
		plans = append(plans, keys)
	}
	startFacts(t, profile, &servers{}, sent, func(l *live) {
		l.lists <- labelled(map[string]string{"zone": "east", "llm-d.ai/role": "decode"}, 1)
		time.Sleep(time.Second)
		if f := l.facts(); !f.Ok || f.Keys != nil {
			t.Errorf("a snapshot carries %v though nothing is read", f.Keys)
		}
		l.edit(profile + byZone)
		l.edit(profile + byRole)
		l.edit(profile + byRole + byZone)
		l.edit(profile)
		both := []string{"llm-d.ai/role", "zone"}
		if d := cmp.Diff([][]string{nil, {"zone"}, both, both, both}, plans); d != "" {
			t.Errorf("keys at each plan (-want +got):\n%s", d)
		}
		time.Sleep(lastWants + time.Second)
		if f := l.facts(); f.Keys != nil {
			t.Errorf("a snapshot carries %v long after", f.Keys)
		}
	})
}

// TestLabelsAndRanks follows what discovery says of an endpoint.
func TestLabelsAndRanks(t *testing.T) {
	startFacts(t, profile+byZone, &servers{}, func(*live) {}, func(l *live) {
		want := func(label []string, rank int) {
			t.Helper()
			synctest.Wait()
			if f := l.facts(); !cmp.Equal(f.Label, label) || f.Rank != rank || f.KnowsModels {
				t.Errorf("%+v, want label %v and rank %d", f, label, rank)
			}
		}
		l.lists <- labelled(map[string]string{"zone": "east", "other": "x"}, 1)
		time.Sleep(time.Second)
		want([]string{"east"}, 1)
		l.lists <- labelled(map[string]string{"zone": "west"}, 1)
		want([]string{"west"}, 1)
		l.lists <- labelled(map[string]string{"zone": strings.Repeat("x", snapshot.MaxValue+1)}, 1)
		want(nil, 1)
		l.lists <- labelled(nil, 3)
		want(nil, 3)
	})
}

// TestModelsAndAdapters has endpoints tell their models only when a plugin reads them.
func TestModelsAndAdapters(t *testing.T) {
	s := &servers{
		models: `{"data":[{"id":"base"}]}`,
		lora:   `vllm:lora_requests_info{max_lora="3",running_lora_adapters="sql",waiting_lora_adapters=""} 1` + "\n",
	}
	base, sql := xxhash.Sum64String("base"), xxhash.Sum64String("sql")
	startFacts(t, profile, s, func(*live) {}, func(l *live) {
		expect := func(what string, models, loaded []uint64, limit int) {
			t.Helper()
			f := l.facts()
			if !cmp.Equal(f.Models, models) || f.KnowsModels != (models != nil) || !cmp.Equal(f.Loaded, loaded) || f.MaxLoRA != limit {
				t.Errorf("%s: %+v", what, f)
			}
		}
		l.lists <- labelled(nil, 0)
		time.Sleep(30 * time.Second)
		if s.asked != 0 {
			t.Errorf("endpoints were asked %d times for models that nobody reads", s.asked)
		}
		expect("nobody reads", nil, nil, 0)
		l.edit(profile + byLoRA)
		expect("adapters", nil, []uint64{sql}, 3)
		l.edit(profile + byLoRA + byModel)
		time.Sleep(11 * time.Second)
		expect("models too", []uint64{base}, []uint64{sql}, 3)
		s.change(func() { s.models, s.lora = `<html>`, strings.ReplaceAll(s.lora, "sql", "") })
		time.Sleep(31 * time.Second)
		expect("garbage keeps the models", []uint64{base}, nil, 3)
		s.change(func() { s.models = `{"data":[{"id":"sql"}]}` })
		time.Sleep(61 * time.Second)
		expect("other models", []uint64{sql}, nil, 3)
		l.edit(profile)
		synctest.Wait()
		before := s.asked
		time.Sleep(lastWants + 30*time.Second)
		if s.asked != before {
			t.Errorf("endpoints were asked %d times after the last plugin had gone", s.asked-before)
		}
		expect("nobody reads any more", nil, nil, 0)
	})
}

// TestCustomMetrics describes an engine in the configuration, and has a plugin read one of its metrics.
func TestCustomMetrics(t *testing.T) {
	s := &servers{lora: "my_queue 7\nspeed{kind=\"prefill\"} 0.5\nspeed{kind=\"decode\"} 2\n"}
	const scorer = "- type: endpoint-attribute-scorer\n  parameters: {attributeKey: speed, algorithm: {type: linear_lower_is_better}}\n"
	engine := func(spec string) string {
		return "- type: core-metrics-extractor\n  parameters:\n    engineLabelKey: brand\n    engineConfigs:\n" +
			"    - {name: mine, queuedRequestsSpec: my_queue, customMetrics: [{attributeKey: speed, metricSpec: '" + spec + "'}]}\n"
	}
	startFacts(t, profile+scorer+engine("speed{kind=decode}"), s, func(*live) {}, func(l *live) {
		attributes := func() (got []float64, waiting []uint32) {
			v := l.poll(0)
			f := v.Facts()
			at := f.AttrIndex("core-metrics-extractor/speed")
			for i := range v.Len() {
				var e snapshot.Endpoint
				v.Endpoint(i, &e)
				waiting = append(waiting, e.Waiting)
				if at >= 0 {
					got = append(got, f.Attr(i, at))
				}
			}
			slices.Sort(got) // NaN first
			slices.Sort(waiting)
			return got, waiting
		}
		want := func(what string, attribute float64) {
			t.Helper()
			got, waiting := attributes()
			if d := cmp.Diff([]float64{math.NaN(), attribute}, got, cmpopts.EquateNaNs()); d != "" {
				t.Errorf("%s: attributes (-want +got):\n%s", what, d)
			}
			if d := cmp.Diff([]uint32{1, 7}, waiting); d != "" { // vLLM's number of the one, its own of the other
				t.Errorf("%s: waiting (-want +got):\n%s", what, d)
			}
		}
		l.lists <- labelled(map[string]string{"brand": "mine"}, 0)
		time.Sleep(time.Second)
		want("at first", 2)
		l.edit(profile + scorer + engine("speed{kind=prefill}"))
		time.Sleep(time.Second)
		want("after an edit", 0.5)
		if bad := l.edit(profile + scorer + engine("speed{")); bad.Config.OK || !strings.Contains(bad.Config.Error, "engineConfigs[0].customMetrics[0].metricSpec") {
			t.Errorf("after a bad edit: %+v", bad.Config)
		}
		l.edit(profile + engine("speed"))
		time.Sleep(lastWants + time.Second)
		if got, _ := attributes(); got != nil {
			t.Errorf("attributes %v are carried though nothing reads them", got)
		}
	})
}

// TestFactsStayTheSame checks that equal facts are one pointer, by which the store knows that nothing is to be encoded anew.
func TestFactsStayTheSame(t *testing.T) {
	f := newFleet(settings{scraper: idle{}}, publish.NewStore(time.Now()), nil, func() {}, slog.New(slog.DiscardHandler))
	m := &member{endpoint: labelled(map[string]string{"zone": "a"}, 1).Endpoints[0]}
	k := keyOf(&m.endpoint)
	f.members[k] = m
	m.asking.stop = func() {}
	describe := func() *publish.Facts { f.describe(k, m); return m.facts }
	first := describe()
	m.endpoint = labelled(map[string]string{"zone": "a"}, 1).Endpoints[0]
	if describe() != first {
		t.Error("equal labels make other facts")
	}
	learn := func(hashes ...uint64) bool {
		return f.learnModels(result{key: k, sample: scrape.Sample{Models: &scrape.Models{Hashes: hashes}}})
	}
	if !learn(1, 2) || m.facts == first || learn(1, 2) || !learn(1) || !learn() || learn() {
		t.Errorf("models are learned wrongly: %+v", m.facts)
	}
	if f.learnModels(result{key: k, sample: scrape.Sample{}}) || f.learnModels(result{key: k, run: 7, sample: scrape.Sample{Models: &scrape.Models{}}}) {
		t.Error("a failure, or the answer to an earlier question, is news")
	}
}
