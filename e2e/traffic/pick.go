package traffic

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/zerohop/zerohop/e2e/harness"
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

// ParsePick reads the pick field of the access log. All parts but the id are required.
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

// Entry waits for the access log entry of a request.
func (b *Bed) Entry(t *testing.T, id string) harness.AccessEntry {
	t.Helper()
	var found harness.AccessEntry
	Until(t, "access log entry of request "+id, func() error {
		entries, err := b.Envoy.AccessLog()
		if err != nil {
			return err
		}
		for _, e := range entries {
			if strings.HasSuffix(e.String("path"), "?id="+id) {
				found = e
				return nil
			}
		}
		return fmt.Errorf("not among %d", len(entries))
	})
	return found
}

// Pick waits for the access log entry of a request and returns its pick.
func (b *Bed) Pick(t *testing.T, id string) Pick {
	t.Helper()
	p, err := ParsePick(b.Entry(t, id).String("pick"))
	if err != nil {
		t.Fatalf("request %s: %v", id, err)
	}
	return p
}
