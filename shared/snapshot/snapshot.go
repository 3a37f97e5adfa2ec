package snapshot

import (
	"errors"
	"math"
	"strconv"

	"github.com/cespare/xxhash/v2"
)

// FormatVersion is the format version that this package reads and writes.
const FormatVersion = 1

// NeverScraped in Endpoint.ScrapeAgeMs says that no scrape has succeeded yet.
const NeverScraped = ^uint32(0)

// Flags of an Endpoint.
const (
	// Draining endpoints get no new requests.
	Draining uint16 = 1 << 0
	// LoRACut says that the engine has more adapters than a record has room for.
	LoRACut uint16 = 1 << 1
	// HasLoRA says that the engine has told of its adapters, of which it may have none.
	HasLoRA uint16 = 1 << 2
)

// Why a snapshot is refused. Open and Append wrap them with the endpoint concerned; compare with errors.Is.
var (
	ErrTruncated = errors.New("truncated")
	ErrMagic     = errors.New("not a snapshot: wrong magic")
	ErrVersion   = errors.New("unknown format version")
	ErrChecksum  = errors.New("checksum mismatch")
	ErrLength    = errors.New("lengths contradict each other")
	ErrTooLarge  = errors.New("too large for the format")
	ErrID        = errors.New("id is zero, repeated or out of order")
	ErrAddress   = errors.New("address is not a canonical ip:port")
	ErrName      = errors.New("name is too long, has control characters or is outside the text section")
	ErrKVUsage   = errors.New("kv usage is not finite")
	ErrFacts     = errors.New("facts contradict each other or exceed their bounds")
)

// Endpoint is one endpoint of a snapshot: what discovery knows and the newest scraped metrics.
type Endpoint struct {
	ID          uint64  // EndpointID(Name, Address)
	Name        []byte  // namespace/name; see ValidName
	Address     []byte  // ip:port in canonical form, see ValidAddress
	Flags       uint16  // Draining …; AppendExtras sets those about LoRA
	ScrapeAgeMs uint32  // age of the metrics when the snapshot was encoded; NeverScraped if there are none
	ScrapeSeq   uint32  // counts successful scrapes of this endpoint, so that a reader knows which picks a scrape has seen
	Waiting     uint32  // requests that wait in the engine
	Running     uint32  // requests that run in the engine
	KVUsage     float32 // share of KV blocks in use, 0..1
	BlockSize   uint32  // engine KV block size in tokens; 0 if not reported
	NumBlocks   uint32  // engine KV blocks; 0 if not reported
}

// EndpointID returns the identity of an endpoint: XXH64(name ‖ 0x00 ‖ address), with 1 in place of 0. An endpoint that
// comes back under the same name and address is the same endpoint.
func EndpointID(name, address []byte) uint64 {
	var d xxhash.Digest
	d.Reset()
	_, _ = d.Write(name)
	_, _ = d.Write([]byte{0})
	_, _ = d.Write(address)
	if id := d.Sum64(); id != 0 {
		return id
	}
	return 1
}

// endpointError says which endpoint of a snapshot an error is about.
type endpointError struct {
	index int // position in the snapshot or in the slice given to Append
	err   error
}

func (e *endpointError) Error() string {
	return "endpoint " + strconv.Itoa(e.index) + ": " + e.err.Error()
}

func (e *endpointError) Unwrap() error { return e.err }

// check returns the reason why e cannot stand in a snapshot, or nil. Order of ids is the caller's matter.
func (e *Endpoint) check() error {
	switch {
	case e.ID == 0:
		return ErrID
	case !ValidAddress(e.Address):
		return ErrAddress
	case !ValidName(e.Name):
		return ErrName
	case e.KVUsage-e.KVUsage != 0: // NaN or infinite
		return ErrKVUsage
	}
	return nil
}

// MaxName is the longest name of an endpoint in bytes.
const MaxName = math.MaxUint16

// ValidName reports whether name can stand in a snapshot: at most MaxName bytes without control characters, because names
// end up in access logs and on pages.
func ValidName(name []byte) bool {
	for _, c := range name {
		if c < ' ' || c == 0x7F {
			return false
		}
	}
	return len(name) <= MaxName
}
