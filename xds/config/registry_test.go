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

func TestNestedReferences(t *testing.T) {
	const session = "{type: session-affinity-scorer, parameters: {strategy: session_id, sessionIdConfig: {sources: [{attribute: x, producer: mine}]}}}"
	_, err := Load([]byte(header+"plugins: ["+session+"]"), registry.Specs())
	const want = `line 3: plugins[0].parameters.sessionIdConfig.sources[0].producer: references undefined plugin "mine"; declare a plugin {type: session-id-producer, name: mine}`
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if _, err := Load([]byte(header+"plugins: ["+session+", {type: session-id-producer, name: mine, parameters: {cookieName: s}}]"), registry.Specs()); err != nil {
		t.Error(err)
	}
}
