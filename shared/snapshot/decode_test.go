package snapshot

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOpenRefuses(t *testing.T) {
	le := binary.LittleEndian
	const second = headerLen + recordLen // the second record
	tests := []struct {
		name   string
		change func([]byte) []byte
		want   error
	}{
		{"empty", func(b []byte) []byte { return nil }, ErrTruncated},
		{"half the magic", func(b []byte) []byte { return b[:2] }, ErrTruncated},
		{"header cut", func(b []byte) []byte { return b[:headerLen-1] }, ErrTruncated},
		{"last byte missing", func(b []byte) []byte { return b[:len(b)-1] }, ErrTruncated},
		{"byte too many", func(b []byte) []byte { return append(b, 0) }, ErrLength},
		{"short and foreign", func(b []byte) []byte { return []byte("<html>") }, ErrMagic},
		{"magic", func(b []byte) []byte { b[0] ^= 1; return b }, ErrMagic},
		{"older version", func(b []byte) []byte { le.PutUint32(b[offFormat:], 0); return b }, ErrVersion},
		{"newer version", func(b []byte) []byte { le.PutUint32(b[offFormat:], 2); return b }, ErrVersion},
		{"checksum", func(b []byte) []byte { b[offChecksum] ^= 1; return b }, ErrChecksum},
		{"bit in the header", func(b []byte) []byte { b[offVersion] ^= 1; return b }, ErrChecksum},
		{"bit in a record", func(b []byte) []byte { b[headerLen+recWaiting] ^= 1; return b }, ErrChecksum},
		{"bit in the text", func(b []byte) []byte { b[len(b)-1] ^= 1; return b }, ErrChecksum},
		{"header too short", func(b []byte) []byte { le.PutUint16(b[offHeaderLen:], headerLen-1); return reseal(b) }, ErrLength},
		{"header beyond the end", func(b []byte) []byte { le.PutUint16(b[offHeaderLen:], math.MaxUint16); return reseal(b) }, ErrLength},
		{"record too short", func(b []byte) []byte { le.PutUint16(b[offRecordLen:], recordLen-1); return reseal(b) }, ErrLength},
		{"record too long", func(b []byte) []byte { le.PutUint16(b[offRecordLen:], math.MaxUint16); return reseal(b) }, ErrLength},
		{"count too large", func(b []byte) []byte { le.PutUint32(b[offCount:], math.MaxUint32); return reseal(b) }, ErrLength},
		{"text too long", func(b []byte) []byte { le.PutUint32(b[offTextLen:], math.MaxUint32); return reseal(b) }, ErrLength},
		{"text too short", func(b []byte) []byte { le.PutUint32(b[offTextLen:], 0); return reseal(b) }, ErrAddress},
		{"address offset", func(b []byte) []byte { le.PutUint32(b[second+recAddrOff:], math.MaxUint32); return reseal(b) }, ErrAddress},
		{"address length", func(b []byte) []byte { le.PutUint16(b[second+recAddrLen:], math.MaxUint16); return reseal(b) }, ErrAddress},
		{"address not one", func(b []byte) []byte { le.PutUint16(b[second+recAddrLen:], 4); return reseal(b) }, ErrAddress},
		{"name offset", func(b []byte) []byte { le.PutUint32(b[second+recNameOff:], math.MaxUint32); return reseal(b) }, ErrName},
		{"name length", func(b []byte) []byte { le.PutUint16(b[second+recNameLen:], math.MaxUint16); return reseal(b) }, ErrName},
		{"name with control character", func(b []byte) []byte { b[len(b)-1] = 7; return reseal(b) }, ErrName},
		{"id zero", func(b []byte) []byte { le.PutUint64(b[second:], 0); return reseal(b) }, ErrID},
		{"id repeated", func(b []byte) []byte { copy(b[second:second+8], b[headerLen:]); return reseal(b) }, ErrID},
		{"ids out of order", func(b []byte) []byte { le.PutUint64(b[headerLen:], math.MaxUint64); return reseal(b) }, ErrID},
		{"kv usage NaN", func(b []byte) []byte {
			le.PutUint32(b[second+recKVUsage:], math.Float32bits(float32(math.NaN())))
			return reseal(b)
		}, ErrKVUsage},
		{"kv usage infinite", func(b []byte) []byte {
			le.PutUint32(b[second+recKVUsage:], math.Float32bits(float32(math.Inf(-1))))
			return reseal(b)
		}, ErrKVUsage},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v, err := Open(tt.change(mustAppend(t, 1, sample())))
			if !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
			if v.Len() != 0 {
				t.Error("a refused snapshot gives a View with endpoints")
			}
		})
	}
}

// TestOpenSkipsUnknown reads what a newer writer may send: longer header and records, flags, reserved bytes, more sections.
func TestOpenSkipsUnknown(t *testing.T) {
	le := binary.LittleEndian
	old := mustAppend(t, 9, sample())
	const moreHeader, moreRecord = 24, 16
	text := headerLen + len(sample())*recordLen

	b := append(slices.Clone(old[:headerLen]), make([]byte, factsHeader-headerLen)...) // no facts
	b = append(b, bytes.Repeat([]byte{0xAA}, headerLen+moreHeader-len(b))...)
	for i := range sample() {
		b = append(b, old[headerLen+i*recordLen:][:recordLen]...)
		for at := len(b) - recordLen + recPending + 1; at < len(b); at++ {
			b[at] = 0xBB
		}
		b = append(b, bytes.Repeat([]byte{0xCC}, moreRecord)...)
	}
	b = append(b, old[text:]...)
	b = append(b, "another section"...)
	le.PutUint16(b[offHeaderLen:], headerLen+moreHeader)
	le.PutUint16(b[offRecordLen:], recordLen+moreRecord)
	le.PutUint16(b[headerLen+moreHeader+recFlags:], 0x8000)

	v, err := Open(reseal(b))
	if err != nil {
		t.Fatal(err)
	}
	want := sample()
	want[0].Flags = 0x8000
	if diff := cmp.Diff(want, all(v)); diff != "" {
		t.Errorf("endpoints (-want +got):\n%s", diff)
	}
}

// TestEveryBitCounts flips each bit of a snapshot: none goes unnoticed.
func TestEveryBitCounts(t *testing.T) {
	b := mustAppend(t, 1, sample())
	for i := range len(b) * 8 {
		b[i/8] ^= 1 << (i % 8)
		if _, err := Open(b); err == nil {
			t.Errorf("bit %d of byte %d can be flipped unnoticed", i%8, i/8)
		}
		b[i/8] ^= 1 << (i % 8)
	}
}

// FuzzOpen checks that Open never panics, and that what it accepts encodes to bytes that decode to the same endpoints and
// encode to themselves. The checksum is repaired first, since a fuzzer does not find it.
func FuzzOpen(f *testing.F) {
	f.Add(mustAppend(f, 1, nil))
	f.Add(mustAppend(f, 2, sample()))
	f.Add(mustAppend(f, 3, many(3))[:100])
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := Open(b); err == nil {
			checkStable(t, b)
		}
		if len(b) >= headerLen {
			b = reseal(slices.Clone(b))
			if _, err := Open(b); err == nil {
				checkStable(t, b)
			}
		}
	})
}

func checkStable(t *testing.T, b []byte) {
	t.Helper()
	v, err := Open(b)
	if err != nil {
		t.Fatal(err)
	}
	once := mustAppend(t, v.Version(), all(v))
	w, err := Open(once)
	if err != nil {
		t.Fatalf("what Append writes is refused: %v", err)
	}
	if v.Version() != w.Version() {
		t.Errorf("version %d, then %d", v.Version(), w.Version())
	}
	if diff := cmp.Diff(all(v), all(w)); diff != "" {
		t.Errorf("endpoints changed (-first +second):\n%s", diff)
	}
	if twice := mustAppend(t, w.Version(), all(w)); !bytes.Equal(once, twice) {
		t.Error("the second encoding differs from the first")
	}
}
