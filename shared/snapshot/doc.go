// Package snapshot is the binary form in which the agent hands all endpoints and their metrics to the filter: one immutable
// version of everything, encoded once by the agent, validated once by each worker and then read in place. The package has
// no reflection, clock, goroutine or I/O, and decoding allocates nothing.
//
// # Layout
//
// All numbers are little-endian. A snapshot is a header, then count records, then the text section.
//
//	header      offset  size  field
//	                 0     4  magic "ZHSN"
//	                 4     4  format version, 1
//	                 8     8  XXH64 (seed 0) of the bytes from offset 16 to total length
//	                16     4  total length in bytes, everything included
//	                20     2  header length, at least 40
//	                22     2  record length, at least 64
//	                24     4  count of records
//	                28     4  text section length in bytes
//	                32     8  snapshot version, chosen by the agent
//
//	record      offset  size  field
//	                 0     8  id, non-zero, strictly ascending from record to record
//	                 8     4  address: offset into the text section
//	                12     4  name: offset into the text section
//	                16     2  address length in bytes
//	                18     2  name length in bytes
//	                20     2  flags
//	                22     2  zero
//	                24     4  scrape age in ms when encoded; 0xFFFFFFFF if never scraped
//	                28     4  scrape sequence number
//	                32     4  waiting requests
//	                36     4  running requests
//	                40     4  KV usage, IEEE 754 binary32, finite
//	                44     4  engine block size in tokens, 0 if not reported
//	                48     4  engine blocks, 0 if not reported
//	                52    12  zero
//
// Records begin at header length, the text section at header length + count × record length.
//
// # Delta
//
// Where the endpoints stay the same, a delta turns one snapshot, its base, into another. It is a header, then count
// changes in ascending order of index. Ages grow alike in all records that were not scraped in between, hence the shift.
//
//	header      offset  size  field
//	                 0     4  magic "ZHSD"
//	                 4     4  format version, 1
//	                 8     8  XXH64 (seed 0) of the bytes from offset 16 to total length
//	                16     4  total length in bytes, everything included
//	                20     2  header length, at least 72
//	                22     2  patch offset within a record, at least 20: a delta changes no id, name or address
//	                24     4  count of changes
//	                28     2  patch length
//	                30     2  zero
//	                32     8  version of the base
//	                40     8  XXH64 of the base, as in its header
//	                48     8  version of the result
//	                56     8  XXH64 of the result, as in its header
//	                64     4  shift in ms
//	                68     4  zero
//
//	change      offset  size  field
//	                 0     4  index of the record
//	                 4     …  patch: the record's bytes from patch offset on
//
// The result is the base with version and XXH64 replaced, shift added to the age of every scraped record (at most up to
// 0xFFFFFFFE), and then the patches copied in. Everything else is the same in both. A reader compares the XXH64 at the end.
//
// New fields go to the end of the header or of the record, new sections after the text section: a reader uses the lengths
// and skips what it does not know, and takes reserved bytes and unknown flags as they come. A change that an old reader
// would misread gets a new format version, and with it a new shared-data key (package names).
package snapshot
