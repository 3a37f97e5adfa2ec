package controlplane

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/zerohop/zerohop/e2e/harness"
	"github.com/zerohop/zerohop/e2e/traffic"
	"github.com/zerohop/zerohop/xds/status"
)

// The configurations that TestAgent writes. An empty first document is the default one.
const (
	weightFive = `apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins: [{type: queue-scorer}]
schedulingProfiles: [{name: default, plugins: [{pluginRef: queue-scorer, weight: 5}]}]
`
	listMode = `apiVersion: zerohop.dev/v1alpha1
kind: ZerohopConfig
destinationMode: list
attempts: {retries: unanswered}
`
	misspelt = `apiVersion: zerohop.dev/v1alpha1
kind: ZerohopConfig
destinationMod: list
`
)

// TestAgent edits the configuration of the agent itself while requests are served, breaks it, restarts the agent, and looks at
// all that through "zerohop status".
func TestAgent(t *testing.T) {
	b := traffic.Start(t, traffic.Options{Sim: traffic.Instant(), Options: harness.Options{Concurrency: workers}})
	first := inForceEverywhere(t, b, "", workers)
	l := startLoad(t, b.URL(), 4)

	edit(t, b, weightFive)
	second := inForceEverywhere(t, b, first, workers)
	edit(t, b, misspelt)
	traffic.Until(t, "the refusal", func() error {
		if st, err := agentStatus(b.AgentURL()); err != nil || st.Config.OK {
			return fmt.Errorf("status %+v, %w", st.Config, err)
		}
		st, text, err := zerohopStatus(b)
		if err == nil || st.Config.OK || !strings.Contains(st.Config.Error, `"destinationMode"`) || !strings.Contains(text, "agent refuses the configuration") {
			return fmt.Errorf("status %+v, %q, %w", st.Config, text, err)
		}
		if st.Revision != second {
			t.Errorf("the plan is %s, want the one before, %s", st.Revision, second)
		}
		return nil
	})
	edit(t, b, listMode)
	third := inForceEverywhere(t, b, second, workers)
	r := b.Do(t, traffic.Request{Body: []byte(chat)})
	if e := b.Entry(t, r.ID); e.String("cluster") != "zerohop_endpoints" {
		t.Errorf("a request in mode list went to cluster %s", e.String("cluster"))
	}

	ctx, cancel := contextWithPatience()
	defer cancel()
	b.Agent.Kill()
	l.more(t, 50)
	if err := b.StartAgent(ctx); err != nil {
		t.Fatal(err)
	}
	if again := inForceEverywhere(t, b, "", workers); again != third {
		t.Errorf("the plan after the restart is %s, want %s", again, third)
	}
	if st, text, err := zerohopStatus(b); err != nil || st.Revision != third {
		t.Errorf("status %+v, %q, %v", st, text, err)
	}
	l.more(t, 50)
	if bad := l.end(); len(bad) != 0 {
		t.Errorf("%d of %d requests failed: %q", len(bad), l.count(), bad[0])
	}
}

func edit(t *testing.T, b *traffic.Bed, text string) {
	t.Helper()
	if err := b.WriteConfig([]byte(text)); err != nil {
		t.Fatal(err)
	}
}

// inForceEverywhere waits until the agent has another plan than before and every VM of the one Envoy runs it, and returns its
// revision.
func inForceEverywhere(t *testing.T, b *traffic.Bed, before string, workers int) string {
	t.Helper()
	var revision string
	traffic.Until(t, "the plan at all workers", func() error {
		st, err := agentStatus(b.AgentURL())
		if err != nil {
			return err
		}
		if st.Revision == "" || st.Revision == before {
			return errors.New("the agent has no other plan yet")
		}
		for _, n := range st.Nodes {
			if !n.Connected || n.Plan.Acked != st.Revision || len(n.Workers) != workers+1 {
				continue
			}
			for _, w := range n.Workers {
				if w.Revision != st.Revision {
					return fmt.Errorf("a worker has %s, not %s", w.Revision, st.Revision)
				}
			}
			revision = st.Revision
			return nil
		}
		return fmt.Errorf("no Envoy has %s: %+v", st.Revision, st.Nodes)
	})
	return revision
}

// agentStatus asks an agent for its status, without a process for each look.
func agentStatus(url string) (st status.Status, err error) {
	resp, err := http.Get(url + status.Path)
	if err != nil {
		return st, err
	}
	defer resp.Body.Close()
	return st, json.NewDecoder(resp.Body).Decode(&st)
}

// zerohopStatus runs the command that users run. The error is that of its exit code, the text what it says about it.
func zerohopStatus(b *traffic.Bed) (status.Status, string, error) {
	tools, err := harness.FindTools()
	if err != nil {
		return status.Status{}, "", err
	}
	var out, errOut bytes.Buffer
	cmd := exec.Command(tools.Binary, "status", "--agent", b.AgentURL(), "-o", "json")
	cmd.Stdout, cmd.Stderr = &out, &errOut
	runErr := cmd.Run()
	var st status.Status
	if err := json.Unmarshal(out.Bytes(), &st); err != nil {
		return st, errOut.String(), errors.Join(runErr, err)
	}
	return st, errOut.String(), runErr
}
