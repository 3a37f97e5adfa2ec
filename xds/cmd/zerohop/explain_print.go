package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// explainText formats an explanation for people.
func explainText(a *explanation) string {
	var b strings.Builder
	writeTable(&b, a.summary)
	if len(a.Filters) > 0 {
		b.WriteByte('\n')
		writeTable(&b, a.filterRows)
	}
	if len(a.Best) > 0 {
		b.WriteByte('\n')
		writeTable(&b, a.scoreRows)
		b.WriteByte('\n')
		writeTable(&b, a.inputRows)
	}
	return b.String()
}

// summary is what there is to say beside endpoints.
func (a *explanation) summary(row func(string, ...any)) {
	row("outcome\t%s, %d endpoints have the best total", a.Outcome, a.Ties)
	row("profile\t%s, chosen by %s", cmp.Or(a.Profile, "-"), a.Handler)
	row("plan\t%s, parity %s", cmp.Or(a.Revision, "-"), a.Parity)
	if a.Snapshot.Version == "0" {
		row("snapshot\tnone; the endpoints are those of the plan")
	} else {
		row("snapshot\t%s, received %d ms ago", a.Snapshot.Version, a.Snapshot.AgeMs)
	}
	q := &a.Request
	row("request\tmodel %q, %d tokens, %d blocks of %d, %d universal, priority %d", q.Model, q.Tokens, q.Blocks, q.BlockTokens, q.Universal, q.Priority)
	for _, name := range slices.Sorted(maps.Keys(q.Headers)) {
		is := "absent"
		if q.Headers[name] {
			is = "present"
		}
		row("header\t%s: %s", name, is)
	}
	row("candidates\t%d, after the filters %d", a.Candidates, a.Left)
	a.reasons(row)
	if d := a.Denied; d != nil {
		row("denied\tby %s (%s): %s against %s", d.Plugin, d.Type, number(d.Value), number(d.Threshold))
	}
	if a.Session != "" {
		row("session\t%s", a.Session)
	}
	for _, h := range a.Held {
		left := ""
		if h.LeftMs > 0 {
			left = fmt.Sprintf(", %d ms left", h.LeftMs)
		}
		row("held\t%s %s: %s%s", h.Address, h.Endpoint, h.Why, left)
	}
	for _, s := range a.Saturation {
		row("saturation\t%s: %s", s.Plugin, number(s.Value))
	}
	for _, p := range a.Inactive {
		row("inactive\t%s (%s)", p.Name, p.Type)
	}
}

// reasons is what decided beside filters and scores.
func (a *explanation) reasons(row func(string, ...any)) {
	if d := a.Denied; d != nil {
		row("denied\tby %s (%s): %s against %s", d.Plugin, d.Type, number(d.Value), number(d.Threshold))
	}
	if a.Session != "" {
		row("session\t%s", a.Session)
	}
	for _, h := range a.Held {
		left := ""
		if h.LeftMs > 0 {
			left = fmt.Sprintf(", %d ms left", h.LeftMs)
		}
		row("held\t%s %s: %s%s", h.Address, h.Endpoint, h.Why, left)
	}
}

// filterRows list what the filters left.
func (a *explanation) filterRows(row func(string, ...any)) {
	row("FILTER\tBEFORE\tAFTER\tREMOVED")
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
		row("%s\t%d\t%d\t%s", f.Plugin, f.Before, f.After, strings.Join(removed, " "))
	}
}

// scoreRows list the scores of the best endpoints, times their weights.
func (a *explanation) scoreRows(row func(string, ...any)) {
	heads := append(make([]string, 0, 4+len(a.Scorers)), "ENDPOINT", "NAME", "TOTAL", "MATCHED")
	for _, s := range a.Scorers {
		heads = append(heads, s.Plugin+"*"+number(&s.Weight))
	}
	row("%s", strings.Join(heads, "\t"))
	for i := range a.Best {
		e := &a.Best[i]
		cells := make([]string, 0, 4+len(e.Scores))
		cells = append(cells, e.Address, e.Endpoint, number(e.Total), strconv.Itoa(e.Matched))
		for _, s := range e.Scores {
			cells = append(cells, number(s))
		}
		row("%s", strings.Join(cells, "\t"))
	}
}

// inputRows list what the best endpoints were scored with.
func (a *explanation) inputRows(row func(string, ...any)) {
	row("ENDPOINT\tWAITING\tQUEUE\tRUNNING\tKV\tIN FLIGHT\tTOKENS\tSCRAPED")
	for i := range a.Best {
		e := &a.Best[i]
		scraped := "never"
		if e.ScrapeMs != nil {
			scraped = fmt.Sprintf("%d ms ago", *e.ScrapeMs)
			if !e.Fresh {
				scraped += ", stale"
			}
		}
		row("%s\t%s\t%s\t%s\t%s\t%d\t%d\t%s", e.Address, number(e.Waiting), number(e.Queue), number(e.Running), number(e.KV),
			e.InFlight, e.InFlightTokens, scraped)
	}
}

// number formats what may be no number.
func number(f *float64) string {
	if f == nil {
		return "-"
	}
	return strconv.FormatFloat(*f, 'g', 4, 64)
}
