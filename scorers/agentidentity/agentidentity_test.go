package agentidentity

import (
	"testing"

	"github.com/zerohop/zerohop/scorers/plugintest"
	"github.com/zerohop/zerohop/shared/plan"
)

func TestSessionID(t *testing.T) {
	more := plan.Params{
		{Name: paramHeaders + "[0]", Kind: plan.String, Str: "X-My-Agent"}, {Name: paramHeaders + "[1]", Kind: plan.String},
	}
	tests := []struct {
		name    string
		params  plan.Params
		headers map[string]string
		want    string
	}{
		{"none", nil, nil, ""},
		{"by order", nil, map[string]string{"session_id": "d", "session-id": "c", "x-session-affinity": "b"}, "b"},
		{"last one", nil, map[string]string{"session_id": "d"}, "d"},
		{"empty ones are passed over", nil, map[string]string{"x-claude-code-session-id": " ", "session-id": "c"}, "c"},
		{"additional ones first", more, map[string]string{"x-my-agent": "a", "x-claude-code-session-id": "b"}, "a"},
		{"additional ones absent", more, map[string]string{"x-claude-code-session-id": "b"}, "b"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, err := plugintest.New(&Spec, tt.params, nil, plugintest.Req{Headers: tt.headers})
			if err != nil {
				t.Fatal(err)
			}
			p := b.Plugin.(*Identity)
			if got := string(p.SessionID(&b.Cycle)); got != tt.want {
				t.Errorf("id %q, want %q", got, tt.want)
			}
			if n := testing.AllocsPerRun(10, func() { p.SessionID(&b.Cycle) }); n != 0 {
				t.Errorf("%v allocations", n)
			}
		})
	}
}
