package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/zerohop/zerohop/xds/config"
)

// found is one problem, warning or note of a file.
type found struct {
	File string `json:"file"`
	Line int    `json:"line,omitempty"`
	Path string `json:"path,omitempty"`
	Text string `json:"text"`
	Why  string `json:"why,omitempty"`
	Add  string `json:"add,omitempty"` // lines to add at Path

	Replace bool `json:"replace,omitempty"` // Add takes the place of what stands there
}

// checked is what a check found out, in JSON.
type checked struct {
	OK        bool              `json:"ok"`
	Problems  []found           `json:"problems"`
	Warnings  []found           `json:"warnings"`
	Notes     []found           `json:"notes"`               // what could not be checked, and what to keep in mind
	Inactive  []config.Inactive `json:"inactive"`            // what is accepted and does nothing
	Effective string            `json:"effective,omitempty"` // both documents, complete
	Defaults  []config.Default  `json:"defaults,omitempty"`
}

// print writes the result.
func (r *checked) print(c *checkCmd, stdout, stderr io.Writer) error {
	if c.Output == "json" {
		return writeJSON(stdout, r)
	}
	var b strings.Builder
	for _, f := range r.Problems {
		f.write(&b, "")
	}
	for _, f := range r.Warnings {
		f.write(&b, "warning: ")
	}
	for i := range r.Inactive {
		in := &r.Inactive[i]
		(&found{File: c.File, Line: in.Line, Path: in.Path, Text: in.Text()}).write(&b, "not active: ")
	}
	for _, f := range r.Notes {
		f.write(&b, "note: ")
	}
	if _, err := io.WriteString(stderr, b.String()); err != nil {
		return err
	}
	if !r.OK {
		return nil
	}
	_, err := io.WriteString(stdout, r.text(c))
	return err
}

// text returns what is in force as YAML, the reasons of the defaults as comments at its end.
func (r *checked) text(c *checkCmd) string {
	var b strings.Builder
	if r.Effective == "" {
		return "# " + c.Envoy + " has what zerohop needs.\n"
	}
	b.WriteString("# What is in force by " + c.File + ".\n" + r.Effective)
	if len(r.Defaults) > 0 {
		b.WriteString("\n# Defaults:\n")
	}
	for _, d := range r.Defaults {
		fmt.Fprintf(&b, "#   %s = %s: %s\n", d.Path, d.Value, d.Why)
	}
	return b.String()
}

// write writes FILE:LINE: path: text, and what to add below it.
func (f *found) write(b *strings.Builder, label string) {
	b.WriteString(f.File)
	if f.Line != 0 {
		fmt.Fprintf(b, ":%d", f.Line)
	}
	b.WriteString(": " + label)
	if f.Path != "" {
		b.WriteString(f.Path + ": ")
	}
	b.WriteString(f.Text + "\n")
	if f.Why != "" {
		b.WriteString("  " + f.Why + "\n")
	}
	if f.Add != "" {
		if f.Replace {
			b.WriteString("  Write there:\n")
		} else {
			b.WriteString("  Add there:\n")
		}
		for line := range strings.Lines(f.Add) {
			b.WriteString("    " + line)
		}
	}
}
