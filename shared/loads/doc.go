// Package loads is the binary form in which the workers of one Envoy tell each other what they have in flight: the load
// vector. A worker writes its vector into shared data, the others add it to their own counts. The package has no reflection,
// clock, goroutine or I/O; writing into a vector that is long enough and reading allocate nothing.
//
// All numbers are little-endian. A vector is a header, one entry for each slot of the writer, and a digest. Sixteen slots take
// 712 bytes, a thousand 24 328.
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
//	                54     2  flags; 1: a digest follows the entries, 2: the VM has had a request
//	                56     8  zero
//
//	entry       offset  size  field
//	                 0     8  id of the endpoint, 0 for a free slot
//	                 8     4  tokens that the requests are booked with, at most 2³²-1
//	                12     4  requests in flight
//	                16     4  those of them without a first byte
//	                20     4  those of these that the newest scrape has not seen
//
//	digest      offset  size  field
//	                 0     8  sequence number of the first record that it is about
//	                 8   256  Bloom filter of 2 048 bits: bits h mod 2¹¹ and h/2¹¹ mod 2¹¹ of chain hashes h, bit n in byte n/8
//
// Records from the first one of the digest on can wait: they are picks, and the filter has of each chain the first block that the
// writer did not know before, and all further ones whose index is a multiple of 16. If such a record names a block that a reader
// looks for and does not know, the filter has the first one of these; or, where another prompt with the same beginning has been read
// before it, the next one whose index is a multiple of 16.
//
// Entries begin at header length. An id stands once. There is no checksum: a value is written whole under Envoy's lock. New
// fields go to the end of a header or of an entry, new sections behind the entries: a reader uses the lengths and skips what
// it does not know. A change that an old reader would misread gets a new format version and a new shared-data key (package
// names).
package loads
