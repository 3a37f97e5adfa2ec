package picklog

import "encoding/binary"

// SlotRecords is the number of records of a full slot: record n stands in slot (n-1)/SlotRecords, counted from 0. One value in
// shared data for each record would cost a reader one host call for each.
const SlotRecords = 8

// Lengths that a writer has to know to tell how long a slot gets.
const (
	SlotHeaderLen = 24
	RecordHeader  = 4 // before each record
)

const magicSlot = 'S'

// Offsets in a slot.
const (
	slotCount = 4
	slotEpoch = 8
	slotFirst = 16
)

// AppendSlot appends an empty slot to dst, whose first record is to have the sequence number first, and returns the extended
// slice.
func AppendSlot(dst []byte, epoch, first uint64) []byte {
	return words(dst, magicSlot|FormatVersion<<8, epoch, first)
}

// AddRecord appends a record to the slot b, the bytes of AppendSlot and of AddRecord before, and returns the extended slice.
func AddRecord(b, record []byte) []byte {
	le := binary.LittleEndian
	le.PutUint32(b[slotCount:], le.Uint32(b[slotCount:])+1)
	b = le.AppendUint32(b, uint32(len(record)))
	return append(b, record...)
}

// Seq returns the sequence number of a record that AppendPick, AppendEvent or AppendHealth made.
func Seq(record []byte) uint64 { return binary.LittleEndian.Uint64(record[recSeq:]) }

// Slot reads a slot in place, one record after the other; see OpenSlot.
type Slot struct {
	Epoch uint64 // identifies the VM that wrote it, non-zero
	First uint64 // sequence number of its first record
	count int
	rest  []byte
}

// OpenSlot validates the lengths of b, so that reading the Slot cannot fail, and returns a Slot that reads b in place: b must not
// change for as long as the Slot is used. The records are for Open to judge.
func OpenSlot(b []byte) (Slot, error) {
	if err := check(b, magicSlot, SlotHeaderLen); err != nil {
		return Slot{}, err
	}
	h, le := b[:SlotHeaderLen], binary.LittleEndian
	s := Slot{Epoch: le.Uint64(h[slotEpoch:]), First: le.Uint64(h[slotFirst:]), rest: b[SlotHeaderLen:]}
	count := le.Uint32(h[slotCount:])
	switch {
	case s.Epoch == 0 || s.First == 0:
		return Slot{}, ErrID
	case count > SlotRecords:
		return Slot{}, ErrTooLarge
	}
	s.count = int(count)
	rest := s.rest
	for range s.count {
		if len(rest) < RecordHeader {
			return Slot{}, ErrTruncated
		}
		n := uint64(le.Uint32(rest))
		if n > uint64(len(rest)-RecordHeader) {
			return Slot{}, ErrLength
		}
		rest = rest[RecordHeader+n:]
	}
	return s, nil
}

// Len returns the number of records that Next has not returned.
func (s *Slot) Len() int { return s.count }

// Next returns the next record, or nil if there is none.
func (s *Slot) Next() []byte {
	if s.count == 0 {
		return nil
	}
	n := binary.LittleEndian.Uint32(s.rest)
	b := s.rest[RecordHeader:][:n:n]
	s.rest = s.rest[RecordHeader+n:]
	s.count--
	return b
}
