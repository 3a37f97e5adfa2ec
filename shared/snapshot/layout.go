package snapshot

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
	recordLen    = 64
)

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

// The part of a record that a delta can change, and the length of the index before it in a change.
const (
	patchOff = recFlags
	patchLen = recNumBlocks + 4 - patchOff
	indexLen = 4
)
