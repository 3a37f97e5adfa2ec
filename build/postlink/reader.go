package postlink

import (
	"encoding/binary"
	"errors"
)

var errTruncated = errors.New("truncated")

// reader reads a part of a module. Its first error stays, and what is read after it is zero.
type reader struct {
	b   []byte
	at  int
	err error
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.at = len(r.b)
}

// more reports whether there is something left to read.
func (r *reader) more() bool { return r.at < len(r.b) }

// skip passes over n bytes and returns them.
func (r *reader) skip(n uint64) []byte {
	if n > uint64(len(r.b)-r.at) {
		r.fail(errTruncated)
		return nil
	}
	b := r.b[r.at : r.at+int(n)]
	r.at += int(n)
	return b
}

func (r *reader) byte() byte {
	if !r.more() {
		r.fail(errTruncated)
		return 0
	}
	r.at++
	return r.b[r.at-1]
}

// uint reads an unsigned number in LEB128, of at most 32 bits as the format wants all that this command reads.
func (r *reader) uint() uint64 {
	n, size := binary.Uvarint(r.b[r.at:])
	if size <= 0 || n >= 1<<32 {
		r.fail(errTruncated)
		return 0
	}
	r.at += size
	return n
}

// skipInts passes over n numbers in LEB128, signed or not.
func (r *reader) skipInts(n int) {
	for ; n > 0 && r.err == nil; n-- {
		for r.byte() >= 0x80 {
		}
	}
}

// bytes reads a length and that many bytes.
func (r *reader) bytes() []byte { return r.skip(r.uint()) }

// count reads the number of things that follow, each of at least one byte.
func (r *reader) count() int {
	n := r.uint()
	if n > uint64(len(r.b)-r.at) {
		r.fail(errTruncated)
		return 0
	}
	return int(n)
}

// rest returns what is left to read.
func (r *reader) rest() []byte { return r.b[r.at:] }

func appendUint(b []byte, n int) []byte { return binary.AppendUvarint(b, uint64(n)) }

// appendInt appends a number that is not negative as a signed one.
func appendInt(b []byte, n int) []byte {
	for ; n >= 0x40; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}

// appendBytes appends a length and the bytes.
func appendBytes(b, data []byte) []byte { return append(appendUint(b, len(data)), data...) }
