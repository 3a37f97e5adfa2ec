package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"sort"
	"strings"
)

// Stats are Envoy's counters and gauges by name.
type Stats map[string]float64

// Stats returns the counters and gauges whose names match the regular expression filter; empty means all.
func (e *Envoy) Stats(ctx context.Context, filter string) (Stats, error) {
	b, err := e.AdminGet(ctx, "/stats?format=json&filter="+url.QueryEscape(filter))
	if err != nil {
		return nil, fmt.Errorf("read stats of %s: %w", e.Name(), err)
	}
	s, err := parseStats(b)
	if err != nil {
		return nil, fmt.Errorf("read stats of %s: %w", e.Name(), err)
	}
	return s, nil
}

// parseStats reads the answer of /stats?format=json. Histograms and text readouts have no single number: left out.
func parseStats(b []byte) (Stats, error) {
	var doc struct {
		Stats []struct {
			Name  string          `json:"name"`
			Value json.RawMessage `json:"value"`
		} `json:"stats"`
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		return nil, fmt.Errorf("decode stats: %w", err)
	}
	s := Stats{}
	for _, v := range doc.Stats {
		var n float64
		if v.Name != "" && json.Unmarshal(v.Value, &n) == nil {
			s[v.Name] = n
		}
	}
	return s, nil
}

// Sum adds up all values whose names contain every one of parts.
func (s Stats) Sum(parts ...string) float64 {
	var sum float64
	for name, v := range s {
		if containsAll(name, parts) {
			sum += v
		}
	}
	return sum
}

func containsAll(s string, parts []string) bool {
	for _, p := range parts {
		if !strings.Contains(s, p) {
			return false
		}
	}
	return true
}

// String lists the values that are not zero, one per line, sorted by name.
func (s Stats) String() string {
	lines := make([]string, 0, len(s))
	for name, v := range s {
		if v != 0 {
			lines = append(lines, fmt.Sprintf("%s: %g", name, v))
		}
	}
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}
