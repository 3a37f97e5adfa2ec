// Package pairs reads and writes proxy-wasm's serialized header maps: little-endian u32 count, then for each pair u32 key
// length and u32 value length, then for each pair key, NUL, value, NUL. It never trusts a length and allocates nothing but
// what it is asked to append.
package pairs

import (
	"encoding/binary"
	"unsafe"

	"github.com/zerohop/zerohop/shared/word"
)

// Reader walks over a serialized header map in place.
type Reader struct {
	b    []byte
	size int // offset of the next pair's lengths
	data int // offset of the next pair's bytes
	end  int // offset at which the lengths end
}

// Read returns a Reader for b. Malformed input yields no pairs. b must stay unchanged while the Reader is used.
func Read(b []byte) Reader {
	if len(b) < 4 {
		return Reader{}
	}
	n := int(binary.LittleEndian.Uint32(b))
	if n < 0 || n > (len(b)-4)/8 {
		return Reader{}
	}
	end := 4 + 8*n
	return Reader{b: b, size: 4, data: end, end: end}
}

// Next returns the next pair as views into the map; ok is false at the end or where the map is malformed.
func (r *Reader) Next() (key, value []byte, ok bool) {
	if r.size >= r.end {
		return nil, nil, false
	}
	p := unsafe.Pointer(unsafe.SliceData(r.b))
	lens := word.Load(p, r.size) // ends at or before r.end <= len(r.b)
	kn, vn := lens&0xffffffff, lens>>32
	if kn+vn+2 > uint64(len(r.b)-r.data) {
		r.size = r.end
		return nil, nil, false
	}
	k := r.data
	v := k + int(kn) + 1 // below len(r.b), since there is a NUL behind the value
	r.size += 8
	r.data = v + int(vn) + 1
	return word.Bytes(p, k, int(kn)), word.Bytes(p, v, int(vn)), true
}

// Append appends the serialized map of kv, which holds keys and values in turn, to dst.
func Append(dst []byte, kv ...string) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(kv)/2))
	for _, s := range kv[:len(kv)&^1] {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(s)))
	}
	for _, s := range kv[:len(kv)&^1] {
		dst = append(dst, s...)
		dst = append(dst, 0)
	}
	return dst
}
