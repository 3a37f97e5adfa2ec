package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zerohop/zerohop/shared/names"
)

const explainAnswerText = `{"outcome":"scored","status":200,"fallback":false,"profile":"default","handler":"single-profile-handler","parity":"none",
"revision":"0123456789abcdef","snapshot":{"version":"7","ageMs":14},"request":{"model":"m","tokens":512,"maxTokens":16,"blockTokens":64,"blocks":8,
"universal":0,"priority":0,"headers":{"cookie":true,"x-tier":false}},"candidates":20,"left":2,"held":[{"endpoint":"default/d","address":"10.0.0.4:8000","why":"cooling","leftMs":412}],"denied":null,"session":"bound","filters":[{"plugin":"decode","type":"decode-filter","before":20,"after":2}],
"removed":[{"endpoint":"default/c","address":"10.0.0.3:8000","by":"decode"}],"saturation":[],"scorers":[{"plugin":"queue","type":"queue-scorer","weight":2}],
"best":[{"endpoint":"default/a","address":"10.0.0.1:8000","total":1.5,"matched":3,"scores":[0.75],"waiting":0.25,"queue":0,"running":3,"kv":0.2,"inFlight":1,
"inFlightTokens":512,"scrapeMs":120,"fresh":true},{"endpoint":"default/b","address":"10.0.0.2:8000","total":null,"matched":0,"scores":[null],"waiting":1,
"queue":1,"running":1,"kv":0.5,"inFlight":0,"inFlightTokens":0,"scrapeMs":null,"fresh":false}],"ties":1,"inactive":[{"name":"x","type":"fcfs-ordering-policy"}]}`

const nobody = `{"outcome":"filtered_out","status":429,"fallback":false,"handler":"h","parity":"none","best":[]}`

const denied = `{"outcome":"denied","status":429,"fallback":false,"handler":"h","parity":"none","best":[],
"denied":{"plugin":"shed","type":"probabilistic-admitter","value":0.9,"threshold":0.32}}`

func TestExplain(t *testing.T) {
	dryRun := map[string]string{names.HeaderExplain: names.ExplainDryRun}
	tests := []struct {
		name    string
		args    []string
		status  int
		headers map[string]string
		answer  string
		code    int
		out     []string
		err     string
	}{
		{
			"text", nil, 200, dryRun, explainAnswerText, 0,
			[]string{
				"outcome     scored", "default, chosen by single-profile-handler", "7, received 14 ms ago", `model "m", 512 tokens, 8 blocks of 64`, "cookie: present", "x-tier: absent",
				"decode  20      2      10.0.0.3:8000 and 17 more", "10.0.0.1:8000  default/a  1.5    3        0.75", "10.0.0.2:8000  default/b  -      0        -", "120 ms ago", "never", "session     bound", "held        10.0.0.4:8000 default/d: cooling, 412 ms left", "x (fcfs-ordering-policy)",
			},
			"",
		},
		{"JSON", []string{"-o", "json"}, 200, dryRun, explainAnswerText, 0, []string{"{\n  \"outcome\": \"scored\""}, ""},
		{"no endpoint", nil, 200, dryRun, nobody, 1, []string{"filtered_out"}, "answered with 429, filtered_out"},
		{"denied", nil, 200, dryRun, denied, 1, []string{"by shed (probabilistic-admitter): 0.9 against 0.32"}, "answered with 429, denied"},
		{"fallback", nil, 200, dryRun, strings.Replace(nobody, "false", "true", 1), 1, nil, "fallback cluster"},
		{"another network", nil, 403, dryRun, "{}", 1, nil, "explain.trustedNetworks"},
		{"forbidden by somebody else", nil, 403, nil, "RBAC: access denied", 1, nil, "RBAC"},
		{"off", nil, 404, nil, "", 1, nil, "explaining is off"},
		{"not the filter", nil, 200, nil, `{"choices":[]}`, 1, nil, "is it the right Envoy?"},
		{"overloaded", nil, 503, nil, "envoy overloaded\nmore", 1, nil, `503 Service Unavailable: "envoy overloaded"`},
		{"no JSON", nil, 200, dryRun, "x", 1, nil, "read the answer"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if r.Method != "POST" || r.URL.Path != names.PathExplain || r.URL.Query().Get("path") != "/v1/completions" || string(body) != `{"prompt":"x"}` ||
					r.Header.Get("X-Tier") != "gold=1" || r.Host != "models.example" {
					t.Errorf("asked %s %s, host %s, headers %v, body %s", r.Method, r.URL, r.Host, r.Header, body)
				}
				for name, value := range tt.headers {
					w.Header().Set(name, value)
				}
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.answer)
			}))
			defer srv.Close()
			file := filepath.Join(t.TempDir(), "body.json")
			if err := os.WriteFile(file, []byte(`{"prompt":"x"}`), 0o600); err != nil {
				t.Fatal(err)
			}
			args := append([]string{"explain", "--request", file, "--envoy", srv.URL, "--path", "/v1/completions", "-H", "x-tier=gold=1", "-H", "Host: models.example"}, tt.args...)
			var out, errs bytes.Buffer
			if code := run(t.Context(), args, &out, &errs); code != tt.code {
				t.Errorf("exit code %d, want %d; %s", code, tt.code, errs.String())
			}
			for _, want := range tt.out {
				if !strings.Contains(out.String(), want) {
					t.Errorf("output has no %q:\n%s", want, out.String())
				}
			}
			if !strings.Contains(errs.String(), tt.err) || (tt.err == "") != (errs.Len() == 0) {
				t.Errorf("error %q, want %q", errs.String(), tt.err)
			}
		})
	}
}

func TestExplainUsage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "body.json")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		args []string
		err  string
	}{
		{"no request", nil, "--request"},
		{"missing file", []string{"--request", file + "x"}, "no such file"},
		{"no URL", []string{"--request", file, "--envoy", "127.0.0.1:8080"}, "must be a URL"},
		{"header without value", []string{"--request", file, "-H", "x"}, "must be NAME=VALUE"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			if code := run(t.Context(), append([]string{"explain"}, tt.args...), &out, &errs); code != exitUsage || !strings.Contains(errs.String(), tt.err) {
				t.Errorf("exit code %d, error %q, want %q", code, errs.String(), tt.err)
			}
		})
	}
}
