// Package report is the binary form in which filters tell the agent what they did. A worker writes its record, its
// identity, its numbers per endpoint and its fallback counts, into shared data; the leader copies the records of all workers
// into one report, the body of its long poll. Per-endpoint numbers thus never become Envoy stats. The package has no
// reflection, clock, goroutine or I/O; encoding into a buffer that is large enough and reading allocate nothing.
//
// # Record
//
// All numbers are little-endian. A record is a header, then count endpoints, then the fallback counters. Sixteen endpoints
// and fifteen counters take 984 bytes.
//
//	header      offset  size  field
//	                 0     4  magic "ZHRW"
//	                 4     4  format version, 1
//	                 8     8  XXH64 (seed 0) of the bytes from offset 16 to total length
//	                16     4  total length in bytes, everything included
//	                20     2  header length, at least 96
//	                22     2  endpoint length, at least 48
//	                24     4  count of endpoints
//	                28     2  count of fallback counters
//	                30     2  flags
//	                32     8  epoch of the VM, non-zero
//	                40     8  monotonic nanoseconds at which the record was written
//	                48     8  revision of the plan in force
//	                56     8  version of the snapshot in use, 0 if none
//	                64     8  picks
//	                72     8  retries
//	                80     8  failures
//	                88     2  lowest plan version that the module reads
//	                90     2  highest plan version that the module reads
//	                92     2  number of the worker
//	                94     2  zero
//
//	endpoint    offset  size  field
//	                 0     8  id, non-zero
//	                 8     8  in-flight tokens
//	                16     8  picks
//	                24     8  fallbacks
//	                32     8  failures
//	                40     4  in-flight requests
//	                44     2  flags
//	                46     2  zero
//
// Endpoints begin at header length and stand in any order; an id stands once. Fallback counters of 8
// bytes each begin at header length + count × endpoint length. Their names are those of the report: the list of names only
// ever grows at its end, so that a record of an older module has a beginning of it.
//
// # Report
//
//	header      offset  size  field
//	                 0     4  magic "ZHRP"
//	                 4     4  format version, 1
//	                 8     8  XXH64 (seed 0) of the bytes from offset 16 to total length
//	                16     4  total length in bytes, everything included; at most 1 MiB
//	                20     2  header length, at least 40
//	                22     2  count of reasons
//	                24     4  count of records
//	                28     4  length of the reasons in bytes
//	                32     8  process id, the same in all reports of one Envoy process
//
// The reasons begin at header length: one byte with the length, 1 to 64, then that many of a-z, 0-9 and underscore, each.
// The records follow: age in ms (4 bytes), length (4 bytes), and the record as its worker wrote it. Clocks stay where they
// are: the age counts, and a record's own stamp says nothing outside its process.
//
// New fields go to the end of a header or of an endpoint, new sections to the end: a reader uses the lengths and skips what
// it does not know, and takes reserved bytes and unknown flags as they come. A change that an old reader would misread gets
// a new format version; that of records also a new shared-data key (package names).
package report
