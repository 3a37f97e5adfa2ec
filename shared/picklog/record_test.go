package picklog

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/shared/goldentest"
)

// record is a decoded record.
type record struct {
	Header Header
	Chains [][]uint64
	Held   []uint32
	Event  Event
	Health Health
}

var header = Header{BlockTokens: 64, Epoch: 0x1122334455667788, Seq: 9, At: 7_000_000_000, ID: 0xABCDEF}

// samples has one record of each kind, and a pick of one chain.
func samples() []record {
	of := func(kind Kind, flags uint8, r record) record {
		r.Header = header
		r.Header.Kind, r.Header.Flags = kind, flags
		return r
	}
	return []record{
		of(KindPick, 0, record{Chains: [][]uint64{{1, 2, 0xFFFFFFFFFFFFFFFF}}}),
		of(KindPick, Again, record{Chains: [][]uint64{{1, 2}, nil, {3}}}),
		of(KindEvent, 0, record{Event: Event{Instance: 0xFACE, Key: 0xFEED}}),
		of(KindHealth, 0, record{Health: Health{FailedAt: 6_000_000_000, Until: 8_000_000_000, Level: 3}}),
		of(KindWithdrawal, 0, record{Chains: [][]uint64{{1, 2}, {3}}, Held: []uint32{1, 0}}),
	}
}

func (r *record) encode() []byte {
	switch r.Header.Kind {
	case KindPick, KindWithdrawal:
		var ends []int32
		var all []uint64
		for _, c := range r.Chains {
			all = append(all, c...)
			ends = append(ends, int32(len(all)))
		}
		ends = ends[:max(len(ends)-1, 0)]
		if r.Header.Kind == KindWithdrawal {
			return AppendWithdrawal(nil, &r.Header, ends, all, r.Held)
		}
		return AppendPick(nil, &r.Header, ends, all)
	case KindEvent:
		return AppendEvent(nil, &r.Header, r.Event)
	case KindHealth:
		return AppendHealth(nil, &r.Header, r.Health)
	}
	panic("kind")
}

func decode(r *Record) record {
	out := record{Header: r.Header}
	switch r.Kind {
	case KindPick, KindWithdrawal:
		from := 0
		for i := range r.Chains() {
			var chain []uint64
			chain, from = r.AppendChain(nil, i, from, 1<<30)
			out.Chains = append(out.Chains, chain)
			if r.Kind == KindWithdrawal {
				out.Held = append(out.Held, uint32(r.Held(i)))
			}
		}
	case KindEvent:
		out.Event = r.Event()
	case KindHealth:
		out.Health = r.Health()
	}
	return out
}

func open(t *testing.T, b []byte) record {
	t.Helper()
	r, err := Open(b)
	if err != nil {
		t.Fatal(err)
	}
	return decode(&r)
}

func TestRecordGolden(t *testing.T) {
	for i, name := range []string{"pick_v1.bin", "pick_of_three_v1.bin", "event_v1.bin", "health_v1.bin", "withdrawal_v1.bin"} {
		want := samples()[i]
		if diff := cmp.Diff(want, open(t, goldentest.Read(t, name, want.encode()))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestOpenErrors(t *testing.T) {
	encoded := func(i int) []byte { s := samples()[i]; return s.encode() }
	pick, three, event, health := encoded(0), encoded(1), encoded(2), encoded(3)
	set := func(b []byte, at int, v byte) []byte { b[at] = v; return b }
	tests := []struct {
		name string
		b    []byte
		want error
	}{
		{"nothing", nil, ErrTruncated},
		{"other magic", set(slices.Clone(pick), 0, 'D'), ErrMagic},
		{"other magic, short", []byte("D"), ErrMagic},
		{"other version", set(slices.Clone(pick), recVersion, 2), ErrVersion},
		{"cut header", pick[:recLen-1], ErrTruncated},
		{"no epoch", append(append(slices.Clone(pick[:recEpoch]), make([]byte, 8)...), pick[recSeq:]...), ErrID},
		{"no number", append(append(slices.Clone(pick[:recSeq]), make([]byte, 8)...), pick[recAt:]...), ErrID},
		{"no endpoint", append(append(slices.Clone(pick[:recID]), make([]byte, 8)...), pick[recLen:]...), ErrID},
		{"pick without count", pick[:recLen+3], ErrTruncated},
		{"pick without length", pick[:pickLens+3], ErrLength},
		{"pick without its last block", pick[:len(pick)-1], ErrLength},
		{"pick of too many chains", set(slices.Clone(three), recLen+1, 0x11), ErrTooLarge},
		{"pick of a huge chain", set(slices.Clone(three), pickLens+3, 0xFF), ErrLength},
		{"cut event", event[:eventLen-1], ErrTruncated},
		{"cut health", health[:healthLen-1], ErrTruncated},
		{"withdrawal without what was held", encoded(4)[:len(encoded(4))-1], ErrLength},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := Open(tt.b); !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
		})
	}
}

// TestNewerWriter reads what a later version may write: more at the end of a record, and other kinds.
func TestNewerWriter(t *testing.T) {
	for _, want := range samples() {
		if diff := cmp.Diff(want, open(t, append(want.encode(), 1, 2, 3, 4, 5, 6, 7, 8))); diff != "" {
			t.Errorf("kind %d (-want +got):\n%s", want.Header.Kind, diff)
		}
	}
	first := samples()[0]
	b := first.encode()
	b[recKind] = 77
	if got := open(t, b).Header.Kind; got != 77 {
		t.Errorf("kind %d, want 77", got)
	}
}

// TestEndsBeyondTheHashes has chains that were cut: their ends lie behind the last hash that is left.
func TestEndsBeyondTheHashes(t *testing.T) {
	got := open(t, AppendPick(nil, &header, []int32{2, 5, 9}, []uint64{1, 2, 3}))
	if diff := cmp.Diff([][]uint64{{1, 2}, {3}, nil, nil}, got.Chains); diff != "" {
		t.Errorf("chains (-want +got):\n%s", diff)
	}
}

// TestChainsAreBounded reads no more blocks than are asked for, and finds the next chain all the same.
func TestChainsAreBounded(t *testing.T) {
	r, err := Open(AppendPick(nil, &header, []int32{3}, []uint64{1, 2, 3, 4}))
	if err != nil {
		t.Fatal(err)
	}
	first, from := r.AppendChain(nil, 0, 0, 2)
	second, _ := r.AppendChain(nil, 1, from, 2)
	if !slices.Equal(first, []uint64{1, 2}) || !slices.Equal(second, []uint64{4}) {
		t.Errorf("chains %v and %v", first, second)
	}
}

func TestRecordAllocatesNothing(t *testing.T) {
	ids, chain, b := make([]uint64, 100), make([]uint64, 0, 100), make([]byte, 0, 4096)
	ends := []int32{50}
	if n := testing.AllocsPerRun(100, func() {
		b = AppendPick(b[:0], &header, ends, ids)
		r, err := Open(b)
		if err != nil {
			t.Fatal(err)
		}
		chain, _ = r.AppendChain(chain[:0], 0, 0, 100)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzOpen checks that Open never panics, and that what it accepts encodes to bytes that decode to the same.
func FuzzOpen(f *testing.F) {
	for _, s := range samples() {
		f.Add(s.encode())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := Open(b)
		if err != nil {
			return
		}
		got := decode(&r)
		if got.Header.Kind < KindPick || got.Header.Kind > KindWithdrawal || r.from > 0 && len(got.Chains) == 0 {
			return
		}
		once := got.encode()
		if diff := cmp.Diff(got, open(t, once)); diff != "" {
			t.Errorf("after encoding (-before +after):\n%s", diff)
		}
		if again := open(t, once); !bytes.Equal(again.encode(), once) {
			t.Error("the second encoding differs from the first")
		}
	})
}
