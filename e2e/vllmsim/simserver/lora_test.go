package simserver

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/e2e/engine"
)

// newestLoRA returns the labels of the series with the largest value, and the number of series.
func newestLoRA(t *testing.T, s *Server) (map[string]string, int) {
	t.Helper()
	_, page := get(t, s.URL()+"/metrics")
	f := parseMetrics(t, page)["vllm:lora_requests_info"]
	if f == nil {
		return nil, 0
	}
	labels, largest := map[string]string{}, 0.0
	for _, m := range f.Metric {
		if v := m.GetGauge().GetValue(); v >= largest {
			largest = v
			for _, l := range m.Label {
				labels[l.GetName()] = l.GetValue()
			}
		}
	}
	return labels, len(f.Metric)
}

func TestLoRA(t *testing.T) {
	s := start(t, Config{Models: []string{"base"}, Adapters: []string{"sql", "chat", "code"}, MaxLoRA: 2, Engine: engine.Config{CapacityTokens: 100_000}})
	want := func(what, running, waiting string) {
		t.Helper()
		got := map[string]string{}
		eventually(t, what, func() bool {
			got, _ = newestLoRA(t, s)
			return got["running_lora_adapters"] == running
		})
		if d := cmp.Diff(map[string]string{"max_lora": "2", "running_lora_adapters": running, "waiting_lora_adapters": waiting}, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", what, d)
		}
	}
	want("at first", "", "")
	begin := func(model string) (end func()) {
		ctx, cancel := context.WithCancel(t.Context())
		body := `{"model":"` + model + `","prompt":"x","max_tokens":50000,"stream":true}`
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL()+pathCompletions, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		return func() { cancel(); _ = resp.Body.Close() }
	}
	endBase := begin("base")
	want("only the base model", "", "")
	endSQL := begin("sql")
	want("one adapter", "sql", "")
	endAgain, endChat, endCode := begin("sql"), begin("chat"), begin("code")
	want("three of two", "sql,chat", "code")
	endSQL()
	want("another request for the first", "sql,chat", "code")
	endAgain()
	want("the third moves up", "chat,code", "")
	endChat()
	endCode()
	endBase()
	want("all gone", "", "")
	if _, n := newestLoRA(t, s); n < 4 || n > maxStates {
		t.Errorf("%d series", n)
	}
}

func TestWithoutLoRA(t *testing.T) {
	s := start(t, Config{Engine: engine.Config{CapacityTokens: 4096}})
	if labels, n := newestLoRA(t, s); n != 0 {
		t.Errorf("a server without adapters tells of %v", labels)
	}
}

// TestModelsList lists adapters after models, with the first model as their parent.
func TestModelsList(t *testing.T) {
	s := start(t, Config{Models: []string{"base", "alias"}, Adapters: []string{"sql"}, Engine: engine.Config{CapacityTokens: 4096}})
	_, body := get(t, s.URL()+"/v1/models")
	var list modelList
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, m := range list.Data {
		got[m.ID] = ""
		if m.Parent != nil {
			got[m.ID] = *m.Parent
		}
	}
	if d := cmp.Diff(map[string]string{"base": "", "alias": "", "sql": "base"}, got); d != "" {
		t.Error(d)
	}
}
