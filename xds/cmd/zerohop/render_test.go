package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRenderedAgent goes through what a configuration says of its agent and what the flags make of it.
func TestRenderedAgent(t *testing.T) {
	const head = "apiVersion: zerohop.dev/v1alpha1\nkind: ZerohopConfig\n"
	const secured = "agent: {listen: \"10.0.0.1:1\", xdsListen: \"10.0.0.1:2\", bearerTokenFile: t, tls: {certFile: c, keyFile: k, clientCAFile: ca}}\n"
	overTLS := []string{"--agent-tls-ca", "ca", "--agent-tls-sni", "agent"}
	tests := []struct {
		name, config   string
		args           []string
		code           int
		stdout, stderr string // parts; no stderr means that there is none
	}{
		{"addresses of the configuration", "agent: {listen: \"127.0.0.1:1\", xdsListen: \"127.0.0.1:2\"}\n", nil, 0, "127.0.0.1:1 the agent's HTTP, 127.0.0.1:2 the agent's ADS", ""},
		{"addresses of flags", "", []string{"--agent", "10.0.0.1:1", "--agent-xds", "10.0.0.1:2"}, 0, "10.0.0.1:1 the agent's HTTP, 10.0.0.1:2 the agent's ADS", ""},
		{"no address to connect to", "agent: {listen: \"0.0.0.0:1\", xdsListen: \"[::]:2\"}\n", nil, 2, "", "--agent-xds: Envoy cannot connect to [::]:2"},
		{"none by the configuration", "agent: {enabled: false}\n", nil, 0, "There is no agent", ""},
		{"none by a flag", "destinationMode: list\n", []string{"--no-agent"}, 0, `"destination": "list"`, ""},
		{"mode list waits for the agent", "destinationMode: list\n", nil, 0, `"destination": "header"`, ""},
		{"TLS is missing", secured, []string{"--agent-token-file", "t"}, 0, "Bearer", "the agent speaks TLS"},
		{"TLS is too much", "", overTLS, 0, "UpstreamTlsContext", "the agent of this configuration speaks no TLS"},
		{"nothing says who Envoy is", secured, overTLS, 0, "", "the agent asks who Envoy is"},
		{"the token says it", secured, append(overTLS, "--agent-token-file", "t"), 0, "zerohop_agent_token", ""},
		{"the certificate says it", secured, append(overTLS, "--agent-tls-cert", "c", "--agent-tls-key", "k"), 0, "tls_certificates", ""},
		{"token in plain text", "agent: {listen: \"10.0.0.1:1\", bearerTokenFile: t}\n", []string{"--agent-token-file", "t"}, 0, "", "the token crosses the network in plain text"},
		{"half a certificate", "", append(overTLS, "--agent-tls-cert", "c"), 2, "", "TLS to the agent: a client certificate needs both"},
		{"no name of the agent", "", []string{"--agent-tls-ca", "ca"}, 2, "", "a server name is needed (--agent-tls-sni)"},
		{"nothing to follow", "", []string{"--secrets-dir", "s"}, 2, "", "--secrets-dir: there is no secret"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			args := append([]string{"render", "envoy", "--config-file", write(t, "c.yaml", head+tt.config), "--endpoints", repoEndpoints}, tt.args...)
			var stdout, stderr bytes.Buffer
			if code := run(t.Context(), args, &stdout, &stderr); code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			if !strings.Contains(stdout.String(), tt.stdout) {
				t.Errorf("stdout has no %q", tt.stdout)
			}
			if !strings.Contains(stderr.String(), tt.stderr) || tt.stderr == "" && stderr.Len() != 0 {
				t.Errorf("stderr has no %q:\n%s", tt.stderr, &stderr)
			}
		})
	}
}

// TestSecretsDir writes the files by which Envoy follows its secrets, over those of an earlier run too.
func TestSecretsDir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	for range 2 {
		args := []string{"render", "envoy", "--config-file", write(t, "c.yaml", ""), "--endpoints", repoEndpoints, "--agent-token-file", "/run/token", "--secrets-dir", dir}
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), args, &stdout, &stderr); code != 0 {
			t.Fatalf("exit code %d: %s", code, &stderr)
		}
		if !strings.Contains(stdout.String(), filepath.ToSlash(dir)+"/agent_token.yaml") || strings.Contains(stdout.String(), "/run/token") {
			t.Errorf("the bootstrap does not refer to the file:\n%s", &stdout)
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	b, err := os.ReadFile(filepath.Join(dir, files[0].Name()))
	if err != nil || !strings.Contains(string(b), `filename: "/run/token"`) {
		t.Errorf("%v in\n%s", err, b)
	}
}

// TestEndpointsByDNS says what it means for a bootstrap that no file has endpoints.
func TestEndpointsByDNS(t *testing.T) {
	const head = "apiVersion: zerohop.dev/v1alpha1\nkind: ZerohopConfig\n"
	for _, tt := range []struct {
		name, config, want string
		args               []string
	}{
		{"DNS", "discovery: {dns: [{name: models.test, ports: [8000]}]}\n", "endpoints come by DNS only", nil},
		{"DNS and a fallback", "discovery: {dns: [{name: models.test, ports: [8000]}]}\n", "", []string{"--fallback", "127.0.0.1:1"}},
		{"in the configuration", "discovery: {endpoints: [{name: a, address: 127.0.0.1, port: \"1\"}]}\n", "", nil},
		{"nowhere", "", "there is no endpoint in any file, and no other source", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			args := append([]string{"render", "envoy", "--config-file", write(t, "c.yaml", head+tt.config)}, tt.args...)
			if code := run(t.Context(), args, &stdout, &stderr); code != 0 {
				t.Fatalf("exit code %d: %s", code, &stderr)
			}
			if !strings.Contains(stderr.String(), tt.want) || tt.want == "" && stderr.Len() != 0 {
				t.Errorf("stderr has no %q:\n%s", tt.want, &stderr)
			}
		})
	}
}

// TestNoAgentNoEndpoints refuses a bootstrap that could serve nothing.
func TestNoAgentNoEndpoints(t *testing.T) {
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{"render", "envoy", "--config-file", write(t, "c.yaml", ""), "--no-agent"}, &stdout, &stderr)
	if code != exitUsage || stdout.Len() != 0 || !strings.Contains(stderr.String(), "give --endpoints FILE") {
		t.Errorf("exit code %d, %s", code, &stderr)
	}
}
