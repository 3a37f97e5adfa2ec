package report

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/google/go-cmp/cmp"
)

// record is what a Record holds.
type record struct {
	Worker    Worker
	Endpoints []Endpoint
	Fallbacks []uint64
}

// sample is a record in which every field differs from its neighbours.
func sample() record {
	return record{
		Worker: Worker{
			Epoch: 0xA1, Revision: 0xB2, Snapshot: 0xC3, At: 5_000_000, PlanMin: 1, PlanMax: 2, Number: 3, Flags: Leading,
			Picks: 100, Retries: 7, Failures: 8,
		},
		Endpoints: []Endpoint{
			{ID: 0xFFFF, InFlight: 4, InFlightTokens: 5, Picks: 60, Fallbacks: 1, Failures: 2, Flags: CoolingDown},
			{ID: 0x11, Picks: 40},
		},
		Fallbacks: []uint64{0, 1, 1 << 40},
	}
}

func (r record) encode(t testing.TB) []byte {
	t.Helper()
	b, err := AppendRecord(nil, &r.Worker, r.Endpoints, r.Fallbacks)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// decode copies everything out of r.
func decode(r Record) record {
	var out record
	r.Worker(&out.Worker)
	for i := range r.Len() {
		var e Endpoint
		r.Endpoint(i, &e)
		out.Endpoints = append(out.Endpoints, e)
	}
	for i := range r.Reasons() {
		out.Fallbacks = append(out.Fallbacks, r.Fallbacks(i))
	}
	return out
}

func TestRecordRoundTrip(t *testing.T) {
	tests := []struct {
		name string
		rec  record
	}{
		{"sample", sample()},
		{"empty", record{Worker: Worker{Epoch: 1}}},
		{"extremes", record{
			Worker: Worker{
				Epoch: math.MaxUint64, Revision: math.MaxUint64, Snapshot: math.MaxUint64, At: math.MaxUint64, PlanMin: math.MaxUint16,
				PlanMax: math.MaxUint16, Number: math.MaxUint16, Flags: math.MaxUint16, Picks: math.MaxUint64, Retries: math.MaxUint64, Failures: math.MaxUint64,
			},
			Endpoints: []Endpoint{{
				ID: math.MaxUint64, InFlight: math.MaxUint32, InFlightTokens: math.MaxUint64, Picks: math.MaxUint64,
				Fallbacks: math.MaxUint64, Failures: math.MaxUint64, Flags: math.MaxUint16,
			}},
			Fallbacks: []uint64{math.MaxUint64},
		}},
		{"most", record{Worker: Worker{Epoch: 1}, Endpoints: slices.Repeat([]Endpoint{{ID: 1}}, MaxEndpoints), Fallbacks: make([]uint64, MaxReasons)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, err := AppendRecord([]byte("kept"), &tt.rec.Worker, tt.rec.Endpoints, tt.rec.Fallbacks)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.HasPrefix(b, []byte("kept")) {
				t.Error("AppendRecord lost what dst held")
			}
			r, err := OpenRecord(b[4:])
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.rec, decode(r)); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestRecordIsSmall holds the size that makes a record cheap to write: 16 endpoints and the filter's reasons.
func TestRecordIsSmall(t *testing.T) {
	b, err := AppendRecord(nil, &Worker{Epoch: 1}, slices.Repeat([]Endpoint{{ID: 1}}, 16), make([]uint64, 15))
	if err != nil || len(b) >= 1024 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}

// reseal repairs the total length and the checksum of a changed record or report, so that the change itself is met.
func reseal(b []byte) []byte {
	binary.LittleEndian.PutUint32(b[offTotal:], uint32(len(b)))
	binary.LittleEndian.PutUint64(b[offChecksum:], xxhash.Sum64(b[offTotal:]))
	return b
}

func TestOpenRecordRefuses(t *testing.T) {
	le := binary.LittleEndian
	tests := []struct {
		name   string
		change func([]byte) []byte
		want   error
	}{
		{"empty", func(b []byte) []byte { return nil }, ErrTruncated},
		{"cut", func(b []byte) []byte { return b[:len(b)-1] }, ErrTruncated},
		{"byte too many", func(b []byte) []byte { return append(b, 0) }, ErrLength},
		{"short and foreign", func(b []byte) []byte { return []byte("<html>") }, ErrMagic},
		{"magic", func(b []byte) []byte { b[0]++; return b }, ErrMagic},
		{"version", func(b []byte) []byte { b[offFormat]++; return b }, ErrVersion},
		{"bit", func(b []byte) []byte { b[len(b)-1]++; return b }, ErrChecksum},
		{"header short", func(b []byte) []byte { le.PutUint16(b[offHeaderLen:], recHeaderLen-1); return reseal(b) }, ErrLength},
		{"header long", func(b []byte) []byte { le.PutUint16(b[offHeaderLen:], math.MaxUint16); return reseal(b) }, ErrLength},
		{"endpoint short", func(b []byte) []byte { le.PutUint16(b[recEndpointLen:], epLen-1); return reseal(b) }, ErrLength},
		{"endpoint long", func(b []byte) []byte { le.PutUint16(b[recEndpointLen:], math.MaxUint16); return reseal(b) }, ErrLength},
		{"count", func(b []byte) []byte { le.PutUint32(b[recCount:], 3); return reseal(b) }, ErrLength},
		{"count beyond all", func(b []byte) []byte { le.PutUint32(b[recCount:], math.MaxUint32); return reseal(b) }, ErrTooLarge},
		{"counters", func(b []byte) []byte { le.PutUint16(b[recFallbacks:], 4); return reseal(b) }, ErrLength},
		{"counters beyond all", func(b []byte) []byte { le.PutUint16(b[recFallbacks:], MaxReasons+1); return reseal(b) }, ErrTooLarge},
		{"epoch", func(b []byte) []byte { le.PutUint64(b[recEpoch:], 0); return reseal(b) }, ErrID},
		{"id", func(b []byte) []byte { le.PutUint64(b[recHeaderLen:], 0); return reseal(b) }, ErrID},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := OpenRecord(tt.change(sample().encode(t)))
			if !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
			if d := cmp.Diff(record{}, decode(r)); d != "" {
				t.Error(d)
			}
		})
	}
}

func checkStable(t *testing.T, rec record) {
	t.Helper()
	once := rec.encode(t)
	r, err := OpenRecord(once)
	if err != nil {
		t.Fatalf("what AppendRecord writes is refused: %v", err)
	}
	if d := cmp.Diff(rec, decode(r)); d != "" {
		t.Error(d)
	}
	if !bytes.Equal(once, decode(r).encode(t)) {
		t.Error("the second encoding differs from the first")
	}
}

func BenchmarkAppendRecord(b *testing.B) {
	for _, n := range []int{16, 1000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			eps := slices.Repeat([]Endpoint{{ID: 1, Picks: 7}}, n)
			w, counts := Worker{Epoch: 1}, make([]uint64, 15)
			buf := make([]byte, 0, 64<<10)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := AppendRecord(buf, &w, eps, counts); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
