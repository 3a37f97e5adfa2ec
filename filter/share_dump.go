package filter

import (
	"encoding/binary"

	"github.com/zerohop/zerohop/scorers/sched"
	"github.com/zerohop/zerohop/shared/names"
)

// The dump: what one VM that has requests knows, in chunks, so that a VM that starts anew does not start cold.
const (
	chunkBytes     = 64 << 10
	chunksPerTick  = 4     // a million blocks take 3.2 s
	dumpEveryNs    = 1e9   // least time between the begins of two dumps
	busyPaceNs     = 400e6 // between chunks, while there are busyPicks picks a tick
	maxChunks      = 1 << 12
	decisionChunks = 1  // chunks that are read before a decision
	tickChunks     = 16 // and by a tick
)

// directoryLen is the length of the value of names.KeyDumpDirectory.
const directoryLen = 16

// dump is the state of writing a dump and of reading one.
type dump struct {
	writes  bool // this VM holds the lease
	cursor  sched.DumpCursor
	chunk   int    // number of the next chunk to write
	last    int    // chunks of the last complete dump
	begunAt uint64 // when chunk 0 was written
	wroteAt uint64 // when the newest chunk was
	buf     []byte
	dir     [directoryLen]byte
	keys    []string
	sizes   []int32 // bytes of each chunk
	total   int

	restored bool // nothing is left to be read
	opened   bool // the directory was read
	read     int  // chunks read
	chunks   int  // chunks to be read
}

func (d *dump) bytes() int { return d.total + len(d.sizes)*entryBytes }

// key returns the shared-data key of a chunk.
func (d *dump) key(chunk int) string {
	for len(d.keys) <= chunk {
		d.keys = append(d.keys, names.KeyDump(len(d.keys)))
	}
	return d.keys[chunk]
}

// writeDump writes the next chunks. The walk through the index finds nothing in the caches: a busy VM writes one now and then.
func (v *VM) writeDump(now uint64) {
	d, chunks := &v.share.dump, chunksPerTick
	if v.share.busy(now, tickMs*1e6) {
		if now-d.wroteAt < busyPaceNs {
			return
		}
		chunks = 1
	}
	if d.chunk == 0 {
		if d.begunAt == 0 {
			d.last = v.dumped() // the chunks of another VM are there until they are written over
		} else if now-d.begunAt < dumpEveryNs {
			return
		}
		d.begunAt = now
	}
	d.wroteAt = now
	for range chunks {
		d.buf = v.sched.AppendDump(d.buf[:0], now, &d.cursor, chunkBytes)
		v.storeChunk()
		if d.cursor == (sched.DumpCursor{}) || d.chunk == maxChunks {
			d.last, d.chunk = d.chunk, 0
			break
		}
	}
	binary.LittleEndian.PutUint64(d.dir[:], uint64(d.last))
	binary.LittleEndian.PutUint64(d.dir[8:], uint64(d.chunk))
	v.put(names.KeyDumpDirectory, d.dir[:])
}

// storeChunk writes buf as the next chunk.
func (v *VM) storeChunk() {
	d := &v.share.dump
	for len(d.sizes) <= d.chunk {
		d.sizes = append(d.sizes, 0)
	}
	d.total += len(d.buf) - int(d.sizes[d.chunk])
	d.sizes[d.chunk] = int32(len(d.buf))
	v.put(d.key(d.chunk), d.buf)
	d.chunk++
}

// restore reads at most limit chunks of the dump. It follows refresh, which has made the endpoints known if there is a snapshot.
// What was learned meanwhile counts as newer.
func (v *VM) restore(limit int) {
	d := &v.share.dump
	if d.restored {
		return
	}
	if !d.opened {
		d.opened = true
		d.chunks = v.dumped()
	}
	for ; limit > 0 && d.read < d.chunks; limit-- {
		b, _ := v.host.Shared(d.key(d.read))
		blocks, _ := v.sched.Restore(b)
		v.stats.n[cRestoredBlocks] += int64(blocks)
		d.read++
	}
	d.restored = d.read >= d.chunks
}

// dumped returns the number of chunks in shared data that are of use.
func (v *VM) dumped() int {
	b, _ := v.host.Shared(names.KeyDumpDirectory)
	if len(b) != directoryLen {
		return 0
	}
	last, current := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
	return int(min(max(last, current), maxChunks))
}
