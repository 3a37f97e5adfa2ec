package accesslog

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParsePick(t *testing.T) {
	const facts = " profile=default candidates=4 left=3 model=m%20x tokens=512 block=64 universal=1"
	const good = "endpoint=10.0.0.1:8000 matched=3 total=8 attempts=2 decision_us=21 reason=scored" + facts
	want := Pick{
		Endpoint: "10.0.0.1:8000", Matched: 3, Total: 8, Attempts: 2, DecisionUs: 21, Reason: "scored",
		Profile: "default", Candidates: 4, Left: 3, Model: "m%20x", Tokens: 512, Block: 64, Universal: 1,
	}
	withID := want
	withID.ID = "00ff"
	for _, c := range []struct {
		name, line string
		want       Pick
		fails      bool
	}{
		{"all parts", good, want, false},
		{"with id", good + " id=00ff", withID, false},
		{
			"no endpoint", "endpoint=- matched=0 total=0 attempts=0 decision_us=0 reason=no_endpoints profile=- candidates=0 left=0 model=- tokens=0 block=64 universal=0",
			Pick{Endpoint: "-", Reason: "no_endpoints", Profile: "-", Model: "-", Block: 64},
			false,
		},
		{"nothing", "", Pick{}, true},
		{"part missing", "endpoint=a matched=3 total=8 attempts=2 decision_us=21" + facts, Pick{}, true},
		{"unknown part", good + " more=1", Pick{}, true},
		{"part twice", "endpoint=a matched=3 total=8 attempts=2 attempts=2 decision_us=2 reason=scored" + facts, Pick{}, true},
		{"without value", "endpoint= matched=3 total=8 attempts=2 decision_us=21 reason=scored" + facts, Pick{}, true},
		{"no number", "endpoint=a matched=x total=8 attempts=2 decision_us=21 reason=scored" + facts, Pick{}, true},
		{"negative", "endpoint=a matched=-1 total=8 attempts=2 decision_us=21 reason=scored" + facts, Pick{}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := ParsePick(c.line)
			if c.fails != (err != nil) {
				t.Fatalf("error %v, want one: %v", err, c.fails)
			}
			if diff := cmp.Diff(c.want, got); err == nil && diff != "" {
				t.Errorf("pick (-want +got):\n%s", diff)
			}
		})
	}
}
