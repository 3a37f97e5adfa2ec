package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/zerohop/zerohop/xds/agentclient"
	"github.com/zerohop/zerohop/xds/controlplane"
	"github.com/zerohop/zerohop/xds/status"
)

type statusCmd struct {
	agentclient.Options
	Output string `short:"o" default:"text" enum:"text,json" help:"Format: ${enum}. Default ${default}."`
}

// run prints the agent's status. It fails if something is not in force that should be: an Envoy refuses what it was sent, or
// the agent refuses its configuration file.
func (s *statusCmd) run(ctx context.Context, stdout io.Writer) error {
	c, err := agentclient.New(s.Options)
	if err != nil {
		return usageError{err}
	}
	defer c.Close()
	var st status.Status
	if err := c.JSON(ctx, status.Path, &st); err != nil {
		return err
	}
	if s.Output == "json" {
		err = writeJSON(stdout, st)
	} else {
		_, err = io.WriteString(stdout, statusText(&st, time.Now()))
	}
	if err != nil {
		return err
	}
	return verdict(&st)
}

// verdict returns an error if the status is not as it should be.
func verdict(st *status.Status) error {
	refusing := 0
	for i := range st.Nodes {
		if st.Nodes[i].Connected && st.Nodes[i].Rejects() {
			refusing++
		}
	}
	switch {
	case !st.Discovery.OK:
		return errors.New("a source of endpoints is unhealthy; its last list stays in force")
	case !st.Config.OK:
		return fmt.Errorf("the agent refuses the configuration in %s and keeps the one before", st.Config.File)
	case refusing > 0:
		return fmt.Errorf("%d of %d Envoys refuse what they were sent, or cannot be sent it, and keep what they had", refusing, len(st.Nodes))
	}
	return nil
}

// statusText formats a status for people.
func statusText(st *status.Status, now time.Time) string {
	var b strings.Builder
	state := "in force"
	if !st.Config.OK {
		state = "refused: " + strings.ReplaceAll(strings.TrimSpace(st.Config.Error), "\n", "\n\t")
	}
	writeTable(&b, func(row func(string, ...any)) {
		row("configuration\t%s, %s", st.Config.File, state)
		row("\tsince %s", ago(now, st.Config.Since))
		row("plan\t%s", cmp.Or(st.Revision, "-"))
		row("endpoints\t%d, in snapshot %d", st.Endpoints, st.Snapshot)
		if !st.Discovery.OK {
			row("\tthe last list stays, %s: %s", ago(now, st.Discovery.Since), strings.ReplaceAll(st.Discovery.Error, "\n", "\n\t"))
		}
		for _, warning := range st.Discovery.Warnings {
			row("\t%s", warning)
		}
	})
	b.WriteByte('\n')
	if len(st.Nodes) == 0 {
		b.WriteString("No Envoy is connected.\n")
		return b.String()
	}
	nodeTable(&b, st.Nodes, now)
	return b.String()
}

// nodeTable lists the Envoys, and below what they last refused.
func nodeTable(b *strings.Builder, nodes []status.Node, now time.Time) {
	writeTable(b, func(row func(string, ...any)) {
		row("GROUP\tNODE\tENVOY\tCONNECTED\tPLAN SENT\tACCEPTED\tIN FORCE AT WORKERS\tREFUSES")
		for i := range nodes {
			n := &nodes[i]
			connected := ago(now, n.Since)
			if !n.Connected {
				connected = "gone " + connected
			}
			row("%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s", n.Group, n.ID, cmp.Or(n.Envoy, "-"), connected,
				cmp.Or(n.Plan.Sent, "-"), cmp.Or(n.Plan.Acked, "-"), inForce(n), refuses(n))
		}
	})
	for i := range nodes {
		refusals(b, &nodes[i], now)
	}
	sharedIDs(b, nodes)
}

// wasmReason is what Envoy says of every configuration that the filter refuses.
const wasmReason = "Unable to create Wasm plugin"

// refusals says what an Envoy refused last, and why.
func refusals(b *strings.Builder, n *status.Node, now time.Time) {
	if n.Lacks != "" {
		_, _ = fmt.Fprintf(b, "\n%s/%s is sent no plan:\n  %s\n", n.Group, n.ID, n.Lacks)
	}
	for _, t := range types(n) {
		if t.Nack == nil {
			continue
		}
		_, _ = fmt.Fprintf(b, "\n%s/%s refused %s %s %s:\n  %s\n", n.Group, n.ID, t.name, t.Nack.Version, ago(now, t.Nack.At), t.Nack.Reason)
		if strings.Contains(t.Nack.Reason, wasmReason) {
			b.WriteString("  The filter's own words are in that Envoy's log, after \"configuration rejected\".\n")
		}
	}
}

// sharedIDs warns of connected Envoys that cannot be told apart.
func sharedIDs(b *strings.Builder, nodes []status.Node) {
	counts := make(map[string]int)
	for i := range nodes {
		if nodes[i].Connected {
			counts[nodes[i].ID]++
		}
	}
	for _, id := range slices.Sorted(maps.Keys(counts)) {
		if n := counts[id]; n > 1 {
			_, _ = fmt.Fprintf(b, "\n%d Envoys have the node id %q, so that their reports are mixed up: give each its own, by Envoy's flag --service-node.\n", n, id)
		}
	}
}

// typed is the state of one type of resource, with the type's name.
type typed struct {
	name string
	controlplane.TypeStatus
}

func types(n *status.Node) []typed {
	return []typed{{"plan", n.Plan}, {"endpoints", n.Endpoints}, {"clusters", n.Clusters}}
}

// inForce says which plan how many workers run, the most frequent first.
func inForce(n *status.Node) string {
	if !n.Reported || len(n.Workers) == 0 {
		return "no report"
	}
	counts := make(map[string]int)
	for _, w := range n.Workers {
		counts[cmp.Or(w.Revision, "none")]++
	}
	parts := make([]string, 0, len(counts))
	for revision, count := range counts {
		parts = append(parts, fmt.Sprintf("%s (%d of %d)", revision, count, len(n.Workers)))
	}
	slices.SortFunc(parts, func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b[:strings.IndexByte(b, ' ')]], counts[a[:strings.IndexByte(a, ' ')]]), cmp.Compare(a, b))
	})
	return strings.Join(parts, ", ")
}

func refuses(n *status.Node) string {
	var what []string
	for _, t := range types(n) {
		if t.Rejected() {
			what = append(what, t.name)
		}
	}
	if n.Lacks != "" {
		what = append(what, "lacks metadata")
	}
	return cmp.Or(strings.Join(what, ", "), "-")
}

// ago formats how long ago t was.
func ago(now, t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	d := max(0, now.Sub(t))
	switch {
	case d < 10*time.Second:
		return d.Round(100*time.Millisecond).String() + " ago"
	case d < time.Hour:
		return d.Round(time.Second).String() + " ago"
	}
	return strings.TrimSuffix(d.Round(time.Minute).String(), "0s") + " ago"
}
