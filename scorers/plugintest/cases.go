package plugintest

import (
	"encoding/base64"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
)

// Text returns a parameter that is a string.
func Text(name, value string) plan.Param {
	return plan.Param{Name: name, Kind: plan.String, Str: value}
}

// Labelled returns an endpoint for each value of a label. The value "none" stands for an endpoint without labels.
func Labelled(key string, values ...string) []EP {
	eps := make([]EP, len(values))
	for i, v := range values {
		if v != "none" {
			eps[i].Labels = map[string]string{key: v}
		}
	}
	return eps
}

// Must returns New for a test.
func Must(t testing.TB, spec *scorers.Spec, params plan.Params, eps ...EP) *Bed {
	t.Helper()
	b, err := New(spec, params, eps, Req{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// ByRole is one case of a filter that goes by the label with the role of an endpoint.
type ByRole struct {
	Name  string
	Roles []string // see Labelled
	Want  []int
}

// Filters runs the cases as subtests.
func Filters(t *testing.T, spec *scorers.Spec, label string, cases []ByRole) {
	t.Helper()
	for _, tt := range cases {
		t.Run(tt.Name, func(t *testing.T) {
			if diff := cmp.Diff(tt.Want, Must(t, spec, nil, Labelled(label, tt.Roles...)...).Filter()); diff != "" {
				t.Errorf("kept (-want +got):\n%s", diff)
			}
		})
	}
}

// BySessionID are the parameters of a session plugin that remembers where sessions are.
func BySessionID() plan.Params { return plan.Params{Text("strategy", "session_id")} }

// Token returns what a client sends back of a session at the endpoint called name.
func Token(name string) string { return base64.StdEncoding.EncodeToString([]byte(name)) }

// Send makes a request with one header, a little later than the one before, the next cycle.
func (b *Bed) Send(header, value string) {
	b.Cycle.Now++
	b.Request(Req{Headers: map[string]string{header: value}})
}

// SessionAllocations wants no allocation of a session plugin's role, either way of knowing sessions.
func SessionAllocations(t *testing.T, spec *scorers.Spec, role func(b *Bed) func()) {
	t.Helper()
	for name, params := range map[string]plan.Params{"token": nil, "id": BySessionID()} {
		b := Must(t, spec, params, EP{}, EP{})
		b.Send("x-session-id", "s")
		b.Pick(1)
		if n := testing.AllocsPerRun(100, role(b)); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
