package report

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/shared/goldentest"
)

var reasons = []string{"no_body", "not_json", "all_cooling"}

// aged is a record of a report.
type aged struct {
	AgeMs  uint32
	Record record
}

func decodeAll(v View) (out []aged) {
	for it := v.Records(); it.Next(); {
		out = append(out, aged{it.AgeMs, decode(it.Record)})
	}
	return out
}

func TestReportRoundTrip(t *testing.T) {
	second := record{Worker: Worker{Epoch: 2, At: 9_999_999}}
	b, n, err := AppendReport([]byte("kept"), 77, 12_000_000, reasons, [][]byte{sample().encode(t), second.encode(t)})
	if err != nil || n != 2 {
		t.Fatal(n, err)
	}
	if !bytes.HasPrefix(b, []byte("kept")) {
		t.Error("AppendReport lost what dst held")
	}
	v, err := Open(b[4:])
	if err != nil {
		t.Fatal(err)
	}
	if v.Process() != 77 || v.Len() != 2 {
		t.Errorf("process %d, %d records", v.Process(), v.Len())
	}
	if d := cmp.Diff([]aged{{7, sample()}, {2, second}}, decodeAll(v)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(reasons, v.Reasons()); d != "" {
		t.Error(d)
	}
}

func TestFallbacksHaveNames(t *testing.T) {
	tests := []struct {
		name   string
		names  []string
		counts []uint64
		want   []Fallback
	}{
		{"none", reasons, nil, nil},
		{"as many", reasons, []uint64{1, 2, 3}, []Fallback{{"no_body", 1}, {"not_json", 2}, {"all_cooling", 3}}},
		{"older module", reasons, []uint64{1}, []Fallback{{"no_body", 1}}},
		{"newer module", reasons[:1], []uint64{1, 2}, []Fallback{{"no_body", 1}}},
		{"nameless", nil, []uint64{1}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, _, err := AppendReport(nil, 1, 0, tt.names, [][]byte{record{Worker: Worker{Epoch: 1}, Fallbacks: tt.counts}.encode(t)})
			if err != nil {
				t.Fatal(err)
			}
			v, err := Open(b)
			if err != nil {
				t.Fatal(err)
			}
			it := v.Records()
			if !it.Next() {
				t.Fatal("no record")
			}
			if d := cmp.Diff(tt.want, v.Fallbacks(nil, it.Record)); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestReportIsBounded takes as many records as fit, and all of them in turns.
func TestReportIsBounded(t *testing.T) {
	big := record{Worker: Worker{Epoch: 1}, Endpoints: slices.Repeat([]Endpoint{{ID: 1}}, 8000)}.encode(t)
	left := [][]byte{big, big, big, big, big, big, big}
	var taken []int
	for len(left) > 0 {
		b, n, err := AppendReport(nil, 1, 0, nil, left)
		if err != nil || len(b) > MaxReport || n == 0 {
			t.Fatal(len(b), n, err)
		}
		if v, err := Open(b); err != nil || v.Len() != n {
			t.Fatal(v.Len(), err)
		}
		taken = append(taken, n)
		left = left[n:]
	}
	if d := cmp.Diff([]int{2, 2, 2, 1}, taken); d != "" {
		t.Error(d)
	}
	// The largest record fits, so that a turn never takes none.
	b, err := AppendRecord(nil, &Worker{Epoch: 1}, slices.Repeat([]Endpoint{{ID: 1}}, MaxEndpoints), make([]uint64, MaxReasons))
	if err != nil {
		t.Fatal(err)
	}
	if _, n, err := AppendReport(nil, 1, 0, slices.Repeat([]string{strings.Repeat("r", MaxReason)}, MaxReasons), [][]byte{b}); n != 1 || err != nil {
		t.Errorf("%d taken, %v", n, err)
	}
}

func TestAgeIsBounded(t *testing.T) {
	const ms = 1_000_000
	tests := []struct {
		name    string
		at, now uint64
		want    uint32
	}{
		{"now", 5 * ms, 5 * ms, 0},
		{"stamp ahead", 6 * ms, 5 * ms, 0},
		{"less than one", 5 * ms, 6*ms - 1, 0},
		{"some", 5 * ms, 17 * ms, 12},
		{"ages", 0, math.MaxUint64, math.MaxUint32},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := ageMs(tt.at, tt.now); got != tt.want {
				t.Errorf("age %d ms, want %d", got, tt.want)
			}
		})
	}
}

func TestAppendRefuses(t *testing.T) {
	tests := []struct {
		name string
		got  func(dst []byte) ([]byte, error)
		want error
	}{
		{"epoch zero", func(b []byte) ([]byte, error) { return AppendRecord(b, &Worker{}, nil, nil) }, ErrID},
		{"id zero", func(b []byte) ([]byte, error) { return AppendRecord(b, &Worker{Epoch: 1}, make([]Endpoint, 1), nil) }, ErrID},
		{"endpoints", func(b []byte) ([]byte, error) {
			return AppendRecord(b, &Worker{Epoch: 1}, make([]Endpoint, MaxEndpoints+1), nil)
		}, ErrTooLarge},
		{"counters", func(b []byte) ([]byte, error) {
			return AppendRecord(b, &Worker{Epoch: 1}, nil, make([]uint64, MaxReasons+1))
		}, ErrTooLarge},
		{"reasons", func(b []byte) ([]byte, error) {
			b, _, err := AppendReport(b, 1, 0, slices.Repeat([]string{"a"}, MaxReasons+1), nil)
			return b, err
		}, ErrTooLarge},
		{"reason", func(b []byte) ([]byte, error) {
			b, _, err := AppendReport(b, 1, 0, []string{"a", "A"}, nil)
			return b, err
		}, ErrReason},
		{"record cut", func(b []byte) ([]byte, error) {
			b, _, err := AppendReport(b, 1, 0, nil, [][]byte{make([]byte, recHeaderLen-1)})
			return b, err
		}, ErrTruncated},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if b, err := tt.got([]byte("dst")); !errors.Is(err, tt.want) || string(b) != "dst" {
				t.Errorf("%d bytes, error %v, want %v", len(b), err, tt.want)
			}
		})
	}
}

func TestValidReason(t *testing.T) {
	tests := []struct {
		name string
		want bool
	}{
		{"no_body", true},
		{"v2", true},
		{strings.Repeat("a", MaxReason), true},
		{"", false},
		{"No", false},
		{"no-body", false},
		{"größe", false},
		{strings.Repeat("a", MaxReason+1), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if ValidReason([]byte(tt.name)) != tt.want || validReason(tt.name) != tt.want {
				t.Errorf("ValidReason(%q) is not %v", tt.name, tt.want)
			}
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	le := binary.LittleEndian
	reasonsLen := len("no_body") + len("not_json") + len("all_cooling") + 3
	first := repHeaderLen + reasonsLen
	tests := []struct {
		name   string
		change func([]byte) []byte
		want   error
	}{
		{"empty", func(b []byte) []byte { return nil }, ErrTruncated},
		{"record", func(b []byte) []byte { return sample().encode(t) }, ErrMagic},
		{"version", func(b []byte) []byte { b[offFormat]++; return b }, ErrVersion},
		{"bit", func(b []byte) []byte { b[len(b)-1]++; return b }, ErrChecksum},
		{"too large", func(b []byte) []byte { return reseal(append(b, make([]byte, MaxReport)...)) }, ErrTooLarge},
		{"header long", func(b []byte) []byte { le.PutUint16(b[offHeaderLen:], uint16(len(b))); return reseal(b) }, ErrLength},
		{"reasons", func(b []byte) []byte { le.PutUint16(b[repReasons:], MaxReasons+1); return reseal(b) }, ErrTooLarge},
		{"reasons missing", func(b []byte) []byte { le.PutUint16(b[repReasons:], 4); return reseal(b) }, ErrReason},
		{"reasons left", func(b []byte) []byte { le.PutUint16(b[repReasons:], 2); return reseal(b) }, ErrLength},
		{"reasons long", func(b []byte) []byte { le.PutUint32(b[repReasonsLen:], math.MaxUint32); return reseal(b) }, ErrLength},
		{"reason", func(b []byte) []byte { b[repHeaderLen+1] = '-'; return reseal(b) }, ErrReason},
		{"reason long", func(b []byte) []byte { b[repHeaderLen] = 255; return reseal(b) }, ErrReason},
		{"reason empty", func(b []byte) []byte { b[repHeaderLen] = 0; return reseal(b) }, ErrReason},
		{"records", func(b []byte) []byte { le.PutUint32(b[repRecords:], 2); return reseal(b) }, ErrLength},
		{"records beyond all", func(b []byte) []byte { le.PutUint32(b[repRecords:], math.MaxUint32); return reseal(b) }, ErrLength},
		{"record long", func(b []byte) []byte { le.PutUint32(b[first+entryLength:], math.MaxUint32); return reseal(b) }, ErrLength},
		{"record short", func(b []byte) []byte { le.PutUint32(b[first+entryLength:], 50); return reseal(b) }, ErrTruncated},
		{"record damaged", func(b []byte) []byte { b[len(b)-1]++; return reseal(b) }, ErrChecksum},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, _, err := AppendReport(nil, 1, 0, reasons, [][]byte{sample().encode(t)})
			if err != nil {
				t.Fatal(err)
			}
			v, err := Open(tt.change(b))
			if !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
			if v.Len() != 0 || v.Reasons() != nil || decodeAll(v) != nil {
				t.Error("a refused report gives a View with records")
			}
		})
	}
}

// TestOpenSkipsUnknown reads what a newer writer may send: longer headers and endpoints, flags, more sections.
func TestOpenSkipsUnknown(t *testing.T) {
	le := binary.LittleEndian
	const more = 24
	old := sample().encode(t)
	rec := append(slices.Clone(old[:recHeaderLen]), bytes.Repeat([]byte{0xAA}, more)...)
	for i := range sample().Endpoints {
		rec = append(rec, old[recHeaderLen+i*epLen:][:epLen]...)
		rec = append(rec, bytes.Repeat([]byte{0xBB}, more)...)
	}
	rec = append(rec, old[recHeaderLen+2*epLen:]...)
	rec = append(rec, "another section"...)
	le.PutUint16(rec[offHeaderLen:], recHeaderLen+more)
	le.PutUint16(rec[recEndpointLen:], epLen+more)
	reseal(rec)

	plain, _, err := AppendReport(nil, 77, 12_000_000, reasons, [][]byte{rec})
	if err != nil {
		t.Fatal(err)
	}
	b := append(slices.Clone(plain[:repHeaderLen]), bytes.Repeat([]byte{0xCC}, more)...)
	b = append(b, plain[repHeaderLen:]...)
	b = append(b, "another section"...)
	le.PutUint16(b[offHeaderLen:], repHeaderLen+more)
	v, err := Open(reseal(b))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]aged{{7, sample()}}, decodeAll(v)); d != "" {
		t.Error(d)
	}
}

func TestAllocations(t *testing.T) {
	s := sample()
	rec := make([]byte, 0, 1024)
	body := make([]byte, 0, 4096)
	records := make([][]byte, 1)
	if n := testing.AllocsPerRun(100, func() {
		var err error
		if records[0], err = AppendRecord(rec, &s.Worker, s.Endpoints, s.Fallbacks); err != nil {
			t.Fatal(err)
		}
		b, _, err := AppendReport(body, 1, 2, reasons, records)
		if err != nil {
			t.Fatal(err)
		}
		v, err := Open(b)
		if err != nil {
			t.Fatal(err)
		}
		for it := v.Records(); it.Next(); {
			var w Worker
			var e Endpoint
			it.Record.Worker(&w)
			it.Record.Endpoint(0, &e)
		}
	}); n != 0 {
		t.Errorf("a report allocates %v times, want 0", n)
	}
}

// TestGolden reads the file of every format version there ever was. The files are never rewritten.
func TestGolden(t *testing.T) {
	want, _, err := AppendReport(nil, 0x0102030405060708, 12_000_000, reasons, [][]byte{sample().encode(t)})
	if err != nil {
		t.Fatal(err)
	}
	got := goldentest.Read(t, "v1.bin", want)
	v, err := Open(got)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]aged{{7, sample()}}, decodeAll(v)); d != "" {
		t.Error(d)
	}
}

// FuzzOpen checks that Open never panics, and that what it accepts encodes to bytes that decode to the same and encode to
// themselves. Checksums are repaired first, since a fuzzer does not find them.
func FuzzOpen(f *testing.F) {
	s := sample()
	rec, _ := AppendRecord(nil, &s.Worker, s.Endpoints, s.Fallbacks)
	one, _, _ := AppendReport(nil, 1, 12_000_000, reasons, [][]byte{rec})
	two, _, _ := AppendReport(nil, 1, 12_000_000, nil, [][]byte{rec, rec})
	f.Add(one)
	f.Add(two)
	f.Add(rec)
	f.Fuzz(func(t *testing.T, b []byte) {
		b = slices.Clone(b)
		if len(b) >= recHeaderLen && string(b[:4]) == MagicRecord {
			if r, err := OpenRecord(reseal(b)); err == nil {
				checkStable(t, decode(r))
			}
			return
		}
		if len(b) < repHeaderLen {
			_, _ = Open(b)
			return
		}
		repair(b)
		v, err := Open(b)
		if err != nil {
			return
		}
		for _, a := range decodeAll(v) {
			checkStable(t, a.Record)
		}
		for it := v.Records(); it.Next(); {
			v.Fallbacks(nil, it.Record)
		}
	})
}

// repair repairs the checksums of b and of its records, as far as they can be found.
func repair(b []byte) {
	le := binary.LittleEndian
	at := uint64(le.Uint16(b[offHeaderLen:])) + uint64(le.Uint32(b[repReasonsLen:]))
	for range le.Uint32(b[repRecords:]) {
		if at+entryLen > uint64(len(b)) {
			break
		}
		n := uint64(le.Uint32(b[at+entryLength:]))
		if at += entryLen; n < recHeaderLen || at+n > uint64(len(b)) {
			break
		}
		reseal(b[at : at+n])
		at += n
	}
	reseal(b)
}
