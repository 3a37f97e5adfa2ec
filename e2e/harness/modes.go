package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"

	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/xds/status"
)

// zerohopKind is where a configuration's own settings begin.
var zerohopKind = regexp.MustCompile(`(?m)^kind: ZerohopConfig$`)

// withModes puts the modes of the options into a configuration: the agent reads them there, and what it sends replaces what a
// bootstrap was rendered with.
func (o *Options) withModes(config []byte) []byte {
	text := string(config)
	for _, s := range [][2]string{{"destinationMode", o.DestinationMode}, {"failureMode", o.FailureMode}, {"attempts", o.Attempts}} {
		if s[1] != "" {
			text = withSetting(text, s[0], s[1])
		}
	}
	return []byte(text)
}

// withSetting gives a top-level setting of a ZerohopConfig a value.
func withSetting(config, key, value string) string {
	line := key + ": " + value
	if set := regexp.MustCompile(`(?m)^` + key + `:.*$`); set.MatchString(config) {
		return set.ReplaceAllString(config, line)
	}
	if at := zerohopKind.FindStringIndex(config); at != nil {
		return config[:at[1]] + "\n" + line + config[at[1]:]
	}
	return config + "\n---\napiVersion: zerohop.dev/v1alpha1\nkind: ZerohopConfig\n" + line + "\n"
}

// waitList waits until the workers have a plan with lists: an agent sends it once Envoy knows the endpoints.
func (s *Stack) waitList(ctx context.Context) error {
	if s.opts.DestinationMode != plan.DestinationList {
		return nil
	}
	return untilServing(ctx, s.Envoy.Process, "the plan with lists", func() error {
		st, err := s.status(ctx)
		if err != nil {
			return err
		}
		return inForce(st)
	})
}

// SetAttempts changes the setting of that name and waits until all workers of an Envoy have the plan with it. A value that changes
// nothing makes no new plan, and would be waited for in vain.
func (s *Stack) SetAttempts(ctx context.Context, value string) error {
	before, err := s.status(ctx)
	if err != nil {
		return fmt.Errorf("set attempts: %w", err)
	}
	config, err := os.ReadFile(s.configFile())
	if err != nil {
		return fmt.Errorf("set attempts: %w", err)
	}
	if err := s.WriteConfig([]byte(withSetting(string(config), "attempts", value))); err != nil {
		return fmt.Errorf("set attempts: %w", err)
	}
	return untilServing(ctx, s.Envoy.Process, "the plan with attempts "+value, func() error {
		st, err := s.status(ctx)
		if err != nil {
			return err
		}
		if st.Revision == before.Revision {
			return errors.New("the agent has no other plan yet")
		}
		return inForce(st)
	})
}

// status asks the agent for its status.
func (s *Stack) status(ctx context.Context) (*status.Status, error) {
	b, err := get(ctx, s.AgentURL()+status.Path)
	if err != nil {
		return nil, err
	}
	st := &status.Status{}
	if err := json.Unmarshal(b, st); err != nil {
		return nil, err
	}
	return st, nil
}

// inForce returns an error unless all workers of an Envoy have the agent's newest plan.
func inForce(st *status.Status) error {
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
}
