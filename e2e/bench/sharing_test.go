package main

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReportSharing(t *testing.T) {
	of := func(direct, alone, shared float64) []Result {
		return []Result{{Variant: directOf(4), CPUus: direct}, {Variant: aloneOf(4), CPUus: alone}, {Variant: sharedOf(4), CPUus: shared}}
	}
	tests := []struct {
		name    string
		results []Result
		wantErr string
	}{
		{"within the budget", of(100, 150, 154), ""},
		{"above the budget", of(100, 150, 156), "with 4 workers sharing adds 12 %"},
		{"not measured", of(100, 150, 154)[:2], "between 4 workers was not measured"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := reportSharing(io.Discard, tt.results, true)
			if (err == nil) != (tt.wantErr == "") || err != nil && !strings.Contains(err.Error(), tt.wantErr) {
				t.Errorf("error %v, want %q", err, tt.wantErr)
			}
			if err := reportSharing(io.Discard, tt.results, false); err != nil {
				t.Errorf("not asserted, and yet %v", err)
			}
		})
	}
	var text strings.Builder
	if err := printResults(&text, of(100, 150, 154)); err != nil || !strings.Contains(text.String(), "1.54") {
		t.Errorf("error %v, table:\n%s", err, text.String())
	}
}

func TestMedians(t *testing.T) {
	starts := func(cpu ...float64) (all [][]Result) {
		for _, c := range cpu {
			all = append(all, []Result{{Variant: direct, CPUus: 100}, {Variant: zerohop, P50us: 2 * c, P99us: 3 * c, CPUus: c}})
		}
		return all
	}
	for _, tt := range []struct {
		name string
		cpu  []float64
		want float64
	}{
		{"one", []float64{7}, 7},
		{"odd", []float64{9, 1, 4}, 4},
		{"even", []float64{9, 1, 4, 5}, 4.5},
	} {
		want := []Result{{Variant: direct, CPUus: 100}, {Variant: zerohop, P50us: 2 * tt.want, P99us: 3 * tt.want, CPUus: tt.want}}
		if diff := cmp.Diff(want, medians(starts(tt.cpu...))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
