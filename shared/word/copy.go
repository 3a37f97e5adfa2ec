package word

import "unsafe"

const most = 1 << 30 // the masks with it spare the checks

// Bytes returns the n bytes at p+off, at least none and less than 1<<30. There has to be a byte at p+off even if n is 0.
func Bytes(p unsafe.Pointer, off, n int) []byte {
	return (*[most]byte)(unsafe.Add(p, off))[: n&(most-1) : n&(most-1)]
}

// Copy copies n bytes, at least none and less than 1<<30, from src to dst, which may overlap. Neither is nil.
func Copy(dst, src unsafe.Pointer, n int) {
	copy(Bytes(dst, 0, n), Bytes(src, 0, n))
}
