package main

import (
	"io"
	"strings"
	"testing"
)

func TestReportStream(t *testing.T) {
	of := func(without, with float64) []Result {
		return []Result{{Variant: direct, CPUus: without}, {Variant: zerohop, CPUus: with}}
	}
	for _, tt := range []struct {
		name    string
		results []Result
		wantErr string
	}{
		{"within the budget", of(20, 22.9), ""},
		{"above the budget", of(20, 23.5), "adds 3.5 µs"},
		{"not measured", of(20, 22)[:1], "not measured"},
	} {
		err := reportStream(io.Discard, tt.results, true)
		if (err == nil) != (tt.wantErr == "") || err != nil && !strings.Contains(err.Error(), tt.wantErr) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.wantErr)
		}
	}
	if err := reportStream(io.Discard, of(20, 30), false); err != nil {
		t.Errorf("not asserted, and yet %v", err)
	}
}
