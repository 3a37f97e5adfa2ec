package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/zerohop/zerohop/xds/config"
)

// The files of the repository, seen from here.
const (
	repoConfig    = "../../../config/epp.yaml"
	repoEndpoints = "../../../config/endpoints.yaml"
	repoBootstrap = "../../../envoy.yaml"
)

func TestCommittedBootstrapIsRendered(t *testing.T) {
	want, err := os.ReadFile(repoBootstrap)
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), []string{"render", "envoy", "--config-file", repoConfig, "--endpoints", repoEndpoints}, &stdout, &stderr); code != 0 {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	if d := cmp.Diff(string(want), stdout.String()); d != "" {
		t.Errorf("envoy.yaml is not what \"zerohop render envoy --config-file config/epp.yaml --endpoints config/endpoints.yaml\" prints:\n%s", d)
	}
}

// TestDefaultIsWrittenOut checks that config/epp.yaml is the document that stands in for an empty one.
func TestDefaultIsWrittenOut(t *testing.T) {
	empty := write(t, "empty.yaml", "")
	var a, b, stderr bytes.Buffer
	run(t.Context(), []string{"render", "envoy", "--config-file", repoConfig, "--endpoints", repoEndpoints}, &a, &stderr)
	run(t.Context(), []string{"render", "envoy", "--config-file", empty, "--endpoints", repoEndpoints}, &b, &stderr)
	if d := cmp.Diff(a.String(), b.String()); d != "" || a.Len() == 0 {
		t.Error(d, &stderr)
	}
}

func TestSamplesLoad(t *testing.T) {
	for _, name := range []string{"epp.yaml", "prefix-only.yaml"} {
		t.Run(name, func(t *testing.T) {
			in := inputs{ConfigFile: filepath.Join("../../../config", name), Endpoints: repoEndpoints}
			var stderr bytes.Buffer
			if _, _, err := in.load(&stderr); err != nil || stderr.Len() != 0 {
				t.Errorf("error %v, warnings %q", err, &stderr)
			}
		})
	}
}

// write makes a file in a directory that vanishes with the test.
func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestRun(t *testing.T) {
	const header = "apiVersion: llm-d.ai/v1alpha1\nkind: EndpointPickerConfig\n"
	good := write(t, "good.yaml", header)
	warns := write(t, "warns.yaml", header+"plugins: [{type: queue-scorer, parameters: {x: 3}}]")
	bad := write(t, "bad.yaml", header+"foo: 1\nplugins: [{type: my-own-plugin}]")
	noEndpoints := write(t, "none.yaml", "endpoints: []")
	var many strings.Builder
	for i := range config.MaxEndpoints + 1 {
		fmt.Fprintf(&many, "- {name: e%d, address: 10.0.%d.%d, port: \"80\"}\n", i, i/256, i%256)
	}
	tooMany := write(t, "many.yaml", "endpoints:\n"+many.String())
	var profiles strings.Builder
	for i := range 300 {
		fmt.Fprintf(&profiles, "- name: p%d\n", i)
	}
	manyProfiles := write(t, "profiles.yaml", header+"plugins: [{type: header-profile-handler}]\nschedulingProfiles:\n"+profiles.String())
	edge := write(t, "edge.yaml", "apiVersion: zerohop.dev/v1alpha1\nkind: ZerohopConfig\nagent: {enabled: false}\n")
	badEndpoints := write(t, "bad-endpoints.yaml", "endpoints: [{name: a}]")
	out := filepath.Join(t.TempDir(), "envoy.yaml")
	tests := []struct {
		name           string
		args           []string
		code           int
		stdout, stderr string // parts of the output
	}{
		{"help", []string{"--help"}, 0, "render envoy    Render a complete Envoy bootstrap", ""},
		{"help of a command", []string{"agent", "--help"}, 0, "Time between two scrapes of an endpoint.", ""},
		{"version", []string{"version"}, 0, "zerohop ", ""},
		{"no command", nil, 2, "", `expected one of "agent", "`},
		{"unknown command", []string{"run"}, 2, "", "unexpected argument run"},
		{"missing flags", []string{"agent"}, 2, "", "missing flags: --config-file=FILE"},
		{"missing file", []string{"agent", "--config-file", "nowhere.yaml", "--endpoints", noEndpoints}, 2, "", "zerohop: open nowhere.yaml: no such file or directory\n"},
		{"bad listen address", []string{"agent", "--config-file", good, "--endpoints", noEndpoints, "--listen", "x"}, 2, "", "--listen: not an ip:port"},
		{"foreign listen address", []string{"agent", "--config-file", good, "--endpoints", noEndpoints, "--listen", "192.0.2.1:1"}, 2, "", "zerohop: 192.0.2.1:1 is not a loopback address, and nothing says who may connect: set agent.tls.clientCAFile"},
		{"too many profiles", []string{"render", "envoy", "--config-file", manyProfiles, "--endpoints", noEndpoints}, 2, "", "profiles: want at most 256"},
		{"no endpoints", []string{"agent", "--config-file", good}, 2, "", "zerohop: no endpoints: pass --endpoints FILE, or name a source in the configuration"},
		{"agent for an edge", []string{"agent", "--config-file", edge, "--endpoints", noEndpoints}, 2, "", "agent.enabled is false"},
		{"interval too short", []string{"agent", "--config-file", good, "--endpoints", noEndpoints, "--scrape-interval", "1ms"}, 2, "", "--scrape-interval: 1ms is shorter than 10ms"},
		{"unknown mode", []string{"render", "envoy", "--config-file", good, "--endpoints", noEndpoints, "--destination-mode", "lists"}, 2, "", `must be one of "","header","filter_state","list"`},
		{"bad fallback", []string{"render", "envoy", "--config-file", good, "--endpoints", noEndpoints, "--fallback", "127.0.0.1:1,x"}, 2, "", "--fallback: not an ip:port"},
		{"bad module path", []string{"render", "envoy", "--config-file", good, "--endpoints", noEndpoints, "--wasm", "a\nb"}, 2, "", "path of the module: must be one line of text"},
		{"output cannot be written", []string{"render", "envoy", "--config-file", good, "--endpoints", noEndpoints, "-o", "/nowhere/envoy.yaml"}, 1, "", "--output: open /nowhere/envoy.yaml"},
		{"output", []string{"render", "envoy", "--config-file", good, "--endpoints", noEndpoints, "-o", out}, 0, "", "zerohop: warning: " + noEndpoints + ": there is no endpoint in any file, and no other source of them\n"},
		{"too many endpoints", []string{"render", "envoy", "--config-file", good, "--endpoints", tooMany}, 2, "", tooMany + ": 1025 endpoints; the filter considers at most 1024"},
		{"one port for two", []string{"render", "envoy", "--config-file", good, "--endpoints", noEndpoints, "--admin", "127.0.0.1:8080"}, 2, "", "--listen 127.0.0.1:8080, --admin 127.0.0.1:8080, --agent 127.0.0.1:18001 and --agent-xds 127.0.0.1:18000 must differ"},
		{"interval of the agent too short", []string{"render", "envoy", "--config-file", good, "--endpoints", noEndpoints, "--scrape-interval", "1ms"}, 2, "", "--scrape-interval: 1ms is shorter than 10ms"},
		{"warnings", []string{"render", "envoy", "--config-file", warns, "--endpoints", noEndpoints}, 0, "static_resources", "zerohop: warning: " + warns + ": line 3: plugins[0].parameters.x: has no effect"},
		{
			"all problems of both files",
			[]string{"agent", "--config-file", bad, "--endpoints", badEndpoints},
			2, "",
			"zerohop: " + bad + `:
  line 3: foo: unknown field "foo"; known here: apiVersion, kind, featureGates, plugins, schedulingProfiles, dataLayer, flowControl, requestHandler, saturationDetector, parser
  line 4: plugins[0].type: plugin type "my-own-plugin" is not registered; this version has `,
		},
		{
			"all problems of both files, second",
			[]string{"agent", "--config-file", bad, "--endpoints", badEndpoints},
			2, "",
			"\n" + badEndpoints + ":\n  line 1: endpoints[0].address: is missing\n  line 1: endpoints[0].port: is missing\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if code := run(t.Context(), tt.args, &stdout, &stderr); code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			if !strings.Contains(stdout.String(), tt.stdout) {
				t.Errorf("stdout has no %q:\n%s", tt.stdout, &stdout)
			}
			if !strings.Contains(stderr.String(), tt.stderr) || tt.stderr == "" && stderr.Len() != 0 {
				t.Errorf("stderr has no %q:\n%s", tt.stderr, &stderr)
			}
		})
	}
}

// TestAgentServesUntilToldToStop runs the agent on a real port.
func TestAgentServesUntilToldToStop(t *testing.T) {
	config := write(t, "epp.yaml", "")
	endpoints := write(t, "endpoints.yaml", "endpoints: []")
	ctx, cancel := context.WithCancel(t.Context())
	logs := newLog()
	var running sync.WaitGroup
	running.Go(func() {
		defer logs.Close()
		if code := run(ctx, []string{"agent", "--config-file", config, "--endpoints", endpoints, "--listen", "127.0.0.1:0", "--xds-listen", "127.0.0.1:0"}, io.Discard, logs); code != 0 {
			t.Errorf("exit code %d", code)
		}
	})
	address := logs.find(regexp.MustCompile(`msg="agent serves" address=(\S+)`))
	if address == "" {
		t.Error("the agent logs no address")
	} else if status, err := ready("http://" + address + "/readyz"); err != nil || status != http.StatusOK {
		t.Errorf("status %d, %v", status, err)
	}
	cancel()
	running.Wait()
	if rest := <-logs.rest; address != "" && !strings.Contains(rest, `msg="agent stops: it was told to"`) {
		t.Errorf("the agent does not say that it stops:\n%s", rest)
	}
	http.DefaultClient.CloseIdleConnections()
}

// ready asks until the answer is another than 503, which an agent gives that has not read its endpoint file yet.
func ready(url string) (status int, err error) {
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		resp, err := http.Get(url)
		if err != nil {
			return 0, err
		}
		status = resp.StatusCode
		if err := resp.Body.Close(); err != nil || status != http.StatusServiceUnavailable {
			return status, err
		}
	}
	return status, nil
}

// log lets a test wait for a line.
type log struct {
	io.WriteCloser
	r    io.Reader
	rest chan string // what came after the line that was found, at the end
}

func newLog() *log {
	r, w := io.Pipe()
	return &log{WriteCloser: w, r: r, rest: make(chan string, 1)}
}

// find returns the first submatch of the first line that matches, and keeps all further lines for rest.
func (l *log) find(re *regexp.Regexp) string {
	var seen []byte
	buf := make([]byte, 1024)
	for {
		n, err := l.r.Read(buf)
		seen = append(seen, buf[:n]...)
		if m := re.FindSubmatch(seen); m != nil {
			go func() {
				b, _ := io.ReadAll(l.r)
				l.rest <- string(b)
			}()
			return string(m[1])
		}
		if err != nil {
			l.rest <- ""
			return ""
		}
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
