package snapshot

// Magic is the first four bytes of every snapshot.
const Magic = "ZHSN"

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
