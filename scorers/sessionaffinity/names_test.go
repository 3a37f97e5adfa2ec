package sessionaffinity

import (
	"testing"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
)

// TestTokenKeepsClearOfResponses refuses headers that responses have already.
func TestTokenKeepsClearOfResponses(t *testing.T) {
	for name, ok := range map[string]bool{"x-mine": true, "Content-Length": false, "content-type": false, "Date": false} {
		spec := scorers.Spec{Type: "t", New: func(u *scorers.Setup) (any, error) { return NewToken(u) }}
		_, err := scorers.Alone(&spec, plan.Params{{Name: paramHeader, Kind: plan.String, Str: name}})
		if (err == nil) != ok {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
