package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/xds/status"
)

// zerohopKind is where a configuration's own settings begin.
var zerohopKind = regexp.MustCompile(`(?m)^kind: ZerohopConfig$`)

// withModes puts the modes of the options into a configuration: the agent reads them there, and what it sends replaces what a
// bootstrap was rendered with.
func (o *Options) withModes(config []byte) []byte {
	text := ""
	if o.DestinationMode != "" {
		text += "\ndestinationMode: " + o.DestinationMode
	}
	if o.FailureMode != "" {
		text += "\nfailureMode: " + o.FailureMode
	}
	if text == "" {
		return config
	}
	if at := zerohopKind.FindIndex(config); at != nil {
		return []byte(string(config[:at[1]]) + text + string(config[at[1]:]))
	}
	return []byte(string(config) + "\n---\napiVersion: zerohop.dev/v1alpha1\nkind: ZerohopConfig" + text + "\n")
}

// waitList waits until the workers have a plan with lists: an agent sends it once Envoy knows the endpoints.
func (s *Stack) waitList(ctx context.Context) error {
	if s.opts.DestinationMode != plan.DestinationList {
		return nil
	}
	return untilServing(ctx, s.Envoy.Process, "the plan with lists", func() error {
		b, err := get(ctx, s.AgentURL()+status.Path)
		if err != nil {
			return err
		}
		var st status.Status
		if err := json.Unmarshal(b, &st); err != nil {
			return err
		}
		for i := range st.Nodes {
			n := &st.Nodes[i]
			if !n.Connected || n.Plan.Acked != st.Revision || len(n.Workers) == 0 {
				continue
			}
			for j := range n.Workers {
				if w := &n.Workers[j]; w.Revision != st.Revision {
					return fmt.Errorf("a worker has %s, not %s", w.Revision, st.Revision)
				}
			}
			return nil
		}
		return errors.New("no Envoy has it")
	})
}
