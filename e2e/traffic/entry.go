package traffic

import (
	"fmt"
	"strings"
	"testing"

	"github.com/zerohop/zerohop/e2e/harness"
	"github.com/zerohop/zerohop/e2e/replay/accesslog"
)

// Pick is what the access log says about one decision.
type Pick = accesslog.Pick

// ParsePick reads the pick field of the access log.
func ParsePick(s string) (Pick, error) { return accesslog.ParsePick(s) }

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
