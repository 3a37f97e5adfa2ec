package main

import (
	_ "embed" // the page
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed report.html.tmpl
var pageText string

var page = template.Must(template.New("report").Parse(pageText))

// write writes report.html and report.json into a folder, and the logs beside them if there are violations.
func (rep *Report) write(dir string) error {
	b, err := json.MarshalIndent(rep, "", " ")
	if err != nil {
		return fmt.Errorf("encode report: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "report.json"), append(b, '\n'), 0o644); err != nil {
		return err
	}
	text, err := rep.html()
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "report.html"), []byte(text), 0o644); err != nil {
		return err
	}
	logs := filepath.Join(dir, "logs.txt")
	if rep.Violations > 0 {
		return os.WriteFile(logs, []byte(rep.logs), 0o644)
	}
	if err := os.Remove(logs); err != nil && !os.IsNotExist(err) {
		return err
	}
	return nil
}

// row is a fault in the page's table.
type row struct {
	Number int
	FaultReport
	Costs, Caused string
	Bad           bool
}

// html makes the page, which needs nothing else.
func (rep *Report) html() (string, error) {
	length := rep.Schedule.Length.Seconds()
	for _, p := range rep.Series.InFlight["clients"] {
		length = max(length, p.X)
	}
	drawn := rep.plots(length)
	plots := make([]template.HTML, 0, len(drawn))
	for _, p := range drawn {
		plots = append(plots, template.HTML(p.svg())) // made of numbers and escaped names
	}
	rows := make([]row, 0, len(rep.Faults))
	for i, f := range rep.Faults {
		rows = append(rows, row{Number: i + 1, FaultReport: f, Costs: strings.ReplaceAll(ruleOf(f.Kind).Costs, "`", ""), Caused: counts(f.Errors), Bad: f.Problem != ""})
	}
	var b strings.Builder
	err := page.Execute(&b, map[string]any{"R": rep, "Plots": plots, "Faults": rows, "Rules": rules, "Outcomes": counts(rep.Outcomes)})
	return b.String(), err
}

func (rep *Report) plots(length float64) []plot {
	s := &rep.Series
	memory := []curve{{"Envoy, resident", s.RSS}, {"linear memory of the VMs", s.Linear}, {"agent, resident", s.Agent}}
	return []plot{
		{title: "Errors per second, by reason", curves: curvesOf(s.Errors), faults: rep.Faults, length: length},
		{title: "Requests in flight, by source", curves: curvesOf(s.InFlight), faults: rep.Faults, length: length},
		{title: "Hit rate of the endpoints' prefix caches", curves: []curve{{"tokens found / tokens of prompts", s.HitRate}}, top: 1, faults: rep.Faults, length: length},
		{title: "Memory", unit: " MiB", curves: memory, faults: rep.Faults, length: length},
	}
}

// counts lists numbers by name.
func counts(m map[string]int) string {
	parts := make([]string, 0, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%d %s", m[name], name))
	}
	if len(parts) == 0 {
		return none
	}
	return strings.Join(parts, ", ")
}
