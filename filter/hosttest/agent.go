package hosttest

import (
	"slices"
	"strconv"
	"strings"

	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/snapshot"
)

// Agent answers polls as the companion agent does: at once if the version differs, else never before the poll's timeout.
type Agent struct {
	Version uint64
	Blob    []byte // the encoded snapshot of that version
	Down    bool   // connections are refused: Envoy answers 503
	Polls   int    // answers given, 503 included

	// NotModifiedAfterMs, if not 0, ends a poll that waited for this long with 304.
	NotModifiedAfterMs uint64
	// OnPoll, if set, sees each poll once, with its report.
	OnPoll func(c *Call)
	// Deltas answers a poll that has the version before the newest one with a delta where one pays; DeltasSent counts them.
	Deltas     bool
	DeltasSent int

	baseVersion uint64
	base        []byte
	delta       []byte
	seen        uint32 // token of the last poll that OnPoll saw
	seenBy      *Worker
}

// Publish replaces the snapshot.
func (a *Agent) Publish(version uint64, blob []byte) {
	a.baseVersion, a.base = a.Version, a.Blob
	a.Version, a.Blob = version, blob
}

// serve answers what waits. A poll that an answer provokes waits for the next round.
func (a *Agent) serve(w *Worker) {
	for _, c := range slices.Clone(w.calls) {
		if a.OnPoll != nil && (a.seen != c.Token || a.seenBy != w) {
			a.seen, a.seenBy = c.Token, w
			a.OnPoll(&c)
		}
		if status, body := a.answer(w, &c); status != 0 {
			a.Polls++
			w.Answer(c.Token, status, body)
		}
	}
}

// answer returns status 0 if the call has to wait.
func (a *Agent) answer(w *Worker, c *Call) (int, []byte) {
	have, ok := strings.CutPrefix(c.Path, names.PathSnapshot+"?v=")
	version, err := strconv.ParseUint(have, 10, 64)
	switch {
	case a.Down:
		return 503, nil
	case !ok || err != nil:
		w.p.Fault("agent: unexpected path %s", c.Path)
		return 404, nil
	case a.Blob != nil && version != a.Version:
		return 200, a.blobFor(version)
	case a.NotModifiedAfterMs != 0 && w.p.now-c.startNs >= a.NotModifiedAfterMs*1e6:
		return 304, nil
	}
	return 0, nil
}

// blobFor returns what brings a poller with this version up to date.
func (a *Agent) blobFor(version uint64) []byte {
	if !a.Deltas || version != a.baseVersion || a.base == nil {
		return a.Blob
	}
	delta, ok := snapshot.AppendDelta(a.delta[:0], a.base, a.Blob)
	if !ok {
		return a.Blob
	}
	a.delta = delta
	a.DeltasSent++
	return delta
}
