package report

// The first four bytes of a record and of a report.
const (
	MagicRecord = "ZHRW"
	MagicReport = "ZHRP"
)

// What records and reports have in common, see the package doc.
const (
	offFormat    = 4
	offChecksum  = 8
	offTotal     = 16 // the checksum covers everything from here
	offHeaderLen = 20
)

// Offsets of the fields of a record's header.
const (
	recEndpointLen = 22
	recCount       = 24
	recFallbacks   = 28
	recFlags       = 30
	recEpoch       = 32
	recAt          = 40
	recRevision    = 48
	recSnapshot    = 56
	recPicks       = 64
	recRetries     = 72
	recFailures    = 80
	recPlanMin     = 88
	recPlanMax     = 90
	recNumber      = 92
	recHeaderLen   = 96
)

// Offsets of an endpoint's fields.
const (
	epID        = 0
	epTokens    = 8
	epPicks     = 16
	epFallbacks = 24
	epFailures  = 32
	epInFlight  = 40
	epFlags     = 44
	epLen       = 48
)

// fallbackLen is the length of a fallback counter.
const fallbackLen = 8

// Offsets of the fields of a report's header.
const (
	repReasons    = 22
	repRecords    = 24
	repReasonsLen = 28
	repProcess    = 32
	repHeaderLen  = 40
)

// Offsets in what precedes each record of a report.
const (
	entryAgeMs  = 0
	entryLength = 4
	entryLen    = 8
)
