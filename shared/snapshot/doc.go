// Package snapshot is the binary form in which the agent hands all endpoints and their metrics to the filter: one immutable
// version of everything, encoded once by the agent, validated once by each worker and then read in place. The package has
// no reflection, clock, goroutine or I/O, and decoding allocates nothing.
//
// # Layout
//
// All numbers are little-endian. A snapshot is a header, then count records, then the text section, then the facts section.
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
//	                40     4  facts section length in bytes, 0 if there is none
//	                44     2  adapter places per record
//	                46     2  attributes per record
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
//	                52     2  adapters that fit into the engine at once
//	                54     1  adapters in use
//	                55     1  adapters that requests wait for
//	                56     8  zero
//	                64     …  adapter places: XXH64 of the name of each adapter in use, then of each that is waited for, then zero
//	                 …     …  attributes: IEEE 754 binary64 each, NaN if the endpoint has none
//
// Records begin at header length, the text section at header length + count × record length. A header of less than 48 bytes
// means that there are no facts, places and attributes; records have 64 bytes then, and the bytes from 52 on mean nothing.
// Those from 52 to 55 mean something only with the flag HasLoRA.
//
// # Facts
//
// The facts section holds what changes seldom: labels, data-parallel ranks and served models. Only label keys and attributes
// that a plugin reads are carried. It is a header, the keys, the values, the sets, and one row for each record, in order.
//
//	header      offset  size  field
//	                 0     8  XXH64 (seed 0) of the rest of the section: equal sums, equal facts
//	                 8     2  count of label keys, at most 32
//	                10     2  row length, at least 8 + 4 × count of label keys
//	                12     4  length of the keys in bytes
//	                16     4  length of the values in bytes
//	                20     4  length of the sets in bytes
//
//	keys        label keys, then attribute keys: length (2) and 1 to 317 bytes each
//	values      label values: length (2) and at most 253 bytes each
//	sets        sets of served models: count (2), at most 1024, and XXH64 (8) of each name, ascending
//
//	row         offset  size  field
//	                 0     2  data-parallel rank
//	                 2     2  flags: 1 somebody asks endpoints for their models
//	                 4     4  models: offset into the sets, 0xFFFFFFFF if they are not known
//	                 8     …  for each label key (4): offset into the values, 0xFFFFFFFF if the endpoint has no such label
//
// # Delta
//
// Where the endpoints and their facts stay the same, a delta turns one snapshot, its base, into another. It is a header, then count
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
// New fields go to the end of the header or of the record, new sections after the last one: a reader uses the lengths
// and skips what it does not know, and takes reserved bytes and unknown flags as they come. A change that an old reader
// would misread gets a new format version, and with it a new shared-data key (package names).
package snapshot
