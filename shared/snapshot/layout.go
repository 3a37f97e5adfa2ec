package snapshot

import "math"

// The first four bytes of every snapshot and of every delta.
const (
	Magic      = "ZHSN"
	MagicDelta = "ZHSD"
)

// Offsets of the header's fields, see the package doc.
const (
	offFormat    = 4
	offChecksum  = 8
	offTotal     = 16 // the checksum covers everything from here
	offHeaderLen = 20
	offRecordLen = 22
	offCount     = 24
	offTextLen   = 28
	offVersion   = 32
	headerLen    = 40
	// Only where a snapshot carries facts.
	offFactsLen   = 40
	offPlaces     = 44
	offAttributes = 46
	factsHeader   = 48
)

// Offsets of a record's fields.
const (
	recID        = 0
	recAddrOff   = 8
	recNameOff   = 12
	recAddrLen   = 16
	recNameLen   = 18
	recFlags     = 20
	recAgeMs     = 24
	recSeq       = 28
	recWaiting   = 32
	recRunning   = 36
	recKVUsage   = 40
	recBlockSize = 44
	recNumBlocks = 48
	recMaxLoRA   = 52
	recActive    = 54
	recPending   = 55
	recordLen    = 64
)

// Offsets in the facts section, see the package doc.
const (
	facSum       = 0
	facLabels    = 8
	facStride    = 10
	facKeysLen   = 12
	facValuesLen = 16
	facSetsLen   = 20
	facHeader    = 24
	facRank      = 0 // in the facts of one endpoint
	facFlags     = 2
	facModels    = 4
	facValues    = 8
	facNone      = math.MaxUint32
)

// facAsked is a flag in the facts of one endpoint: somebody asks endpoints for their models.
const facAsked = 1

// Offsets of the fields of a delta's header that a snapshot's header has not.
const (
	delPatchOff = 22
	delCount    = 24
	delPatchLen = 28
	delBase     = 32
	delBaseSum  = 40
	delVersion  = 48
	delSum      = 56
	delShift    = 64
	delHeader   = 72
)

// The part of a record that a delta can change, and the length of the index before it in a change. Where records are longer
// than recordLen, a delta can change all of the rest.
const (
	patchOff = recFlags
	patchLen = recNumBlocks + 4 - patchOff
	indexLen = 4
)
