package report

import (
	"encoding/binary"
	"errors"

	"github.com/cespare/xxhash/v2"
)

// FormatVersion is the format version of records and reports that this package reads and writes.
const FormatVersion = 1

// Bounds of what is read and written.
const (
	MaxReport    = 1 << 20 // bytes of a report; AppendReport leaves records out rather than exceed it
	MaxEndpoints = 1 << 14 // endpoints of a record
	MaxReasons   = 64
	MaxReason    = 64 // bytes of a reason's name
)

// Flags of a Worker.
const (
	// Leading workers gather the records and poll the agent.
	Leading uint16 = 1 << 0
)

// Flags of an Endpoint.
const (
	// CoolingDown endpoints failed lately; the worker avoids them for a while.
	CoolingDown uint16 = 1 << 0
)

// Why a record or a report is refused; compare with errors.Is.
var (
	ErrTruncated = errors.New("truncated")
	ErrMagic     = errors.New("wrong magic")
	ErrVersion   = errors.New("unknown format version")
	ErrChecksum  = errors.New("checksum mismatch")
	ErrLength    = errors.New("lengths contradict each other")
	ErrTooLarge  = errors.New("too large for the format")
	ErrID        = errors.New("id or epoch is zero")
	ErrReason    = errors.New("name of a reason is empty, too long or not of a-z, 0-9 and underscore")
)

// Worker is what a worker's VM says of itself. Counts are cumulative since the VM began.
type Worker struct {
	Epoch            uint64 // identifies the VM, non-zero; a rebuilt VM has another one
	Revision         uint64 // of the plan in force (plan.Plan.RevisionID)
	Snapshot         uint64 // version of the snapshot in use, 0 if none
	At               uint64 // monotonic nanoseconds at which the record was written
	PlanMin, PlanMax uint16 // plan versions that the module reads
	Number           uint16 // leased number of the worker
	Flags            uint16 // Leading …
	Picks            uint64
	Retries          uint64 // attempts after the first
	Failures         uint64 // attempts that failed
}

// Endpoint is what a worker says of one endpoint. Picks, fallbacks and failures are cumulative since the VM began.
type Endpoint struct {
	ID             uint64 // snapshot.EndpointID, non-zero
	InFlight       uint32
	InFlightTokens uint64
	Picks          uint64
	Fallbacks      uint64 // picks for another reason than a score
	Failures       uint64
	Flags          uint16 // CoolingDown …
}

// Fallback is the count of requests that one reason kept from being scored.
type Fallback struct {
	Name  string
	Count uint64
}

// ValidReason reports whether name can stand in a report. Names become label values of metrics.
func ValidReason(name []byte) bool {
	if len(name) == 0 || len(name) > MaxReason {
		return false
	}
	for _, c := range name {
		if c != '_' && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// seal writes what records and reports have in common and, at last, the checksum.
func seal(b []byte, magic string, headerLen int) {
	copy(b, magic)
	h, le := b[:offHeaderLen+2], binary.LittleEndian
	le.PutUint32(h[offFormat:], FormatVersion)
	le.PutUint32(h[offTotal:], uint32(len(b)))
	le.PutUint16(h[offHeaderLen:], uint16(headerLen))
	le.PutUint64(h[offChecksum:], xxhash.Sum64(b[offTotal:]))
}

// unseal checks what seal wrote and returns the length of the header, which is at least least and at most len(b).
func unseal(b []byte, magic string, least int) (headerLen int, err error) {
	if len(b) < least {
		if n := min(len(b), len(magic)); string(b[:n]) != magic[:n] {
			return 0, ErrMagic
		}
		return 0, ErrTruncated
	}
	if string(b[:len(magic)]) != magic {
		return 0, ErrMagic
	}
	h, le := b[:offHeaderLen+2], binary.LittleEndian
	if le.Uint32(h[offFormat:]) != FormatVersion {
		return 0, ErrVersion
	}
	total := uint64(le.Uint32(h[offTotal:]))
	if uint64(len(b)) < total {
		return 0, ErrTruncated
	}
	if uint64(len(b)) != total {
		return 0, ErrLength
	}
	if le.Uint64(h[offChecksum:]) != xxhash.Sum64(b[offTotal:]) {
		return 0, ErrChecksum
	}
	headerLen = int(le.Uint16(h[offHeaderLen:]))
	if headerLen < least || headerLen > len(b) {
		return 0, ErrLength
	}
	return headerLen, nil
}
