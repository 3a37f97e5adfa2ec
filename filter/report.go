package filter

import (
	"encoding/binary"
	"strconv"
	"unicode/utf8"

	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/shared/report"
)

// Module is the value of names.HeaderModule in every poll.
var Module = "plan " + strconv.Itoa(plan.MinVersion) + "-" + strconv.Itoa(plan.Version)

// Prefer is the value of names.HeaderPrefer in every poll. A report travels with the next poll only, so that none may wait
// much longer than a record lives.
const Prefer = "wait=2"

// maxNodeID bounds the node id that is sent.
const maxNodeID = 256

// gatherer makes the report of the process from the records in shared data.
type gatherer struct {
	process uint64 // 0 while unknown
	node    []byte
	from    int // number to begin the next report with
	sentAt  uint64

	bytes   []byte   // the records, one after the other
	ends    []int    // where each ends
	numbers []int    // worker number of each
	records [][]byte // views of bytes
	body    []byte
}

// nodeID returns Envoy's node id as it can stand in a header. It is read once.
func (v *VM) nodeID() []byte {
	g := &v.worker.gather
	if len(g.node) == 0 {
		g.node = appendNodeID(g.node, v.host.Property(names.PropertyNodeID))
	}
	return g.node
}

// appendNodeID appends as many characters of id to dst as may be sent. What is not printable becomes an underscore: no
// snapshot is to be missing because of a node's name.
func appendNodeID(dst, id []byte) []byte {
	limit := len(dst) + maxNodeID
	for len(id) > 0 {
		c, n := utf8.DecodeRune(id)
		if len(dst)+n > limit {
			break
		}
		id = id[n:]
		if !strconv.IsPrint(c) || c == utf8.RuneError {
			c = '_'
		}
		dst = utf8.AppendRune(dst, c)
	}
	return dst
}

// report returns the body of the next poll: the records of all live workers, or nothing if the last report is fresh. The
// result is valid until the next call.
func (v *VM) report(now uint64) []byte {
	g := &v.worker.gather
	if now-g.sentAt < recordEveryNs && g.sentAt != 0 || !v.processID() {
		return nil
	}
	v.gatherRecords(now)
	body, taken, err := report.AppendReport(g.body[:0], g.process, now, reasonNames[1:], g.records)
	if err != nil {
		return nil
	}
	g.body, g.sentAt = body, now
	g.from = 0
	if taken < len(g.records) {
		g.from = g.numbers[taken] // the others get their turn
	}
	return body
}

// gatherRecords copies the live records, beginning with number from, until they are more than a report can have.
func (v *VM) gatherRecords(now uint64) {
	r := &v.worker
	g := &r.gather
	v.countWorkers()
	g.bytes, g.ends, g.numbers = g.bytes[:0], g.ends[:0], g.numbers[:0]
	for i := 0; i < r.workers && len(g.bytes) < report.MaxReport; i++ {
		n := (g.from + i) % r.workers
		b, _ := v.host.Shared(r.key(n))
		if epoch, at := recordOwner(b); epoch == 0 || now > at+recordLifeNs {
			continue
		}
		g.bytes = append(g.bytes, b...)
		g.ends, g.numbers = append(g.ends, len(g.bytes)), append(g.numbers, n)
	}
	g.records = g.records[:0]
	start := 0
	for _, end := range g.ends {
		g.records = append(g.records, g.bytes[start:end])
		start = end
	}
}

// processID finds or makes the number of this process in shared data, and reports whether it is known.
func (v *VM) processID() bool {
	g := &v.worker.gather
	if g.process != 0 {
		return true
	}
	b, cas := v.host.Shared(names.KeyProcess)
	if cas == 0 {
		var id [8]byte
		binary.LittleEndian.PutUint64(id[:], v.epoch)
		v.host.SetShared(names.KeyProcess, id[:], noToken)
		b, _ = v.host.Shared(names.KeyProcess)
	}
	if len(b) == 8 {
		g.process = binary.LittleEndian.Uint64(b)
	}
	return g.process != 0
}
