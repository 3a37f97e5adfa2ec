package harness

import (
	"context"
	"strings"
	"time"
)

// startTimeout bounds the start of a stack in a test. A module compiles in about three seconds on an idle machine.
const startTimeout = 90 * time.Second

// TB is the part of testing.TB that the harness uses.
type TB interface {
	Helper()
	Cleanup(func())
	Failed() bool
	Logf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// ForTest starts a stack for a test, or fails it. At the end of the test all processes are stopped, and their logs are
// printed if the test failed.
func ForTest(t TB, o Options) *Stack {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	s, err := Start(ctx, o)
	if err != nil {
		t.Fatalf("start stack: %v", err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			var logs strings.Builder
			s.WriteLogs(&logs)
			t.Logf("logs:\n%s", logs.String())
		}
		if err := s.Close(); err != nil {
			t.Logf("%v", err)
		}
	})
	return s
}

// ReadyWithin checks that the stack's Envoy became ready within a time. On a machine without idle CPU it only says so.
func (s *Stack) ReadyWithin(t TB, limit time.Duration) {
	t.Helper()
	switch {
	case s.readyAfter <= limit:
	case s.readyBusy:
		t.Logf("Envoy is ready after %v, which is not compared with %v: the machine is busy", s.readyAfter, limit)
	default:
		t.Fatalf("Envoy is ready after %v, want %v at most", s.readyAfter, limit)
	}
}
