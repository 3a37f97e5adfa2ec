package loads

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/shared/goldentest"
)

// vector is a decoded vector.
type vector struct {
	Header  Header
	Entries []Entry
	Digest  *Digest // nil if there is none
}

func sample() vector {
	return vector{
		Header: Header{Epoch: 0x1122334455667788, At: 7_000_000_000, Head: 42, Layout: 3, Snapshot: 99},
		Entries: []Entry{
			{ID: 0xA1, Tokens: 123_456, InFlight: 7, Pending: 3, Since: 2},
			{},
			{ID: 0xFFFFFFFFFFFFFFFF, Tokens: math.MaxUint32, InFlight: math.MaxUint32, Pending: 1},
		},
	}
}

func (v *vector) encode() []byte {
	b := Resize(nil, len(v.Entries))
	for i := range v.Entries {
		SetEntry(b, i, &v.Entries[i])
	}
	return Seal(b, &v.Header, v.Digest)
}

// withDigest is sample with a digest.
func withDigest() vector {
	v := sample()
	v.Header.Serving = true
	v.Digest = new(Digest)
	v.Digest.Reset(40)
	v.Digest.Add(0x1234_5678_9ABC_DEF0)
	v.Digest.Add(0xFFFF_FFFF_FFFF_FFFF)
	return v
}

func decode(v *View) vector {
	out := vector{Header: v.Header}
	for i := range v.Len() {
		var e Entry
		v.Entry(i, &e)
		if v.ID(i) != e.ID {
			panic("ID and Entry disagree")
		}
		out.Entries = append(out.Entries, e)
	}
	if v.digest != nil {
		out.Digest = new(Digest)
		v.Digest(out.Digest)
	}
	return out
}

func open(t *testing.T, b []byte) vector {
	t.Helper()
	v, err := Open(b)
	if err != nil {
		t.Fatal(err)
	}
	return decode(&v)
}

func TestGolden(t *testing.T) {
	want := sample()
	if diff := cmp.Diff(want, open(t, goldentest.Read(t, "v1.bin", want.encode()))); diff != "" {
		t.Errorf("vector (-want +got):\n%s", diff)
	}
	want = withDigest()
	if diff := cmp.Diff(want, open(t, goldentest.Read(t, "v1_digest.bin", want.encode()))); diff != "" {
		t.Errorf("vector with a digest (-want +got):\n%s", diff)
	}
}

func TestOpenErrors(t *testing.T) {
	s := sample()
	good := s.encode()
	tests := []struct {
		name   string
		change func(b []byte) []byte
		want   error
	}{
		{"nothing", func([]byte) []byte { return nil }, ErrTruncated},
		{"cut in the magic", func(b []byte) []byte { return b[:3] }, ErrTruncated},
		{"other magic, short", func([]byte) []byte { return []byte("ZHX") }, ErrMagic},
		{"other magic", func(b []byte) []byte { b[0] = 'X'; return b }, ErrMagic},
		{"cut header", func(b []byte) []byte { return b[:HeaderLen-1] }, ErrTruncated},
		{"other version", func(b []byte) []byte { b[offFormat] = 2; return b }, ErrVersion},
		{"short header", func(b []byte) []byte { b[offHeaderLen] = HeaderLen - 8; return b }, ErrLength},
		{"short entries", func(b []byte) []byte { b[offEntryLen] = EntryLen - 8; return b }, ErrLength},
		{"cut entries", func(b []byte) []byte { return b[:len(b)-1] }, ErrLength},
		{"one entry too many", func(b []byte) []byte { b[offCount]++; return b }, ErrLength},
		{"many entries", func(b []byte) []byte { b[offCount+2] = 1; return b }, ErrTooLarge},
		{"no such record", func(b []byte) []byte { b[offHead+7] = 0x80; return b }, ErrTooLarge},
		{"digest missing", func(b []byte) []byte { b[offFlags] = flagDigest; return b }, ErrLength},
		{"cut digest", func(b []byte) []byte { b[offFlags] = flagDigest; return append(b, make([]byte, DigestLen-1)...) }, ErrLength},
		{"no epoch", func(b []byte) []byte { clear(b[offEpoch : offEpoch+8]); return b }, ErrEpoch},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := Open(tt.change(slices.Clone(good))); !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
		})
	}
}

// TestNewerWriter reads what a later version may write: longer headers and entries, and something behind them.
func TestNewerWriter(t *testing.T) {
	want := withDigest()
	old := want.encode()
	b := append(slices.Clone(old[:HeaderLen]), 1, 2, 3, 4, 5, 6, 7, 8)
	for i := range want.Entries {
		b = append(append(b, old[HeaderLen+i*EntryLen:][:EntryLen]...), 9, 9, 9, 9, 9, 9, 9, 9)
	}
	b = append(b, old[len(old)-DigestLen:]...)
	b = append(b, "a new section"...)
	binary.LittleEndian.PutUint16(b[offHeaderLen:], HeaderLen+8)
	binary.LittleEndian.PutUint16(b[offEntryLen:], EntryLen+8)
	b[offFlags] = 0xFF
	if diff := cmp.Diff(want, open(t, b)); diff != "" {
		t.Errorf("vector (-want +got):\n%s", diff)
	}
}

// TestResize grows and shrinks a vector in place: entries keep their values, and those beyond are free.
func TestResize(t *testing.T) {
	s := sample()
	b := s.encode()
	b = Seal(Resize(b, 5), &s.Header, nil)
	if diff := cmp.Diff(append(slices.Clone(s.Entries), Entry{}, Entry{}), open(t, b).Entries); diff != "" {
		t.Errorf("grown (-want +got):\n%s", diff)
	}
	b = Seal(Resize(b, 1), &s.Header, nil)
	if diff := cmp.Diff(s.Entries[:1], open(t, b).Entries); diff != "" {
		t.Errorf("shrunk (-want +got):\n%s", diff)
	}
	b = Seal(Resize(b, 3), &s.Header, new(Digest))[:len(b)] // what is behind them is of no entry
	b = Seal(Resize(Resize(b, 1), 3), &s.Header, nil)
	if diff := cmp.Diff([]Entry{s.Entries[0], {}, {}}, open(t, b).Entries); diff != "" {
		t.Errorf("grown again (-want +got):\n%s", diff)
	}
}

// TestDigest adds hashes: all of them may be named, and few others.
func TestDigest(t *testing.T) {
	const added, asked = 80, 4000
	var d Digest
	if d.First() != 0 || d.MayName(0) || d.MayName(math.MaxUint64) {
		t.Error("the zero digest names something")
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range added {
		h := r.Uint64()
		if d.Add(h); !d.MayName(h) {
			t.Errorf("%#x was added and is not named", h)
		}
	}
	wrong := 0
	for range asked {
		if d.MayName(r.Uint64()) {
			wrong++
		}
	}
	if wrong > asked*2/100 {
		t.Errorf("%d of %d hashes are named that were not added", wrong, asked)
	}
	if d.Reset(7); d.First() != 7 || d != (Digest{7}) {
		t.Error("something is left after Reset")
	}
}

// TestNoDigest reads a vector without digest: no record of its log can wait.
func TestNoDigest(t *testing.T) {
	s := sample()
	v, err := Open(s.encode())
	if err != nil {
		t.Fatal(err)
	}
	d := Digest{1, 2, 3}
	if v.Digest(&d); d.First() != s.Header.Head+1 || d.MayName(1) {
		t.Errorf("first %d after head %d", d.First(), s.Header.Head)
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int64]uint32{-1: 0, 0: 0, 5: 5, math.MaxUint32: math.MaxUint32, math.MaxUint32 + 1: math.MaxUint32} {
		if got := Count(n); got != want {
			t.Errorf("Count(%d) = %d, want %d", n, got, want)
		}
	}
}

func TestAllocatesNothing(t *testing.T) {
	s := sample()
	b := s.encode()
	var e Entry
	var d Digest
	if n := testing.AllocsPerRun(100, func() {
		b = Resize(b, len(s.Entries))
		SetEntry(b, 0, &s.Entries[0])
		v, err := Open(Seal(b, &s.Header, &d))
		if err != nil {
			t.Fatal(err)
		}
		v.Entry(2, &e)
		v.Digest(&d)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzOpen checks that Open never panics, and that what it accepts encodes to bytes that decode to the same.
func FuzzOpen(f *testing.F) {
	s := sample()
	f.Add(s.encode())
	f.Add((&vector{Header: s.Header}).encode())
	s = withDigest()
	f.Add(s.encode())
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := Open(b)
		if err != nil {
			return
		}
		got := decode(&v)
		once := got.encode()
		if diff := cmp.Diff(got, open(t, once)); diff != "" {
			t.Errorf("after encoding (-before +after):\n%s", diff)
		}
		if again := open(t, once); !bytes.Equal(again.encode(), once) {
			t.Error("the second encoding differs from the first")
		}
	})
}
