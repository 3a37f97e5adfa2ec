package config

import (
	"testing"

	"github.com/zerohop/zerohop/scorers/registry"
	"github.com/zerohop/zerohop/scorers/sched"
	"github.com/zerohop/zerohop/shared/plan"
)

// TestDefaultDocumentRuns loads the default document with the real plugin types and starts a scheduler with the plan.
func TestDefaultDocumentRuns(t *testing.T) {
	for _, doc := range []string{"", header, header + "plugins: [{type: prefix-cache-scorer}, {type: approx-prefix-cache-producer}]"} {
		c, err := Load([]byte(doc), registry.Specs())
		if err != nil {
			t.Fatal(err)
		}
		p, err := plan.Parse(plan.Append(nil, c.Plan(Settings{})))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := sched.New(p, 1); err != nil {
			t.Errorf("document %q: %v", doc, err)
		}
	}
}
