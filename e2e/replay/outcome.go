package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/zerohop/zerohop/e2e/loadgen"
)

// Outcome is what one policy achieved on the trace.
type Outcome struct {
	Policy string `json:"policy"`
	// Workers is the number of Envoy's worker threads.
	Workers int `json:"workers"`
	// HitRate is cached prompt tokens ÷ all prompt tokens, by the endpoints' own counters.
	HitRate float64 `json:"hit_rate"`
	// Errors counts requests that did not end with a complete 200.
	Errors int `json:"errors"`
	// BusiestOverMean is the requests of the endpoint with the most ÷ the mean over endpoints.
	BusiestOverMean float64 `json:"busiest_over_mean"`
	// UncachedBusiestOverMean is the same for the prompt tokens that had to be computed.
	UncachedBusiestOverMean float64 `json:"uncached_busiest_over_mean"`

	report    loadgen.Report
	endpoints []counters
}

func newOutcome(policy string, report loadgen.Report, endpoints []counters) Outcome {
	var queries, hits float64
	requests, uncached := make([]float64, len(endpoints)), make([]float64, len(endpoints))
	for i, c := range endpoints {
		queries += c.queries
		hits += c.hits
		requests[i] = c.requests
		uncached[i] = c.queries - c.hits
	}
	o := Outcome{Policy: policy, Errors: report.Failed(), report: report, endpoints: endpoints}
	if queries > 0 {
		o.HitRate = hits / queries
	}
	o.BusiestOverMean = busiestOverMean(requests)
	o.UncachedBusiestOverMean = busiestOverMean(uncached)
	return o
}

// busiestOverMean returns the largest value ÷ the mean; 0 if all are 0.
func busiestOverMean(v []float64) float64 {
	var sum, most float64
	for _, x := range v {
		sum += x
		most = max(most, x)
	}
	if sum == 0 {
		return 0
	}
	return most * float64(len(v)) / sum
}

// printOutcomes writes the table for people: the JSON numbers, and the latencies in the time of the trace.
func printOutcomes(w io.Writer, speed float64, outcomes []Outcome) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "policy\tworkers\trequests\terrors\thit rate\tbusiest/mean\tuncached busiest/mean\tTTFT p50 s\tTTFT p90 s\tITL p50 ms\tlate p99 ms")
	for _, o := range outcomes {
		r := &o.report
		fmt.Fprintf(tw, "%s\t%d\t%d\t%d\t%.4f\t%.3f\t%.3f\t%.2f\t%.2f\t%.1f\t%.1f\n", o.Policy, o.Workers, len(r.Results),
			o.Errors, o.HitRate, o.BusiestOverMean, o.UncachedBusiestOverMean, r.TTFT.P(50).Seconds()*speed, r.TTFT.P(90).Seconds()*speed,
			r.ITL.P(50).Seconds()*speed*1e3, r.Late.P(99).Seconds()*1e3)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	for _, o := range outcomes {
		for kind, n := range o.report.Errors {
			fmt.Fprintf(w, "%s: %d × %s\n", o.Policy, n, kind)
		}
	}
	return nil
}

// String returns the numbers of the JSON form in one line.
func (o Outcome) String() string {
	return fmt.Sprintf("%s, %d workers: hit rate %.4f, errors %d, busiest/mean %.3f, uncached busiest/mean %.3f",
		o.Policy, o.Workers, o.HitRate, o.Errors, o.BusiestOverMean, o.UncachedBusiestOverMean)
}
