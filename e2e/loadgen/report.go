package loadgen

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Report sums up a run.
type Report struct {
	Results []Result // in order of completion
	Length  time.Duration

	TTFT Sample // of requests without error
	ITL  Sample // all gaps of all streams
	TPOT Sample // one value per request
	E2E  Sample
	Late Sample // open loop: how late requests were sent

	Errors       map[string]int // by status, or by kind of transport error
	PromptTokens int
	CachedTokens int
	OutputTokens int
}

func newReport(results []Result, length time.Duration) Report {
	r := Report{Results: results, Length: length, Errors: map[string]int{}}
	for i := range results {
		res := &results[i]
		r.Late.add(res.Late)
		if res.Err != nil {
			r.Errors[errorKind(res)]++
			continue
		}
		r.TTFT.add(res.TTFT)
		r.E2E.add(res.E2E)
		if t := res.TPOT(); t > 0 {
			r.TPOT.add(t)
		}
		r.ITL.v = append(r.ITL.v, res.Gaps...)
		r.PromptTokens += res.PromptTokens
		r.CachedTokens += res.CachedTokens
		r.OutputTokens += res.OutputTokens
	}
	for _, s := range []*Sample{&r.TTFT, &r.ITL, &r.TPOT, &r.E2E, &r.Late} {
		slices.Sort(s.v)
	}
	return r
}

func errorKind(r *Result) string {
	if r.Status != 0 && r.Status/100 != 2 {
		return "status " + strconv.Itoa(r.Status)
	}
	msg := r.Err.Error()
	if i := strings.LastIndex(msg, ": "); i >= 0 {
		msg = msg[i+2:] // addresses in front of the reason would make every error its own kind
	}
	return msg
}

// Failed returns how many requests ended in an error.
func (r *Report) Failed() int {
	n := 0
	for _, c := range r.Errors {
		n += c
	}
	return n
}

// Rate returns the finished requests per second of the whole run, errors included.
func (r *Report) Rate() float64 {
	if r.Length <= 0 {
		return 0
	}
	return float64(len(r.Results)) / r.Length.Seconds()
}

// WriteTo prints the report for people.
func (r *Report) WriteTo(w io.Writer) (int64, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "requests %d, failed %d, %.1f/s over %.1f s; tokens: prompt %d (cached %d), output %d\n",
		len(r.Results), r.Failed(), r.Rate(), r.Length.Seconds(), r.PromptTokens, r.CachedTokens, r.OutputTokens)
	for _, row := range []struct {
		name string
		s    *Sample
	}{{"TTFT", &r.TTFT}, {"ITL", &r.ITL}, {"TPOT", &r.TPOT}, {"E2E", &r.E2E}, {"late", &r.Late}} {
		if row.s.Len() > 0 {
			fmt.Fprintf(&b, "%-5s mean %s  p50 %s  p90 %s  p95 %s  p99 %s  max %s (ms, n=%d)\n", row.name, ms(row.s.Mean()),
				ms(row.s.P(50)), ms(row.s.P(90)), ms(row.s.P(95)), ms(row.s.P(99)), ms(row.s.P(100)), row.s.Len())
		}
	}
	for kind, n := range r.Errors {
		fmt.Fprintf(&b, "error %q: %d\n", kind, n)
	}
	n, err := io.WriteString(w, b.String())
	return int64(n), err
}

func ms(d time.Duration) string { return strconv.FormatFloat(float64(d)/1e6, 'f', 3, 64) }

// Sample is a set of durations, sorted once the report is made.
type Sample struct{ v []time.Duration }

func (s *Sample) add(d time.Duration) { s.v = append(s.v, d) }

// Len returns the number of values.
func (s *Sample) Len() int { return len(s.v) }

// P returns the p-th percentile (0 to 100) by nearest rank; 0 if there are no values.
func (s *Sample) P(p float64) time.Duration {
	n := len(s.v)
	if n == 0 {
		return 0
	}
	rank := int(p/100*float64(n)+0.9999999) - 1
	return s.v[min(max(rank, 0), n-1)]
}

// Mean returns the arithmetic mean; 0 if there are no values.
func (s *Sample) Mean() time.Duration {
	if len(s.v) == 0 {
		return 0
	}
	var sum float64
	for _, d := range s.v {
		sum += float64(d)
	}
	return time.Duration(sum / float64(len(s.v)))
}
