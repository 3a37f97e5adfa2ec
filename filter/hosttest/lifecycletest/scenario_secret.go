package lifecycletest

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/zerohop/zerohop/filter/hosttest"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/shared/snapshot"
)

// headerValuesAreNotTold has plugins read headers whose values may be secrets, and looks for those in everything that the filter
// says: logs, properties, responses, answers of dry runs, and reports to the agent.
func headerValuesAreNotTold(t *testing.T, s Subject) {
	const secret = "s3cr3t"
	eachMode(t, s, 0, func(w *world) {
		w.Agent = &hosttest.Agent{Version: 3, Blob: Loaded(3, func(int, *snapshot.Endpoint) {}, 1, 2, 3), NotModifiedAfterMs: 100}
		told := 0
		w.Agent.OnPoll = func(c *hosttest.Call) {
			if bytes.Contains(c.Body, []byte(secret)) {
				told++
			}
		}
		use(w.plan, "session-id-producer", "session-id-producer", plan.Param{Name: "cookieName", Kind: plan.String, Str: "sid"})
		use(w.plan, "session", "session-affinity-scorer",
			plan.Param{Name: "strategy", Kind: plan.String, Str: "session_id"},
			plan.Param{Name: "sessionIdConfig.sources[0].attribute", Kind: plan.String, Str: "session-id"})
		use(w.plan, "tier", "header-label-affinity-scorer",
			plan.Param{Name: "headerName", Kind: plan.String, Str: "x-tier"}, plan.Param{Name: "labelKey", Kind: plan.String, Str: "tier"})
		use(w.plan, "by-header", "header-profile-handler", plan.Param{Name: "defaultProfile", Kind: plan.String, Str: "default"})
		w.plan.ProfileHandler = "by-header"
		w.plan.Profiles[0].Scorers = append(w.plan.Profiles[0].Scorers, plan.Scorer{Plugin: "session", Weight: 1}, plan.Scorer{Plugin: "tier", Weight: 1})
		other := w.plan.Profiles[0]
		other.Name = "other"
		w.plan.Profiles = append(w.plan.Profiles, other)
		k := asking(w)
		w.Run(time.Second)
		secretly := func(r hosttest.Request) hosttest.Request {
			return with(with(r, "cookie", "a=b; sid="+secret), "x-tier", secret)
		}
		requests := []hosttest.Request{
			secretly(Chat(ChatBody(short))), explain(secretly(Chat(ChatBody(short)))), explain(secretly(Models())),
			with(secretly(Chat(ChatBody(short))), "epp-profile", secret), explain(with(secretly(Chat(ChatBody(short))), "epp-profile", secret)),
			secretly(dry("/v1/chat/completions", ChatBody(short), trustedSource)), secretly(dry("/v1/chat/completions", ChatBody(short), "10.8.0.1:1")),
		}
		for i := range requests {
			res := k.Do(&requests[i])
			said := fmt.Sprintf("%s %q", res.Pick, res.Response)
			if res.Local != nil {
				said += fmt.Sprintf("%+v", *res.Local)
			}
			if bytes.Contains([]byte(said), []byte(secret)) {
				w.t.Errorf("request %d is told: %s", i, said)
			}
			if len(res.Hosts) > 0 && !res.Sent.Has("x-tier") {
				w.t.Errorf("request %d: the endpoint got no x-tier", i)
			}
		}
		w.Run(time.Second)
		if logs := fmt.Sprint(w.Logs); told > 0 || bytes.Contains([]byte(logs), []byte(secret)) {
			w.t.Errorf("%d reports and logs %s", told, logs)
		}
	})
}
