package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/zerohop/zerohop/scorers/registry"
	"github.com/zerohop/zerohop/scorers/sched"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/xds/discovery"
	"github.com/zerohop/zerohop/xds/strictyaml"
)

const samples = "../../config"

// TestSamplesLoad loads every file in config: none may have an error or a warning, and each must make a plan that a
// scheduler runs.
func TestSamplesLoad(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(samples, "*.yaml"))
	if err != nil || len(files) < 4 {
		t.Fatalf("%d samples, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			doc, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(filepath.Base(file), "endpoints") {
				if _, err := discovery.ParseFile(doc); err != nil {
					t.Error(err)
				}
				return
			}
			c, err := Load(doc, registry.Specs())
			if err != nil {
				t.Fatal(err)
			}
			if len(c.Warnings) != 0 {
				t.Errorf("warnings: %v", c.Warnings)
			}
			if len(c.Inactive) != 0 {
				t.Errorf("not active: %v", c.Inactive)
			}
			p, err := plan.Parse(plan.Append(nil, c.Plan(Settings{})))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := sched.New(p, 1); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestSampleShowsEverySetting keeps config/zerohop.yaml complete, and true where it says that what it has are the defaults.
func TestSampleShowsEverySetting(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join(samples, "zerohop.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var p strictyaml.Problems
	root, err := strictyaml.Parse(doc, &p)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range settings {
		if !at(root, s.path).Exists() {
			t.Errorf("%s is not shown", s.path)
		}
	}
	c, err := Load(doc, registry.Specs())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(DefaultZerohop(), c.Zerohop, compareAddresses, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("not the defaults: %s", d)
	}
}

// TestSampleListsInComments uncomments the examples of config/zerohop.yaml.
func TestSampleListsInComments(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join(samples, "zerohop.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("endpoints: [] ", "endpoints:  ", "dns: [] ", "dns:  ", "\n  # ", "\n  ").Replace(string(doc))
	c, err := Load([]byte(text), registry.Specs())
	if err != nil {
		t.Fatal(err)
	}
	if d := c.Zerohop.Discovery; len(d.Endpoints) != 1 || len(d.DNS) != 2 || len(d.DNS[0].Ports) != 2 {
		t.Errorf("discovery: %+v", d)
	}
}

func TestEdgePresetNeedsNoAgent(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join(samples, "low-latency-edge.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := Load(doc, registry.Specs())
	if err != nil {
		t.Fatal(err)
	}
	if !c.Zerohop.Agent.Disabled {
		t.Error("the agent is enabled")
	}
}

// TestPresets checks that each preset uses what it is named for.
func TestPresets(t *testing.T) {
	for name, types := range map[string][]string{
		"default.yaml":                {"queue-scorer", "kv-cache-utilization-scorer", "prefix-cache-scorer"},
		"sticky-until-saturated.yaml": {"prefix-cache-affinity-filter", "inflight-load-producer", "token-load-scorer"},
		"session.yaml":                {"session-affinity-scorer", "agent-identity", "no-hit-lru-scorer"},
		"lora.yaml":                   {"lora-affinity-scorer"},
		"slo.yaml":                    {"probabilistic-admitter", "utilization-filter"},
		"low-latency-edge.yaml":       {"prefix-cache-scorer"},
	} {
		t.Run(name, func(t *testing.T) {
			doc, err := os.ReadFile(filepath.Join(samples, name))
			if err != nil {
				t.Fatal(err)
			}
			c, err := Load(doc, registry.Specs())
			if err != nil {
				t.Fatal(err)
			}
			for _, typ := range types {
				if !slices.ContainsFunc(c.Plugins, func(p plan.Plugin) bool { return p.Type == typ }) {
					t.Errorf("there is no %s", typ)
				}
			}
		})
	}
}

// TestDefaultPresetIsTheDefault checks that default.yaml, epp.yaml and no document at all score alike.
func TestDefaultPresetIsTheDefault(t *testing.T) {
	want, err := Load(nil, registry.Specs())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"default.yaml", "epp.yaml"} {
		doc, err := os.ReadFile(filepath.Join(samples, name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := Load(doc, registry.Specs())
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want.Profiles, got.Profiles); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if want.Prefix != got.Prefix {
			t.Errorf("%s: prefix %+v", name, got.Prefix)
		}
	}
}
