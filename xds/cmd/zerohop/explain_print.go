package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// explainText formats an explanation for people.
func explainText(a *explanation) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) { _, _ = fmt.Fprintf(w, name+"\t"+format+"\n", args...) }
	row("outcome", "%s, %d endpoints have the best total", a.Outcome, a.Ties)
	row("profile", "%s, chosen by %s", cmp.Or(a.Profile, "-"), a.Handler)
	row("plan", "%s, parity %s", cmp.Or(a.Revision, "-"), a.Parity)
	if a.Snapshot.Version == "0" {
		row("snapshot", "none; the endpoints are those of the plan")
	} else {
		row("snapshot", "%s, received %d ms ago", a.Snapshot.Version, a.Snapshot.AgeMs)
	}
	q := &a.Request
	row("request", "model %q, %d tokens, %d blocks of %d, %d universal, priority %d", q.Model, q.Tokens, q.Blocks, q.BlockTokens, q.Universal, q.Priority)
	for _, name := range slices.Sorted(maps.Keys(q.Headers)) {
		is := "absent"
		if q.Headers[name] {
			is = "present"
		}
		row("header", "%s: %s", name, is)
	}
	row("candidates", "%d, after the filters %d", a.Candidates, a.Left)
	for _, s := range a.Saturation {
		row("saturation", "%s: %s", s.Plugin, number(s.Value))
	}
	for _, p := range a.Inactive {
		row("inactive", "%s (%s)", p.Name, p.Type)
	}
	_ = w.Flush()
	filterTable(&b, a)
	scoreTable(&b, a)
	inputTable(&b, a)
	return b.String()
}

// filterTable lists what the filters left.
func filterTable(b *strings.Builder, a *explanation) {
	if len(a.Filters) == 0 {
		return
	}
	b.WriteByte('\n')
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "FILTER\tBEFORE\tAFTER\tREMOVED")
	for _, f := range a.Filters {
		var removed []string
		for _, r := range a.Removed {
			if r.By == f.Plugin {
				removed = append(removed, r.Address)
			}
		}
		if rest := f.Before - f.After - len(removed); rest > 0 {
			removed = append(removed, fmt.Sprintf("and %d more", rest))
		}
		_, _ = fmt.Fprintf(w, "%s\t%d\t%d\t%s\n", f.Plugin, f.Before, f.After, strings.Join(removed, " "))
	}
	_ = w.Flush()
}

// scoreTable lists the scores of the best endpoints, times their weights.
func scoreTable(b *strings.Builder, a *explanation) {
	if len(a.Best) == 0 {
		return
	}
	b.WriteByte('\n')
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprint(w, "ENDPOINT\tNAME\tTOTAL\tMATCHED")
	for _, s := range a.Scorers {
		_, _ = fmt.Fprintf(w, "\t%s*%s", s.Plugin, strconv.FormatFloat(s.Weight, 'g', 4, 64))
	}
	_, _ = fmt.Fprintln(w)
	for i := range a.Best {
		e := &a.Best[i]
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%d", e.Address, e.Endpoint, number(e.Total), e.Matched)
		for _, s := range e.Scores {
			_, _ = fmt.Fprintf(w, "\t%s", number(s))
		}
		_, _ = fmt.Fprintln(w)
	}
	_ = w.Flush()
}

// inputTable lists what the best endpoints were scored with.
func inputTable(b *strings.Builder, a *explanation) {
	if len(a.Best) == 0 {
		return
	}
	b.WriteByte('\n')
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "ENDPOINT\tWAITING\tQUEUE\tRUNNING\tKV\tIN FLIGHT\tTOKENS\tSCRAPED")
	for i := range a.Best {
		e := &a.Best[i]
		scraped := "never"
		if e.ScrapeMs != nil {
			scraped = fmt.Sprintf("%d ms ago", *e.ScrapeMs)
			if !e.Fresh {
				scraped += ", stale"
			}
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t%d\t%s\n", e.Address, number(e.Waiting), number(e.Queue), number(e.Running), number(e.KV),
			e.InFlight, e.InFlightTokens, scraped)
	}
	_ = w.Flush()
}

// number formats what may be no number.
func number(f *float64) string {
	if f == nil {
		return "-"
	}
	return strconv.FormatFloat(*f, 'g', 4, 64)
}
