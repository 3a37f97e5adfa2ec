package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const pickerHeader = "apiVersion: llm-d.ai/v1alpha1\nkind: EndpointPickerConfig\n"

const zerohopHeader = "apiVersion: zerohop.dev/v1alpha1\nkind: ZerohopConfig\n"

// mistakes is a file with six different mistakes, two of them in the second document.
const mistakes = pickerHeader + `plugins:
- type: queue-scorer
- type: prefx-cache-scorer
schedulingProfiles:
- name: default
  plugins:
  - pluginRef: queue-scorer
    wieght: 2
  - pluginRef: queue-scorer
    weight: three
  - pluginRef: queue-scorr
---
` + zerohopHeader + `destinationMode: headers
scrape:
  interval: 250
`

// check runs the command.
func check(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), append([]string{"check"}, args...), &out, &errs)
	return code, out.String(), errs.String()
}

func TestCheckNamesEveryMistake(t *testing.T) {
	file := write(t, "mistakes.yaml", mistakes)
	code, stdout, stderr := check(t, file)
	if code != exitUsage || stdout != "" {
		t.Errorf("exit code %d, stdout %q", code, stdout)
	}
	want := strings.ReplaceAll(`FILE:5: plugins[1].type: plugin type "prefx-cache-scorer" is not registered; did you mean "prefix-cache-scorer"?
FILE:10: schedulingProfiles[0].plugins[0].wieght: unknown field "wieght"; did you mean "weight"?
FILE:12: schedulingProfiles[0].plugins[1].weight: must be a number, not the string "three"
FILE:13: schedulingProfiles[0].plugins[2].pluginRef: references undefined plugin "queue-scorr"; did you mean "queue-scorer"?
FILE:17: destinationMode: "headers" is not known; did you mean "header"?
FILE:19: scrape.interval: must be a duration with its unit, not the number 250; write for example 250ms
zerohop: 6 problems
`, "FILE", file)
	if d := cmp.Diff(want, stderr); d != "" {
		t.Error(d)
	}
}

func TestCheckNamesEveryMistakeInJSON(t *testing.T) {
	file := write(t, "mistakes.yaml", mistakes)
	code, stdout, stderr := check(t, "-o", "json", file)
	var got struct {
		OK       bool
		Problems []struct {
			File, Path string
			Line       int
		}
		Warnings []any
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatalf("%v\n%s", err, stdout)
	}
	if code != exitUsage || got.OK || len(got.Problems) != 6 || got.Warnings == nil || stderr != "zerohop: 6 problems\n" {
		t.Errorf("exit code %d, stderr %q\n%s", code, stderr, stdout)
	}
	if p := got.Problems[0]; p.File != file || p.Path != "plugins[1].type" || p.Line != 5 {
		t.Errorf("first problem: %+v", p)
	}
}

func TestCheckPrintsWhatIsInForce(t *testing.T) {
	file := write(t, "good.yaml", zerohopHeader+"scrape: {interval: 1s}\n")
	code, stdout, stderr := check(t, file)
	if code != 0 || stderr != "" {
		t.Fatalf("exit code %d, stderr %q", code, stderr)
	}
	for _, part := range []string{
		"# What is in force by " + file + ".\n",
		"  - {pluginRef: prefix-cache-scorer, weight: 3} # default\n",
		"  interval: 1s\n",
		"  timeout: 1s # default\n",
		"\n# Defaults:\n",
		"#   schedulingProfiles[0].plugins[2].weight = 3: the EPP's default for prefix-cache-scorer\n",
		"#   scrape.timeout = 1s: four intervals; a slower endpoint delays no other\n",
	} {
		if !strings.Contains(stdout, part) {
			t.Errorf("stdout has no %q:\n%s", part, stdout)
		}
	}
	// What it prints is a configuration again, and says everything.
	code, again, stderr := check(t, write(t, "again.yaml", stdout))
	if code != 0 || stderr != "" {
		t.Fatalf("again: exit code %d, stderr %q", code, stderr)
	}
	if strings.Contains(again, "# default") {
		t.Errorf("there are still defaults:\n%s", again)
	}
}

func TestCheck(t *testing.T) {
	good := write(t, "good.yaml", pickerHeader+"plugins: [{type: queue-scorer}]\n")
	endpoints := write(t, "endpoints.yaml", "endpoints:\n- {name: a, address: 10.0.0.1, port: \"1\"}\n- {name: b, address: 10.0.0.2, port: \"1\"}\n")
	badEndpoints := write(t, "bad-endpoints.yaml", "endpoints:\n- {name: a, address: 10.0.0.1, port: 1}\n")
	file := func(text string) string { return write(t, "zerohop.yaml", zerohopHeader+text) }
	token := write(t, "token", "0123456789abcdef0123456789abcdef\n")
	short := write(t, "token", "secret\n")
	tests := []struct {
		name           string
		args           []string
		code           int
		stdout, stderr string // parts of the output
	}{
		{"nothing", nil, 2, "", "zerohop: check: name a FILE, or an Envoy configuration with --envoy\n"},
		{"two files", []string{good, "--config-file", "other"}, 2, "", "--config-file: a FILE is named already"},
		{"missing", []string{"nowhere.yaml"}, 2, "", "nowhere.yaml: no such file or directory\nzerohop: 1 problem\n"},
		{"as a flag", []string{"--config-file", good}, 0, "kind: EndpointPickerConfig", ""},
		{"syntax", []string{write(t, "syntax.yaml", "a: [\n")}, 2, "", "syntax.yaml:1: did not find expected node content\n"},
		{"endpoints", []string{good, "--endpoints", endpoints}, 0, "kind: ZerohopConfig", ""},
		{"bad endpoints", []string{good, "--endpoints", badEndpoints}, 2, "", badEndpoints + ":2: endpoints[0].port: must be a string, not the number 1; put it in quotes\n"},
		{"too many endpoints", []string{file("bounds: {endpoints: 1}\n"), "--endpoints", endpoints}, 2, "", "bounds.endpoints: 2 endpoints; the filter considers at most 1\n"},
		{"bad endpoint file of the document", []string{file("discovery: {file: " + badEndpoints + "}\n")}, 2, "", badEndpoints + ":2: endpoints[0].port"},
		{"the same endpoint twice", []string{file("discovery: {file: " + endpoints + ", endpoints: [{name: c, address: 10.0.0.1, port: \"1\"}]}\n")}, 2, "", "endpoint default/a at 10.0.0.1:1: name or address is that of an endpoint of another source"},
		{
			"absent files",
			[]string{file("discovery: {file: nowhere.yaml}\nscrape: {bearerTokenFile: no-token, scheme: https}\n")},
			0, "file: nowhere.yaml\n",
			"zerohop.yaml:3: warning: discovery.file: nowhere.yaml cannot be read here (no such file or directory); it must be there where the agent runs\n",
		},
		{"warning of the document", []string{file("scrape: {interval: 1s, staleness: 1s}\n")}, 0, "staleness: 1s\n", "zerohop.yaml:3: warning: scrape.staleness: is less than three scrape intervals"},
		{"open to everyone", []string{file("agent: {xdsListen: \"0.0.0.0:18000\"}\n")}, 2, "", ": agent.xdsListen: 0.0.0.0:18000 is not a loopback address, and nothing says who may connect"},
		{"open to who has the token", []string{file("agent: {xdsListen: \"0.0.0.0:18000\", bearerTokenFile: " + token + "}\n")}, 0, "xdsListen: \"0.0.0.0:18000\"\n", "is sent in clear text without agent.tls"},
		{"bad token", []string{file("agent: {bearerTokenFile: " + short + "}\n")}, 2, "", "agent.bearerTokenFile"},
		{"edge without endpoints", []string{file("agent: {enabled: false}\n")}, 0, "enabled: false\n", "warning: agent.enabled: is false, and there is no endpoint here; give some with --endpoints\n"},
		{"envoy", []string{"--envoy", "../../../envoy.yaml"}, 0, "# ../../../envoy.yaml has what zerohop needs.\n", ": note: static_resources"},
		{"envoy and its configuration", []string{"--envoy", "../../../envoy.yaml", "--config-file", "../../../config/epp.yaml"}, 0, "kind: EndpointPickerConfig", "each worker thread"},
		{"no envoy", []string{"--envoy", good}, 2, "", "is it an Envoy configuration?\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, stdout, stderr := check(t, tt.args...)
			if code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			if !strings.Contains(stdout, tt.stdout) || tt.stdout == "" && stdout != "" {
				t.Errorf("stdout has no %q:\n%s", tt.stdout, stdout)
			}
			if !strings.Contains(stderr, tt.stderr) || tt.stderr == "" && stderr != "" {
				t.Errorf("stderr has no %q:\n%s", tt.stderr, stderr)
			}
		})
	}
}

func TestCheckSaysWhatEnvoyLacks(t *testing.T) {
	b, err := os.ReadFile("../../../envoy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	broken := strings.Replace(string(b), "allow_on_headers_stop_iteration: true\n", "\n", 1)
	broken = strings.Replace(broken, "num_retries: 3\n", "num_retries: 1\n", 3)
	file := filepath.Join(t.TempDir(), "envoy.yaml")
	if err := os.WriteFile(file, []byte(broken), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := check(t, "--envoy", file)
	for _, part := range []string{
		"default_config.config: allow_on_headers_stop_iteration is not set\n" +
			"  Envoy would not show the body to a filter that holds the headers back.\n" +
			"  Write there:\n    allow_on_headers_stop_iteration: true\n",
		"retry_policy: num_retries is 1\n",
		"  Write there:\n    num_retries: 3\n",
	} {
		if !strings.Contains(stderr, part) {
			t.Errorf("stderr has no %q:\n%s", part, stderr)
		}
	}
	if code != exitUsage {
		t.Errorf("exit code %d", code)
	}
}

// idle is a configuration of which parts are known but not active.
const idle = pickerHeader + `featureGates: [flowControl]
plugins:
- type: queue-scorer
- type: precise-prefix-cache-producer
schedulingProfiles:
- name: default
  plugins:
  - pluginRef: queue-scorer
`

func TestCheckSaysWhatIsNotActive(t *testing.T) {
	file := write(t, "idle.yaml", idle)
	code, stdout, stderr := check(t, file)
	want := strings.ReplaceAll(`FILE:3: not active: featureGates[0]: feature gate flowControl is known but not active in this version: requests are not queued
FILE:6: not active: plugins[1]: precise-prefix-cache-producer is known but not active in this version: KV events are not read
`, "FILE", file)
	if d := cmp.Diff(want, stderr); d != "" || code != 0 || !strings.Contains(stdout, "- type: precise-prefix-cache-producer\n") {
		t.Errorf("exit code %d, stderr: %s\n%s", code, d, stdout)
	}
	code, stdout, _ = check(t, "-o", "json", file)
	var got struct {
		OK       bool
		Inactive []struct{ Path, Name, Type, What string }
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatal(err)
	}
	if code != 0 || !got.OK || len(got.Inactive) != 2 || got.Inactive[1].Type != "precise-prefix-cache-producer" || got.Inactive[1].What != "KV events are not read" {
		t.Errorf("exit code %d, %+v", code, got)
	}
}

func TestFailOnInactive(t *testing.T) {
	const unused = "apiVersion: llm-d.ai/v1alpha1\nkind: EndpointPickerConfig\nplugins: [{type: queue-scorer}, {type: decode-filter}]\n" +
		"schedulingProfiles: [{name: default, plugins: [{pluginRef: queue-scorer}]}]\n"
	for _, tt := range []struct{ name, doc, part, advice string }{
		{"by version", idle, "plugins[1]: precise-prefix-cache-producer is known but not active in this version: KV events are not read", "; remove it or drop --fail-on-inactive\n"},
		{"by configuration", unused, `plugins[1]: decode-filter does not act as configured: no profile names "decode-filter"`, "; mend or remove it, or drop --fail-on-inactive\n"},
	} {
		t.Run(tt.name, func(t *testing.T) { failsOnInactive(t, tt.doc, tt.part, tt.advice) })
	}
}

// failsOnInactive wants each command to report part of a document, and to refuse it if the flag says so.
func failsOnInactive(t *testing.T, doc, part, advice string) {
	t.Helper()
	file, endpoints := write(t, "idle.yaml", doc), write(t, "endpoints.yaml", "endpoints:\n- {name: a, address: 10.0.0.1, port: \"1\"}\n")
	for _, args := range [][]string{
		{"check", file},
		{"render", "envoy", "--config-file", file, "--endpoints", endpoints},
		{"agent", "--config-file", file, "--endpoints", endpoints, "--listen", "0.0.0.0:18001"}, // refused later: anybody could reach it
	} {
		var out, errs bytes.Buffer
		code := run(t.Context(), args, &out, &errs)
		if !strings.Contains(errs.String(), part) || strings.Contains(errs.String(), "--fail-on-inactive") || args[0] != "agent" && code != 0 {
			t.Errorf("%s: exit code %d, stderr %s", args[0], code, errs.String())
		}
		errs.Reset()
		code = run(t.Context(), append(args, "--fail-on-inactive"), &out, &errs)
		if code != exitUsage || !strings.Contains(errs.String(), part+advice) {
			t.Errorf("%s --fail-on-inactive: exit code %d, stderr %s", args[0], code, errs.String())
		}
	}
}
