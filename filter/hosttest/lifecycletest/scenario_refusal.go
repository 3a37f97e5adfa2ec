package lifecycletest

import (
	"encoding/json"
	"testing"

	"github.com/zerohop/zerohop/filter/hosttest"
	"github.com/zerohop/zerohop/shared/plan"
)

// noProfile asserts what becomes of a request for which the profile handler chooses none: it counts as one that no endpoint
// is eligible for.
func noProfile(t *testing.T, s Subject) {
	for _, mode := range []string{plan.FailClose, plan.FailOpen} {
		t.Run(mode, func(t *testing.T) {
			w := single(t, s, 2)
			w.plan.FailureMode = mode
			second := w.plan.Profiles[0]
			second.Name = "second"
			w.plan.Profiles = append(w.plan.Profiles, second)
			k := w.worker()
			r := Chat(ChatBody(short))
			if mode == plan.FailOpen {
				w.do(k, &r, hosttest.ToFallback)
				w.check()
				return
			}
			res := w.do(k, &r, hosttest.ToClient)
			var body struct{ Error struct{ Code string } }
			if err := json.Unmarshal([]byte(res.Local.Body), &body); err != nil {
				t.Fatal(err)
			}
			if res.Status != 429 || body.Error.Code != "no_profile" || res.Reason() != "no_profile" || res.Endpoint() != "-" {
				t.Errorf("status %d, error %s, pick %q", res.Status, body.Error.Code, res.Pick)
			}
			w.check()
		})
	}
}
