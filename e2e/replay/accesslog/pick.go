package accesslog

import (
	"fmt"
	"strconv"
	"strings"
)

// Pick is what the access log says about one decision.
type Pick struct {
	Endpoint   string // ip:port; "-" if there is none
	Matched    int    // blocks
	Total      int    // blocks
	Attempts   int
	DecisionUs int
	Reason     string
	Profile    string // "-" if none ran
	Candidates int    // endpoints before the filters
	Left       int    // and after them
	Model      string // escaped as in a URL; "-" if it is unknown
	Tokens     int    // of the prompt, estimated
	Block      int    // tokens per prefix block
	Universal  int    // leading blocks that are not in Total, since everyone sends them
	ID         string // by which the attempt filter finds its stream; means nothing outside Envoy
}

// ParsePick reads the pick field of the access log. All parts but the id are required; unknown ones are an error.
func ParsePick(s string) (Pick, error) {
	var p Pick
	numbers := map[string]*int{
		"matched": &p.Matched, "total": &p.Total, "attempts": &p.Attempts, "decision_us": &p.DecisionUs,
		"candidates": &p.Candidates, "left": &p.Left, "tokens": &p.Tokens, "block": &p.Block, "universal": &p.Universal,
	}
	texts := map[string]*string{
		"endpoint": &p.Endpoint, "reason": &p.Reason, "profile": &p.Profile, "model": &p.Model, "id": &p.ID,
	}
	seen := map[string]bool{}
	for part := range strings.FieldsSeq(s) {
		key, value, _ := strings.Cut(part, "=")
		if value == "" || seen[key] {
			return p, fmt.Errorf("pick %q: %q has no value or stands twice", s, key)
		}
		seen[key] = true
		switch n := numbers[key]; {
		case texts[key] != nil:
			*texts[key] = value
		case n == nil:
			return p, fmt.Errorf("pick %q: unknown part %q", s, key)
		default:
			v, err := strconv.Atoi(value)
			if err != nil || v < 0 {
				return p, fmt.Errorf("pick %q: %s is not a count", s, key)
			}
			*n = v
		}
	}
	for _, key := range []string{"endpoint", "matched", "total", "attempts", "decision_us", "reason", "profile", "candidates", "left", "model", "tokens", "block", "universal"} {
		if !seen[key] {
			return p, fmt.Errorf("pick %q: %s is missing", s, key)
		}
	}
	return p, nil
}
