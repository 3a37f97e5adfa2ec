package word

import "unsafe"

// Copy copies n bytes, at least none and less than 1<<30, from src to dst, which may overlap. Neither is nil.
func Copy(dst, src unsafe.Pointer, n int) {
	const most = 1 << 30 // the masks spare the checks
	copy((*[most]byte)(dst)[:n&(most-1)], (*[most]byte)(src)[:n&(most-1)])
}
