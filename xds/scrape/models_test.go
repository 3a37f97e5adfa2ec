package scrape

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/zerohop/zerohop/shared/snapshot"
)

// listing returns a list as vLLM writes it.
func listing(ids ...string) string {
	var items []string
	for _, id := range ids {
		items = append(items, fmt.Sprintf(`{"id":%q,"object":"model","created":1700000000,"owned_by":"vllm","root":"/models/x","parent":null,"permission":[{"id":"modelperm-1"}]}`, id))
	}
	return `{"object":"list","data":[` + strings.Join(items, ",") + `]}`
}

// modelSet returns what a list of these names means.
func modelSet(ids ...string) *Models {
	h := adapters(ids...)
	slices.Sort(h)
	return &Models{h}
}

func TestUpdateModels(t *testing.T) {
	var many []string
	for i := range snapshot.MaxModels + 1 {
		many = append(many, fmt.Sprint("model-", i))
	}
	old := modelSet("old")
	tests := []struct {
		name, page string
		want       *Models
		err        string
	}{
		{name: "base and adapter", page: listing("base", "sql-lora"), want: modelSet("base", "sql-lora")},
		{name: "the same twice", page: listing("base", "base"), want: modelSet("base")},
		{name: "escaped", page: `{"data":[{"id":"a\/b\u00e9"}]}`, want: modelSet("a/bé")},
		{name: "none", page: listing(), want: &Models{}},
		{name: "most", page: listing(many[1:]...), want: modelSet(many[1:]...)},
		{name: "too many", page: listing(many...), want: old, err: "the list has 1025 models, more than 1024"},
		{name: "no data", page: `{"object":"list"}`, want: old, err: "no data"},
		{name: "data is null", page: `{"data":null}`, want: old, err: "no data"},
		{name: "no id", page: `{"data":[{"object":"model"}]}`, want: old, err: "has no id"},
		{name: "empty id", page: `{"data":[{"id":""}]}`, want: old, err: "has no id"},
		{name: "id is a number", page: `{"data":[{"id":1}]}`, want: old, err: "not as OpenAI's"},
		{name: "names only", page: `["base"]`, want: old, err: "not as OpenAI's"},
		{name: "cut", page: `{"data":[{"id":"base"}`, want: old, err: "not as OpenAI's"},
		{name: "not JSON", page: "<html>", want: old, err: "not as OpenAI's"},
		{name: "empty", page: "", want: old, err: "not as OpenAI's"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := &loop{models: true, sample: Sample{Models: old}}
			err := l.update([]byte(tt.page))
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Errorf("error = %v, want one with %q", err, tt.err)
			}
			if d := cmp.Diff(tt.want.Hashes, l.sample.Models.Hashes, cmpopts.EquateEmpty()); d != "" {
				t.Error(d)
			}
			got := l.sample.Models
			if _ = l.update([]byte(tt.page)); l.sample.Models != got {
				t.Error("the same list gives another set")
			}
		})
	}
}

// TestRunModels follows an endpoint through a list, a hang, garbage, a huge page and another list.
func TestRunModels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		defer f.down()
		var logs bytes.Buffer
		f.serve(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.String() != "/v1/models" || r.Header.Get("Accept") != "application/json" || !r.Close {
				t.Errorf("request %s with %v", r.URL, r.Header)
			}
			page(listing("base"))(w, r)
		})
		o := Options{Models: true, DialContext: f.net.DialContext, Log: slog.New(slog.NewTextHandler(&logs, nil))}
		scrapeWhile(t, o, func(last func() Sample) {
			expect := func(after time.Duration, want *Models, failure Failure) {
				t.Helper()
				time.Sleep(after)
				got := last()
				if d := cmp.Diff(want, got.Models); d != "" || got.Failure != failure || got.LoRA != nil {
					t.Errorf("failure %q, want %q; models %s", got.Failure, failure, d)
				}
			}
			expect(time.Second, modelSet("base"), "")
			for _, bad := range []struct {
				serve http.HandlerFunc
				want  Failure
			}{
				{func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, FailureTimeout},
				{page("<html>"), FailureContent},
				{page(`{"data":[{"id":"` + strings.Repeat("x", DefaultModelsPage) + `"}]}`), FailureSize},
				{func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }, FailureStatus},
			} {
				f.serve(bad.serve)
				expect(45*time.Second, modelSet("base"), bad.want)
			}
			f.serve(page(listing("base", "sql")))
			expect(45*time.Second, modelSet("base", "sql"), "")
		})
		for _, line := range []string{"endpoint does not tell its models; the old ones stay", "endpoint tells its models again"} {
			if !strings.Contains(logs.String(), line) {
				t.Errorf("no line %q in %s", line, logs.String())
			}
		}
	})
}

func FuzzUpdateModels(f *testing.F) {
	f.Add([]byte(listing("base", "sql-lora")))
	f.Add([]byte(`{"data":[{"id":"a\u0000"},{"id":"a"}]}`))
	f.Fuzz(func(t *testing.T, page []byte) {
		l := &loop{models: true}
		if err := l.update(page); (err == nil) != (l.sample.Models != nil) {
			t.Fatalf("error %v with models %v", err, l.sample.Models)
		}
		if m := l.sample.Models; m != nil && (len(m.Hashes) > snapshot.MaxModels || !slices.IsSorted(m.Hashes)) {
			t.Errorf("%d models", len(m.Hashes))
		}
	})
}
