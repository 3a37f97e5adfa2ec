package bodies

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/zerohop/zerohop/e2e/harness"
	"github.com/zerohop/zerohop/e2e/traffic"
)

// TestParityRefusesBodies asserts that under parity epp a body that the EPP refuses is answered 400, in the shape of OpenAI's
// errors, and never reaches an endpoint, while all that the EPP serves is served.
func TestParityRefusesBodies(t *testing.T) {
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	config, err := os.ReadFile(filepath.Join(root, "config", "epp.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	config = append(config, "---\napiVersion: zerohop.dev/v1alpha1\nkind: ZerohopConfig\nparity: epp\n"...)
	b := traffic.Start(t, traffic.Options{Sim: traffic.Instant(), Options: harness.Options{Config: config}})
	tests := []struct {
		name    string
		request traffic.Request
		code    string // of the error; "" for a request that is served
		reason  string
	}{
		{"chat", traffic.Request{Body: traffic.ChatBody("hello")}, "", "scored"},
		{"not json", traffic.Request{Body: []byte("hello")}, "invalid_json", "not_json"},
		{"truncated", traffic.Request{Body: traffic.ChatBody("hello")[:40], HTTP2: true}, "invalid_json", "truncated"},
		{"no messages", traffic.Request{Body: []byte(`{"model":"m"}`), Unsized: true}, "missing_prompt", "no_prompt"},
		{"no model", traffic.Request{Body: []byte(`{"messages":[{"role":"user","content":"hi"}]}`), Trailer: http.Header{"X-Late": {"too"}}, HTTP2: true}, "missing_model", "no_model"},
		{"no body to read", traffic.Request{Method: http.MethodGet, Path: "/v1/models"}, "", "unknown_path"},
	}
	refused := 0.0
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := b.Do(t, tt.request)
			if got := b.Pick(t, r.ID).Reason; got != tt.reason {
				t.Errorf("reason %q, want %q", got, tt.reason)
			}
			if tt.code == "" {
				if r.Status != http.StatusOK {
					t.Errorf("status %d: %s", r.Status, r.Body)
				}
				return
			}
			refused++
			var body struct {
				Error struct{ Message, Type, Code string }
			}
			if err := json.Unmarshal(r.Body, &body); err != nil || r.Status != http.StatusBadRequest {
				t.Fatalf("status %d, body %s: %v", r.Status, r.Body, err)
			}
			if body.Error.Code != tt.code || body.Error.Type != "invalid_request_error" || body.Error.Message == "" {
				t.Errorf("error %+v, want code %s", body.Error, tt.code)
			}
			if got := b.Entry(t, r.ID).String("details"); got != "zerohop_bad_request" {
				t.Errorf("details %q", got)
			}
			if n := len(b.Arrivals(r.ID)); n != 0 {
				t.Errorf("arrived at %d endpoints", n)
			}
		})
	}
	b.WaitCounters(t, map[string]float64{"zerohop_rejected_bodies_total": refused})
}
