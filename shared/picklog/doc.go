// Package picklog is the binary form in which the workers of one Envoy tell each other what they did: the records of a pick
// log, and the chunks of a dump, from which a rebuilt worker learns what the others know. Endpoints are named by id, so that
// workers with other slots, or in other processes, can read them. The package has no reflection, clock, goroutine or I/O;
// appending to a buffer that is large enough and reading allocate nothing.
//
// # Record
//
// All numbers are little-endian. A record is a header and what its kind says. A pick of 24 blocks takes 244 bytes.
//
//	header      offset  size  field
//	                 0     1  magic 'P'
//	                 1     1  format version, 1
//	                 2     1  kind: 1 pick, 2 event, 3 health, 4 withdrawal
//	                 3     1  flags; their meaning depends on the kind
//	                 4     4  tokens per prefix block
//	                 8     8  epoch of the VM that wrote it, non-zero
//	                16     8  sequence number, from 1 on, without a gap
//	                24     8  monotonic nanoseconds of what happened
//	                32     8  id of the endpoint, non-zero
//
//	pick        offset  size  field
//	                40     4  count of chains
//	                44     4  length of the first chain in blocks, and so on for each chain
//	               ...     8  chain hashes of the first chain, then those of the next
//
//	withdrawal  as a pick, then for each chain
//	               ...     4  number of its blocks that the endpoint held before the pick
//
//	event       offset  size  field
//	                40     8  instance: XXH64 of the type of a plugin, a zero byte and its name
//	                48     8  key: what the event is about, as the plugin says
//
//	health      offset  size  field
//	                40     8  monotonic nanoseconds of the last failure
//	                48     8  monotonic nanoseconds before which no request is to be sent
//	                56     4  failures in a row, 0 for an endpoint that has recovered
//
// # Chunk
//
// A chunk is a header, then sections until its end. A section is its length, its kind and what the kind says.
//
//	header      offset  size  field
//	                 0     1  magic 'D'
//	                 1     1  format version, 1
//	                 2     2  zero
//	                 4     4  tokens per prefix block
//	                 8     8  epoch of the VM that wrote it, non-zero
//	                16     8  monotonic nanoseconds at which it was written
//
//	section     offset  size  field
//	                 0     4  length in bytes, everything included
//	                 4     2  kind: 1 blocks, 2 events, 3 health
//	                 6     2  zero
//	                 8     8  blocks: id of the endpoint. Events: instance, as in a record. Health: zero
//	                16     4  blocks: how many more recently used ones stand in earlier chunks. Others: zero
//	                20     4  count of what follows
//
// Blocks are chain hashes of 8 bytes each, most recently used first. Behind them stand the lengths of runs, in blocks, of 1 byte
// each, which have all of the blocks one after the other: those of a run follow each other in a prompt. A block that is in none is
// a run of its own. Events are 24 bytes each: id of the endpoint, key, and
// monotonic nanoseconds. Health is 40 bytes for each endpoint that has failed: its id, monotonic nanoseconds from which that is
// known, then the numbers of a record of kind health; the last one takes 8 bytes.
//
// # Slot
//
// A slot is what stands in one value of shared data: up to eight consecutive records of one VM.
//
//	header      offset  size  field
//	                 0     1  magic 'S'
//	                 1     1  format version, 1
//	                 2     2  zero
//	                 4     4  count of records
//	                 8     8  epoch of the VM that wrote it, non-zero
//	                16     8  sequence number of the first record
//
// Each record is preceded by its length in 4 bytes.
//
// There is no checksum: a value is written whole under Envoy's lock. Readers skip records and sections of kinds that they do
// not know, and bytes behind what they know. A change that an old reader would misread gets a new format version and a new
// shared-data key (package names).
package picklog
