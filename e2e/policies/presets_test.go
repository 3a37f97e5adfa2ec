package policies

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zerohop/zerohop/e2e/harness"
	"github.com/zerohop/zerohop/scorers/registry"
	"github.com/zerohop/zerohop/xds/config"
)

// presets are the files of the presets in config/, and the folder of the test that runs each.
var presets = map[string]struct{ file, folder string }{
	"default":                {"default.yaml", "policies"},
	"sticky-until-saturated": {"sticky-until-saturated.yaml", "policies"},
	"session":                {"session.yaml", "policies"},
	"lora":                   {"lora.yaml", "policies"},
	"slo":                    {"slo.yaml", "policies"},
	"edge":                   {"low-latency-edge.yaml", "edge"},
}

// TestPresetsAreRun wants each preset in the table of docs/configuration.md, and named by a test that starts an Envoy with it.
func TestPresetsAreRun(t *testing.T) {
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile(filepath.Join(root, "docs", "configuration.md"))
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range presets {
		if line := "\n| `" + name + "` | `" + p.file + "` |"; !strings.Contains(string(doc), line) {
			t.Errorf("docs/configuration.md has no line that begins with %q", line[1:])
		}
		if !runs(t, filepath.Join(root, "e2e", p.folder), `"config/`+p.file+`"`) {
			t.Errorf("no test in e2e/%s runs config/%s", p.folder, p.file)
		}
	}
}

// runs reports whether a test in a folder has the text.
func runs(t *testing.T, folder, text string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(file) != "presets_test.go" && strings.Contains(string(b), text) {
			return true
		}
	}
	return false
}

// TestConfigurationsAreQuiet wants no warning of any configuration here, and nothing that is not active but what is there on
// purpose.
func TestConfigurationsAreQuiet(t *testing.T) {
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	idle := map[string]int{"latency.yaml": 1} // the predictor; three plugins are warned that it is
	for _, folder := range []string{"config", "e2e/policies/testdata"} {
		files, err := filepath.Glob(filepath.Join(root, folder, "*.yaml"))
		if err != nil || len(files) < 5 {
			t.Fatalf("%s: %d files, %v", folder, len(files), err)
		}
		for _, file := range files {
			name := filepath.Base(file)
			doc, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(name, "endpoints") {
				continue
			}
			c, err := config.Load(doc, registry.Specs())
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			for _, w := range c.Warnings {
				if name != "latency.yaml" {
					t.Errorf("%s: %s", name, w)
				}
			}
			if len(c.Inactive) != idle[name] {
				t.Errorf("%s: %d parts are not active, want %d: %+v", name, len(c.Inactive), idle[name], c.Inactive)
			}
		}
	}
}
