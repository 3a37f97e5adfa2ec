package controlplane

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/zerohop/zerohop/e2e/harness"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/xds/controlplane"
)

// TestModuleNewerThanPlan runs a module that reads later plans only. The plan in its bootstrap is such a one; the control
// plane's is older, and is refused with words.
func TestModuleNewerThanPlan(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a module and starts a real Envoy")
	}
	b := start(t, 2, harness.Options{RenderArgs: []string{"--wasm", laterModule(t, plan.Version+1)}, Edit: withLaterPlan})
	b.setEndpoints()
	l := startLoad(t, b.URL(), 2)
	p := b.plan(t, weight(7))
	b.control.SetPlan(p)
	n := b.control.waitNode(t, "the refusal", func(n controlplane.NodeStatus) bool { return n.Rejects() })
	if n.Plan.Nack.Version != p.Revision {
		t.Errorf("refusal %+v", n.Plan.Nack)
	}
	if log := b.envoyLog(); !strings.Contains(log, "older agent") {
		t.Errorf("Envoy's log does not say that the plan is too old:\n%s", log)
	}
	l.more(t, 50)
	if bad := l.end(); len(bad) != 0 {
		t.Errorf("%d of %d requests failed: %q", len(bad), l.count(), bad[0])
	}
}

// withLaterPlan gives the plan in a bootstrap the next version.
func withLaterPlan(bootstrap []byte) ([]byte, error) {
	edited := bytes.Replace(bootstrap, fmt.Appendf(nil, `"version": %d`, plan.Version), fmt.Appendf(nil, `"version": %d`, plan.Version+1), 1)
	if bytes.Equal(edited, bootstrap) {
		return nil, errors.New("the bootstrap has no plan version")
	}
	return edited, nil
}

// laterModule builds a module whose only plan version is the given one.
func laterModule(t *testing.T, version int) string {
	t.Helper()
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(root, "shared", "plan", "plan.go")
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	edited := regexp.MustCompile(`(?m)^(\t(?:Version|MinVersion)\s+= )\d+`).ReplaceAll(text, fmt.Appendf(nil, "${1}%d", version))
	if bytes.Count(edited, fmt.Appendf(nil, "Version    = %d", version))+bytes.Count(edited, fmt.Appendf(nil, "MinVersion = %d", version)) != 2 {
		t.Fatalf("%s has not the two constants", source)
	}
	dir := t.TempDir()
	replacement, overlay, module := filepath.Join(dir, "plan.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "later.wasm")
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{source: replacement}})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(replacement, edited, 0o600), os.WriteFile(overlay, list, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := harness.BuildModule(root, module, "./filter/module", "-overlay", overlay); err != nil {
		t.Fatal(err)
	}
	return module
}
