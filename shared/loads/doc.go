// Package loads is the binary form in which the workers of one Envoy tell each other what they have in flight: the load
// vector. A worker writes its vector into shared data, the others add it to their own counts. The package has no reflection,
// clock, goroutine or I/O; writing into a vector that is long enough and reading allocate nothing.
//
// All numbers are little-endian. A vector is a header, then one entry for each slot of the writer. Sixteen slots take
// 448 bytes, a thousand 24 064.
//
//	header      offset  size  field
//	                 0     4  magic "ZHLV"
//	                 4     2  format version, 1
//	                 6     2  header length, at least 64
//	                 8     8  epoch of the VM, non-zero
//	                16     8  monotonic nanoseconds at which the vector was written
//	                24     8  sequence number of the newest record in the writer's pick log, at most 2⁶²; 0 if there is none
//	                32     8  layout: another number whenever an entry stands for another endpoint
//	                40     8  version of the snapshot in use, 0 if none
//	                48     4  count of entries
//	                52     2  entry length, at least 24
//	                54     2  flags
//	                56     8  zero
//
//	entry       offset  size  field
//	                 0     8  id of the endpoint, 0 for a free slot
//	                 8     4  tokens that the requests are booked with, at most 2³²-1
//	                12     4  requests in flight
//	                16     4  those of them without a first byte
//	                20     4  those of these that the newest scrape has not seen
//
// Entries begin at header length. An id stands once. There is no checksum: a value is written whole under Envoy's lock. New
// fields go to the end of a header or of an entry, new sections behind the entries: a reader uses the lengths and skips what
// it does not know. A change that an old reader would misread gets a new format version and a new shared-data key (package
// names).
package loads
