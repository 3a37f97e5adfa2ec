package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// writeTable appends rows to b, of which the cells between tabs stand in columns.
func writeTable(b *strings.Builder, fill func(row func(format string, args ...any))) {
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fill(func(format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) })
	_ = w.Flush()
}

// writeJSON writes v as JSON for people.
func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
