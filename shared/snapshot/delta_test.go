package snapshot

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/cespare/xxhash/v2"

	"github.com/zerohop/zerohop/shared/goldentest"
)

// fleet returns n scraped endpoints and encodes them as version 1.
func fleet(t testing.TB, n int) ([]Endpoint, []byte) {
	t.Helper()
	eps := many(n)
	for i := range eps {
		eps[i].ScrapeAgeMs, eps[i].ScrapeSeq, eps[i].Waiting = uint32(i%250), 7, uint32(i)
	}
	return eps, mustAppend(t, 1, eps)
}

// later returns eps after ms milliseconds in which the first scraped endpoints were scraped again.
func later(eps []Endpoint, ms uint32, scraped int) []Endpoint {
	next := slices.Clone(eps)
	for i := range next {
		next[i].ScrapeAgeMs = aged(next[i].ScrapeAgeMs, ms)
		if i < scraped {
			next[i].ScrapeAgeMs, next[i].ScrapeSeq = 3, next[i].ScrapeSeq+1
			next[i].Waiting, next[i].KVUsage = next[i].Waiting+1, 0.25
		}
	}
	return next
}

func TestDelta(t *testing.T) {
	eps, base := fleet(t, 200)
	change := func(i int, change func(*Endpoint)) []Endpoint {
		next := later(eps, 10, 5)
		change(&next[i])
		return next
	}
	tests := []struct {
		name string
		next []Endpoint
		size int // of the delta, 0 if there is none
	}{
		{"only the version", eps, 72},
		{"all aged", later(eps, 10, 0), 72},
		{"some scraped", later(eps, 10, 9), 72 + 9*36},
		{"every field of one", change(100, func(e *Endpoint) {
			e.Flags, e.ScrapeAgeMs, e.ScrapeSeq, e.Waiting, e.Running = math.MaxUint16, 1, 2, 3, 4
			e.KVUsage, e.BlockSize, e.NumBlocks = 5, 6, 7
		}), 72 + 6*36},
		{"draining", change(100, func(e *Endpoint) { e.Flags = Draining }), 72 + 6*36},
		{"never scraped", change(100, func(e *Endpoint) { e.ScrapeAgeMs = NeverScraped }), 72 + 6*36},
		{"oldest", change(100, func(e *Endpoint) { e.ScrapeAgeMs = NeverScraped - 1 }), 72 + 6*36},
		{"all scraped", later(eps, 10, 200), 72 + 200*36},
		{"one gone", eps[1:], 0},
		{"one more", append(slices.Clone(eps), endpoint("ns/new", "10.9.9.9:1")), 0},
		{"other name of the same length", change(3, func(e *Endpoint) {
			e.Name = []byte("NS/pod-3")
		}), 0},
		{"other id", change(3, func(e *Endpoint) { e.ID ^= 1 }), 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			next := mustAppend(t, 2, tt.next)
			delta, ok := AppendDelta([]byte("kept"), base, next)
			if !bytes.HasPrefix(delta, []byte("kept")) {
				t.Fatal("AppendDelta lost what dst held")
			}
			if delta = delta[4:]; ok != (tt.size != 0) || len(delta) != tt.size {
				t.Fatalf("delta of %d bytes, %v, want %d of %d", len(delta), ok, tt.size, len(next))
			}
			if ok {
				checkDelta(t, base, delta, next)
			}
		})
	}
}

// checkDelta applies delta and checks everything that is said of it.
func checkDelta(t *testing.T, base, delta, next []byte) {
	t.Helper()
	if !IsDelta(delta) || IsDelta(next) {
		t.Error("IsDelta is wrong")
	}
	b, _ := Open(base)
	if v, err := DeltaBase(delta); err != nil || v != b.Version() {
		t.Errorf("DeltaBase = %d, %v", v, err)
	}
	got, err := ApplyDelta([]byte("kept"), base, delta)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, append([]byte("kept"), next...)) {
		t.Error("the result is not the next snapshot")
	}
}

func TestDeltaAgesSaturate(t *testing.T) {
	eps, _ := fleet(t, 60)
	eps[7].ScrapeAgeMs, eps[8].ScrapeAgeMs = NeverScraped, NeverScraped-3
	base, next := mustAppend(t, 1, eps), mustAppend(t, 2, later(eps, 10, 0))
	delta, ok := AppendDelta(nil, base, next)
	if !ok || len(delta) != delHeader {
		t.Fatalf("delta of %d bytes, %v", len(delta), ok)
	}
	checkDelta(t, base, delta, next)
}

func TestDeltaPays(t *testing.T) {
	eps, base := fleet(t, 26)
	pays := (len(base) - minSaving - delHeader) / (indexLen + patchLen)
	for _, scraped := range []int{pays, pays + 1} {
		_, ok := AppendDelta(nil, base, mustAppend(t, 2, later(eps, 10, scraped)))
		if ok != (scraped == pays) {
			t.Errorf("a delta with %d changes of a snapshot of %d bytes: %v", scraped, len(base), ok)
		}
	}
}

func TestSmallSnapshotsTravelWhole(t *testing.T) {
	eps, base := fleet(t, 16)
	if delta, ok := AppendDelta(nil, base, mustAppend(t, 2, later(eps, 10, 1))); ok {
		t.Errorf("delta of %d bytes for a snapshot of %d", len(delta), len(base))
	}
	for _, b := range [][]byte{nil, base[:10], []byte("<html><body>not a snapshot at all, but long enough</body></html>")} {
		if _, ok := AppendDelta(nil, b, b); ok {
			t.Errorf("delta of %q", b)
		}
	}
}

func TestApplyDeltaRefuses(t *testing.T) {
	eps, base := fleet(t, 100)
	next := mustAppend(t, 2, later(eps, 10, 5))
	delta, ok := AppendDelta(nil, base, next)
	if !ok {
		t.Fatal("no delta")
	}
	le := binary.LittleEndian
	put16 := func(off int, v uint16) func(b, d []byte) ([]byte, []byte) {
		return func(b, d []byte) ([]byte, []byte) { le.PutUint16(d[off:], v); return b, reseal(d) }
	}
	put32 := func(off int, v uint32) func(b, d []byte) ([]byte, []byte) {
		return func(b, d []byte) ([]byte, []byte) { le.PutUint32(d[off:], v); return b, reseal(d) }
	}
	tests := []struct {
		name   string
		change func(base, delta []byte) ([]byte, []byte)
		want   error
	}{
		{"empty", func(b, _ []byte) ([]byte, []byte) { return b, nil }, ErrTruncated},
		{"cut", func(b, d []byte) ([]byte, []byte) { return b, d[:len(d)-1] }, ErrTruncated},
		{"too long", func(b, d []byte) ([]byte, []byte) { return b, append(d, 0) }, ErrLength},
		{"snapshot", func(b, _ []byte) ([]byte, []byte) { return b, b }, ErrMagic},
		{"format", put32(offFormat, 2), ErrVersion},
		{"bit", func(b, d []byte) ([]byte, []byte) { d[len(d)-1] ^= 1; return b, d }, ErrChecksum},
		{"no base", func(_, d []byte) ([]byte, []byte) { return nil, d }, ErrBase},
		{"base is the result", func(_, d []byte) ([]byte, []byte) { return next, d }, ErrBase},
		{"base of another agent", func(b, d []byte) ([]byte, []byte) { b[len(b)-1]++; return reseal(b), d }, ErrBase},
		{"base with other magic", func(b, d []byte) ([]byte, []byte) { b[0]++; return b, d }, ErrBase},
		{"base cut", func(b, d []byte) ([]byte, []byte) { return b[:len(b)-1], d }, ErrBase},
		{"base damaged", func(b, d []byte) ([]byte, []byte) { b[len(b)-1]++; return b, d }, ErrChecksum},
		{"wrong result", func(b, d []byte) ([]byte, []byte) { d[len(d)-1]++; return b, reseal(d) }, ErrChecksum},
		{"wrong shift", put32(delShift, 11), ErrChecksum},
		{"patch of an id", put16(delPatchOff, recNameLen), ErrLength},
		{"patch beyond the record", put16(delPatchOff, recordLen), ErrLength},
		{"patch too long", put16(delPatchLen, math.MaxUint16), ErrLength},
		{"too many changes", put32(delCount, math.MaxUint32), ErrLength},
		{"header beyond the end", put16(offHeaderLen, math.MaxUint16), ErrLength},
		{"header too short", put16(offHeaderLen, delHeader-1), ErrLength},
		{"index too large", put32(delHeader, 100), ErrLength},
		{"index repeated", put32(delHeader+indexLen+patchLen, le.Uint32(delta[delHeader:])), ErrLength},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, d := tt.change(slices.Clone(base), slices.Clone(delta))
			got, err := ApplyDelta([]byte("dst"), b, d)
			if !errors.Is(err, tt.want) || string(got) != "dst" {
				t.Errorf("%d bytes, error %v, want %v", len(got), err, tt.want)
			}
		})
	}
}

// TestDeltaOfNewerWriter applies a delta whose header and records are longer than this package writes.
func TestDeltaOfNewerWriter(t *testing.T) {
	const stride = recordLen + 16
	widen := func(b []byte, fill byte) []byte {
		count := int(binary.LittleEndian.Uint32(b[offCount:]))
		out := slices.Clone(b[:headerLen])
		for i := range count {
			out = append(out, b[headerLen+i*recordLen:][:recordLen]...)
			out = append(out, bytes.Repeat([]byte{fill}, stride-recordLen)...)
		}
		out = append(out, b[headerLen+count*recordLen:]...)
		binary.LittleEndian.PutUint16(out[offRecordLen:], stride)
		return reseal(out)
	}
	eps, old := fleet(t, 1)
	base, next := widen(old, 1), widen(mustAppend(t, 2, eps), 2)
	const off = recNumBlocks
	d := make([]byte, delHeader+8)
	putDelta(d, base, next, 1, stride-off, 0)
	binary.LittleEndian.PutUint16(d[offHeaderLen:], delHeader+8)
	binary.LittleEndian.PutUint16(d[delPatchOff:], off)
	d = append(d, 0, 0, 0, 0)
	d = append(d, next[headerLen+off:headerLen+stride]...)
	checkDelta(t, base, reseal(d), next)
}

func TestDeltaAllocations(t *testing.T) {
	eps, base := fleet(t, 100)
	next := mustAppend(t, 2, later(eps, 10, 20))
	delta, out := make([]byte, 0, len(base)), make([]byte, 0, len(base))
	if n := testing.AllocsPerRun(20, func() {
		d, ok := AppendDelta(delta, base, next)
		if !ok {
			t.Fatal("no delta")
		}
		if _, err := ApplyDelta(out, base, d); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("a delta allocates %v times, want 0", n)
	}
}

// TestDeltaGolden checks that the file of the format version still says what it said. It is never rewritten.
func TestDeltaGolden(t *testing.T) {
	eps, base := fleet(t, 40)
	next := mustAppend(t, 2, later(eps, 17, 3))
	want, ok := AppendDelta(nil, base, next)
	if !ok {
		t.Fatal("no delta")
	}
	got := goldentest.Read(t, "v1.delta.bin", want)
	checkDelta(t, base, got, next)
}

// FuzzDelta makes two snapshots from a seed: apply(base, delta(base, next)) is next.
func FuzzDelta(f *testing.F) {
	f.Add(uint64(1), uint16(100), uint8(10), uint32(10))
	f.Add(uint64(2), uint16(40), uint8(255), uint32(math.MaxUint32))
	f.Add(uint64(3), uint16(0), uint8(0), uint32(0))
	f.Fuzz(func(t *testing.T, seed uint64, n uint16, share uint8, ms uint32) {
		r := rand.New(rand.NewPCG(seed, 0))
		eps := many(int(n) % 512)
		for i := range eps {
			scramble(r, &eps[i])
		}
		next := slices.Clone(eps)
		for i := range next {
			next[i].ScrapeAgeMs = aged(next[i].ScrapeAgeMs, ms)
			if uint8(r.Uint32()) < share {
				scramble(r, &next[i])
			}
		}
		if r.IntN(16) == 0 && len(next) > 0 {
			next[0] = endpoint("ns/other", "10.1.0.0:8000")
		}
		a, b := mustAppend(t, r.Uint64(), eps), mustAppend(t, r.Uint64(), next)
		if delta, ok := AppendDelta(nil, a, b); ok {
			if len(delta)+minSaving > len(b) {
				t.Errorf("a delta of %d bytes does not pay for a snapshot of %d", len(delta), len(b))
			}
			checkDelta(t, a, delta, b)
		}
	})
}

// scramble sets every field that a delta can change.
func scramble(r *rand.Rand, e *Endpoint) {
	e.Flags, e.ScrapeAgeMs, e.ScrapeSeq = uint16(r.Uint32()), r.Uint32(), r.Uint32()
	e.Waiting, e.Running, e.KVUsage, e.BlockSize, e.NumBlocks = r.Uint32(), r.Uint32(), r.Float32(), r.Uint32(), r.Uint32()
	if r.IntN(8) == 0 {
		e.ScrapeAgeMs = NeverScraped
	}
}

// FuzzApplyDelta checks that ApplyDelta never panics and gives nothing but the snapshot that the delta's checksum is of.
func FuzzApplyDelta(f *testing.F) {
	eps, base := fleet(f, 40)
	delta, _ := AppendDelta(nil, base, mustAppend(f, 2, later(eps, 17, 3)))
	f.Add(base, delta)
	f.Add(base, delta[:len(delta)-patchLen])
	f.Add(base[:headerLen], delta[:delHeader])
	f.Fuzz(func(t *testing.T, base, delta []byte) {
		if len(delta) >= delHeader {
			delta = reseal(slices.Clone(delta))
			if len(base) >= headerLen {
				base = reseal(slices.Clone(base))
				copy(delta[delBaseSum:], base[offChecksum:offChecksum+8])
				copy(delta[delBase:], base[offVersion:offVersion+8])
				delta = reseal(delta)
			}
		}
		got, err := ApplyDelta(nil, base, delta)
		if err != nil {
			return
		}
		if len(got) != len(base) || xxhash.Sum64(got[offTotal:]) != binary.LittleEndian.Uint64(delta[delSum:]) {
			t.Error("the result is not what the delta's checksum is of")
		}
		if _, err := DeltaBase(delta); err != nil {
			t.Errorf("a delta without a base was applied: %v", err)
		}
	})
}

// BenchmarkDelta compares the ways to the next snapshot, of which a tenth was scraped: encode and apply are those of a
// delta, whole is what the reader of a whole snapshot is spared nothing of.
func BenchmarkDelta(b *testing.B) {
	for _, n := range []int{16, 100, 1000} {
		eps, base := fleet(b, n)
		next := mustAppend(b, 2, later(eps, 25, max(n/10, 1)))
		out := make([]byte, 0, len(next))
		delta, ok := AppendDelta(nil, base, next)
		b.Run("encode/"+strconv.Itoa(n), func(b *testing.B) {
			for b.Loop() {
				AppendDelta(out, base, next)
			}
			b.ReportMetric(float64(len(delta)), "delta-bytes")
			b.ReportMetric(float64(len(next)), "whole-bytes")
		})
		if !ok {
			continue
		}
		b.Run("apply/"+strconv.Itoa(n), func(b *testing.B) {
			for b.Loop() {
				if _, err := ApplyDelta(out, base, delta); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
