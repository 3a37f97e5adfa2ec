package picklog

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// slotRecords are what the tests put into slots: what a record is like does not matter here.
var slotRecords = [][]byte{[]byte("first"), {}, bytes.Repeat([]byte{7}, 300)}

func sampleSlot() []byte {
	b := AppendSlot(nil, 0x1122334455667788, 9)
	for _, r := range slotRecords {
		b = AddRecord(b, r)
	}
	return b
}

// TestSlotGolden reads a slot as it is in shared data of other builds.
func TestSlotGolden(t *testing.T) {
	want, err := os.ReadFile(filepath.Join("testdata", "slot_v1.bin"))
	if err != nil {
		t.Fatal(err)
	}
	if got := sampleSlot(); !bytes.Equal(got, want) {
		t.Errorf("slot\n%x, want\n%x", got, want)
	}
}

func TestSlot(t *testing.T) {
	s, err := OpenSlot(sampleSlot())
	if err != nil {
		t.Fatal(err)
	}
	if s.Epoch != 0x1122334455667788 || s.First != 9 || s.Len() != len(slotRecords) {
		t.Errorf("epoch %x, first %d, %d records", s.Epoch, s.First, s.Len())
	}
	var got [][]byte
	for b := s.Next(); b != nil; b = s.Next() {
		got = append(got, b)
	}
	if diff := cmp.Diff(slotRecords, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

func TestSeq(t *testing.T) {
	for _, b := range [][]byte{
		AppendPick(nil, &Header{Epoch: 1, Seq: 77, ID: 1}, nil, []uint64{1}),
		AppendEvent(nil, &Header{Epoch: 1, Seq: 77, ID: 1}, Event{}),
		AppendHealth(nil, &Header{Epoch: 1, Seq: 77, ID: 1}, Health{}),
	} {
		if got := Seq(b); got != 77 {
			t.Errorf("sequence number %d, want 77", got)
		}
	}
}

func TestSlotRefused(t *testing.T) {
	edit := func(f func(b []byte) []byte) []byte { return f(sampleSlot()) }
	tests := []struct {
		name string
		b    []byte
		want error
	}{
		{"empty", nil, ErrTruncated},
		{"short", sampleSlot()[:20], ErrTruncated},
		{"magic", edit(func(b []byte) []byte { b[0] = 'P'; return b }), ErrMagic},
		{"version", edit(func(b []byte) []byte { b[1] = 2; return b }), ErrVersion},
		{"no epoch", AppendSlot(nil, 0, 1), ErrID},
		{"no number", AppendSlot(nil, 1, 0), ErrID},
		{"too many records", edit(func(b []byte) []byte { b[slotCount] = SlotRecords + 1; return b }), ErrTooLarge},
		{"one record more", edit(func(b []byte) []byte { b[slotCount]++; return b }), ErrTruncated},
		{"record cut", sampleSlot()[:SlotHeaderLen+6], ErrLength},
		{"record of 4 GiB", edit(func(b []byte) []byte { copy(b[SlotHeaderLen:], "\xff\xff\xff\xff"); return b }), ErrLength},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := OpenSlot(tt.b); !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
		})
	}
}

// FuzzSlot asserts that no slot makes the reader fail, and that what it reads can be written again.
func FuzzSlot(f *testing.F) {
	f.Add(sampleSlot())
	f.Add(AppendSlot(nil, 1, 1))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := OpenSlot(b)
		if err != nil {
			return
		}
		again := AppendSlot(nil, s.Epoch, s.First)
		for n := s.Len(); n > 0; n-- {
			again = AddRecord(again, s.Next())
		}
		if s.Next() != nil {
			t.Error("a record too many")
		}
		if r, err := OpenSlot(again); err != nil || r.Epoch != s.Epoch || r.First != s.First {
			t.Errorf("written again: %v", err)
		}
	})
}
