package names

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestHeaders(t *testing.T) {
	headers := []string{
		HeaderDestination, HeaderDestinationSubset, HeaderDestinationServed, HeaderFallback, HeaderDropReason, HeaderNode, HeaderModule,
		HeaderExplain, HeaderProfile, HeaderCandidates, HeaderFiltered, HeaderScore, HeaderInputs, HeaderMatch, HeaderPick,
	}
	headers = append(headers, SystemOwned[:]...)
	for _, h := range headers {
		t.Run(h, func(t *testing.T) {
			// Envoy stores names in lower case and compares them byte by byte.
			if !regexp.MustCompile(`^x-[a-z0-9]+(-[a-z0-9]+)*$`).MatchString(h) {
				t.Errorf("%q is not a lower-case extension header", h)
			}
		})
	}
	if got := slices.Compact(slices.Sorted(slices.Values(headers))); len(got) != len(headers) {
		t.Errorf("%d headers, %d distinct names", len(headers), len(got))
	}
}

// TestStripped keeps every request header that steers on the list of those that a client cannot send. The drop reason
// stands in responses only.
func TestStripped(t *testing.T) {
	want := []string{
		HeaderDestination, HeaderDestinationSubset, HeaderDestinationServed, HeaderFallback, HeaderRetryOn, HeaderFirstByte,
		"x-envoy-retry-grpc-on", "x-envoy-retriable-status-codes", "x-envoy-retriable-header-names", "x-envoy-max-retries",
		"x-envoy-hedge-on-per-try-timeout", "x-envoy-upstream-rq-timeout-ms",
	}
	got := slices.Sorted(slices.Values(Stripped[:]))
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("Stripped is %q, want %q", got, want)
	}
}

func TestSharedDataKeys(t *testing.T) {
	keys := []string{
		KeySnapshot, KeySnapshotVersion, KeyLeader, KeyConfirmed, KeyProcess, KeyWorker(0), KeyWorker(MaxWorkers - 1), KeyLoad(7), KeyDump(12),
		KeyDumper, KeyDumpDirectory, KeyRoll, KeyLog(0, 0), KeyLog(31, LogSlots-1),
	}
	for _, key := range keys {
		t.Run(key, func(t *testing.T) {
			// Shared data has no delete: another format needs another key.
			if !regexp.MustCompile(`^zerohop\.[a-z_]+(\.[0-9]+(\.[0-9a-f]{2})?)?\.v[1-9][0-9]*$`).MatchString(key) {
				t.Errorf("%q is not zerohop.NAME.vN, zerohop.NAME.NUMBER.vN or zerohop.NAME.NUMBER.SLOT.vN", key)
			}
		})
	}
}

func TestLogKeys(t *testing.T) {
	for _, i := range []int{0, 10, MaxWorkers - 1} {
		all := LogKeys(i)
		n := len(all) / LogSlots
		for k := range LogSlots {
			if got, want := all[k*n:][:n], KeyLog(i, k); got != want {
				t.Fatalf("worker %d: key %d is %s, want %s", i, k, got, want)
			}
		}
	}
}

func TestFilterStateKeys(t *testing.T) {
	for _, key := range []string{StatePick, StateChain} {
		if !strings.HasPrefix(key, "zerohop.") {
			t.Errorf("%q lacks the prefix zerohop.", key)
		}
	}
	if RootDownstream == RootAttempt {
		t.Error("both root ids are the same")
	}
	if !strings.HasPrefix(PathSnapshot, "/v1/") {
		t.Errorf("%q lacks the API version", PathSnapshot)
	}
}
