package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// Result is one variant at one body size and number of connections: medians over the rounds.
type Result struct {
	SizeBytes int     `json:"size_bytes"`
	Conns     int     `json:"conns"`
	Variant   string  `json:"variant"`
	P50us     float64 `json:"p50_us"`         // client's median latency
	P99us     float64 `json:"p99_us"`         // client's 99th percentile
	CPUus     float64 `json:"cpu_us_per_req"` // of Envoy's process, and of the endpoint picker's if there is one; with -stream per chunk
}

// medians returns the medians over several starts of the same variants, whose results are in any order.
func medians(starts [][]Result) []Result {
	list := make([]Result, 0, len(starts[0]))
	for _, r := range starts[0] {
		same := func(other Result) bool {
			return other.Variant == r.Variant && other.SizeBytes == r.SizeBytes && other.Conns == r.Conns
		}
		of := func(value func(Result) float64) float64 {
			all := make([]float64, 0, len(starts))
			for _, results := range starts {
				all = append(all, value(results[slices.IndexFunc(results, same)]))
			}
			slices.Sort(all)
			return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
		}
		list = append(list, Result{
			SizeBytes: r.SizeBytes, Conns: r.Conns, Variant: r.Variant,
			P50us: of(func(r Result) float64 { return r.P50us }),
			P99us: of(func(r Result) float64 { return r.P99us }),
			CPUus: of(func(r Result) float64 { return r.CPUus }),
		})
	}
	return list
}

// maxRatio holds the greatest CPU time per request at one connection, as a multiple of direct, by body size.
var maxRatio = map[int]float64{600: 1.45, 6_000: 1.5, 60_000: 1.9, 400_000: 2.9}

type key struct{ size, conns int }

// byVariant indexes results; keys holds the cells in order.
func byVariant(results []Result) (keys []key, cells map[key]map[string]Result) {
	cells = map[key]map[string]Result{}
	for _, r := range results {
		k := key{r.SizeBytes, r.Conns}
		if cells[k] == nil {
			cells[k] = map[string]Result{}
			keys = append(keys, k)
		}
		cells[k][r.Variant] = r
	}
	return keys, cells
}

// printResults writes the table for people.
func printResults(w io.Writer, results []Result) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "bytes\tconns\tvariant\tp50 µs\tp99 µs\tCPU µs/req\tadded p50\tadded CPU\tCPU ratio\t")
	_, cells := byVariant(results)
	for _, r := range results {
		d := cells[key{r.SizeBytes, r.Conns}][baseline(r.Variant)]
		fmt.Fprintf(tw, "%d\t%d\t%s\t%.0f\t%.0f\t%.1f\t%+.0f\t%+.1f\t%.2f\t\n", r.SizeBytes, r.Conns, r.Variant,
			r.P50us, r.P99us, r.CPUus, r.P50us-d.P50us, r.CPUus-d.CPUus, r.CPUus/d.CPUus)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	return printPicker(w, results)
}

// baseline returns the variant without filter that a variant is compared with.
func baseline(variant string) string {
	if _, workers, ok := strings.Cut(variant, "-"); ok {
		return direct + "-" + workers
	}
	return direct
}

// printPicker says how many times the CPU time that zerohop adds the endpoint picker adds, where both were measured.
func printPicker(w io.Writer, results []Result) error {
	keys, cells := byVariant(results)
	for _, k := range keys {
		d, okD := cells[k][direct]
		z, okZ := cells[k][zerohop]
		p, okP := cells[k][epp]
		if !okD || !okZ || !okP {
			continue
		}
		if _, err := fmt.Fprintf(w, "%d bytes, %d connections: epp adds %.0f × the CPU time that zerohop adds\n",
			k.size, k.conns, (p.CPUus-d.CPUus)/(z.CPUus-d.CPUus)); err != nil {
			return err
		}
	}
	return nil
}

// assertRatios returns an error for every size at which zerohop costs more than maxRatio allows.
func assertRatios(results []Result) error {
	var errs []error
	checked := 0
	keys, cells := byVariant(results)
	for _, k := range keys {
		limit, ok := maxRatio[k.size]
		z, hasZ := cells[k][zerohop]
		d, hasD := cells[k][direct]
		if !ok || k.conns != 1 || !hasZ || !hasD {
			continue
		}
		checked++
		if ratio := z.CPUus / d.CPUus; ratio > limit {
			errs = append(errs, fmt.Errorf("%d bytes: CPU per request is %.2f × direct, more than %.2f", k.size, ratio, limit))
		}
	}
	if checked < len(maxRatio) {
		errs = append(errs, fmt.Errorf("only %d of %d body sizes were measured with both direct and zerohop", checked, len(maxRatio)))
	}
	return errors.Join(errs...)
}
