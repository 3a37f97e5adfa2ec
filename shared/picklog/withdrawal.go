package picklog

import "encoding/binary"

// AppendWithdrawal appends a record of kind KindWithdrawal to dst and returns the extended slice. ends and hashes are as in
// AppendPick; held has for each chain the number of its blocks that the endpoint held before the pick.
func AppendWithdrawal(dst []byte, h *Header, ends []int32, hashes []uint64, held []uint32) []byte {
	at := len(dst)
	dst = AppendPick(dst, h, ends, hashes)
	dst[at+recKind] = byte(KindWithdrawal)
	for _, n := range held {
		dst = binary.LittleEndian.AppendUint32(dst, n)
	}
	return dst
}

// openWithdrawal validates what a withdrawal has behind the chains.
func (r *Record) openWithdrawal() error {
	if err := r.openPick(); err != nil {
		return err
	}
	r.held = r.from
	for i := range r.Chains() {
		r.held += 8 * r.chainLen(i)
	}
	if len(r.body)-r.held < 4*r.Chains() {
		return ErrLength
	}
	return nil
}

// Held returns how many blocks of chain i of a withdrawal the endpoint held before the pick, as its writer knew them.
func (r *Record) Held(i int) int { return int(binary.LittleEndian.Uint32(r.body[r.held+4*i:])) }
