package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/xds/controlplane"
	"github.com/zerohop/zerohop/xds/status"
)

func testStatus(now time.Time) *status.Status {
	return &status.Status{
		Revision: "2222222222222222", Endpoints: 4, Snapshot: 17,
		Discovery: status.Source{OK: true}, Config: status.Config{File: "zerohop.yaml", OK: true, Since: now.Add(-90 * time.Minute)},
		Nodes: []status.Node{
			{
				NodeStatus: controlplane.NodeStatus{
					ID: "a", Group: "east", Envoy: "1.40.0", Connected: true, Since: now.Add(-65 * time.Second),
					Plan: controlplane.TypeStatus{Sent: "2222222222222222", Acked: "2222222222222222"},
				},
				Reported: true,
				Workers:  []status.Worker{{Revision: "2222222222222222"}, {Revision: "1111111111111111"}, {Revision: "2222222222222222"}},
			},
			{NodeStatus: controlplane.NodeStatus{ID: "b", Group: "west", Since: now.Add(-3 * time.Second)}},
		},
	}
}

// statusHead is what the text of a good testStatus begins with.
const statusHead = `configuration  zerohop.yaml, in force
               since 1h30m ago
plan           2222222222222222
endpoints      4, in snapshot 17

GROUP  NODE  ENVOY   CONNECTED    PLAN SENT         ACCEPTED          IN FORCE AT WORKERS                                 REFUSES
`

func TestStatusText(t *testing.T) {
	now := time.Unix(1e9, 0)
	refusing := testStatus(now)
	refusing.Nodes[0].Plan = controlplane.TypeStatus{
		Sent: "2222222222222222", Acked: "1111111111111111",
		Nack: &controlplane.Nack{At: now.Add(-time.Second), Version: "2222222222222222", Reason: "Unable to create Wasm plugin zerohop"},
	}
	broken := testStatus(now)
	broken.Config.OK, broken.Config.Error, broken.Nodes = false, "line 1: a\nline 2: b\n", nil
	twins := testStatus(now)
	twins.Nodes = append(twins.Nodes[:1], twins.Nodes[0])
	twins.Nodes[1].Reported = false
	lacking := testStatus(now)
	lacking.Nodes = lacking.Nodes[:1]
	lacking.Nodes[0].Plan, lacking.Nodes[0].Lacks = controlplane.TypeStatus{}, "node.metadata is missing"
	tests := []struct {
		name string
		st   *status.Status
		want string
		fail string
	}{
		{"in force", testStatus(now), statusHead + `east   a     1.40.0  1m5s ago     2222222222222222  2222222222222222  2222222222222222 (2 of 3), 1111111111111111 (1 of 3)  -
west   b     -       gone 3s ago  -                 -                 no report                                           -
`, ""},
		{"refusing", refusing, statusHead + `east   a     1.40.0  1m5s ago     2222222222222222  1111111111111111  2222222222222222 (2 of 3), 1111111111111111 (1 of 3)  plan
west   b     -       gone 3s ago  -                 -                 no report                                           -

east/a refused plan 2222222222222222 1s ago:
  Unable to create Wasm plugin zerohop
  The filter's own words are in that Envoy's log, after "configuration rejected".
`, "1 of 2 Envoys refuse what they were sent"},
		{"without metadata", lacking, statusHead + `east   a     1.40.0  1m5s ago     -                 -                 2222222222222222 (2 of 3), 1111111111111111 (1 of 3)  lacks metadata

east/a is sent no plan:
  node.metadata is missing
`, "1 of 1 Envoys refuse what they were sent, or cannot be sent it"},
		{"two of one id", twins, statusHead + `east   a     1.40.0  1m5s ago     2222222222222222  2222222222222222  2222222222222222 (2 of 3), 1111111111111111 (1 of 3)  -
east   a     1.40.0  1m5s ago     2222222222222222  2222222222222222  no report                                           -

2 Envoys have the node id "a", so that their reports are mixed up: give each its own, by Envoy's flag --service-node.
`, ""},
		{"broken configuration", broken, `configuration  zerohop.yaml, refused: line 1: a
               line 2: b
               since 1h30m ago
plan           2222222222222222
endpoints      4, in snapshot 17

No Envoy is connected.
`, "the agent refuses the configuration in zerohop.yaml"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			squeeze := func(s string) string { // the widths of columns are tabwriter's
				return strings.Join(strings.Fields(s), " ")
			}
			if d := cmp.Diff(squeeze(tt.want), squeeze(statusText(tt.st, now))); d != "" {
				t.Error(d)
			}
			err := verdict(tt.st)
			if (err == nil) != (tt.fail == "") || err != nil && !strings.Contains(err.Error(), tt.fail) {
				t.Errorf("error %v, want %q", err, tt.fail)
			}
		})
	}
}

// TestStatusCommand asks a server for the JSON that it prints.
func TestStatusCommand(t *testing.T) {
	st := testStatus(time.Now())
	st.Nodes[0].Plan.Acked = ""
	st.Nodes[0].Plan.Nack = &controlplane.Nack{Version: st.Nodes[0].Plan.Sent, Reason: "no"}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/status" {
			http.NotFound(w, r)
			return
		}
		if err := json.NewEncoder(w).Encode(st); err != nil {
			t.Error(err)
		}
	}))
	defer s.Close()
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), []string{"status", "--agent", s.URL, "-o", "json"}, &stdout, &stderr); code != exitFailed {
		t.Errorf("exit code %d for an Envoy that refuses", code)
	}
	var got status.Status
	if err := json.Unmarshal(stdout.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Nodes) != 2 || got.Nodes[0].ID != "a" || got.Nodes[0].Plan.Nack.Reason != "no" || len(got.Nodes[0].Workers) != 3 {
		t.Errorf("%+v", got)
	}
	st.Nodes[0].Plan.Nack = nil
	stdout.Reset()
	if code := run(t.Context(), []string{"status", "--agent", s.URL}, &stdout, &stderr); code != 0 || !strings.Contains(stdout.String(), "east") {
		t.Errorf("exit code %d: %s", code, &stdout)
	}
	if code := run(t.Context(), []string{"status", "--agent", "localhost"}, &stdout, &stderr); code != exitUsage {
		t.Errorf("exit code %d for a wrong URL", code)
	}
}
