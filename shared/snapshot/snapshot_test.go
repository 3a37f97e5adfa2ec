package snapshot

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

	"github.com/zerohop/zerohop/shared/goldentest"
)

func endpoint(name, address string) Endpoint {
	return Endpoint{ID: EndpointID([]byte(name), []byte(address)), Name: []byte(name), Address: []byte(address)}
}

// sample returns endpoints in ascending order of ID, in which every field differs from its neighbours.
func sample() []Endpoint {
	a := endpoint("default/vllm-0", "10.0.0.1:8000")
	a.ScrapeAgeMs, a.ScrapeSeq, a.Waiting, a.Running, a.KVUsage = 17, 4711, 3, 12, 0.625
	a.BlockSize, a.NumBlocks = 16, 27_000
	b := endpoint("default/vllm-1", "[2001:db8::1]:8000")
	b.ScrapeAgeMs = NeverScraped
	c := endpoint("other/sglang-rank-1", "10.0.0.1:8001")
	c.Flags, c.ScrapeAgeMs, c.ScrapeSeq, c.KVUsage = Draining, 60_000, 1, 1
	eps := []Endpoint{a, b, c}
	slices.SortFunc(eps, func(x, y Endpoint) int {
		if x.ID < y.ID {
			return -1
		}
		return 1
	})
	return eps
}

// many returns n endpoints with distinct ids, in no particular order.
func many(n int) []Endpoint {
	eps := make([]Endpoint, n)
	for i := range eps {
		eps[i] = endpoint("ns/pod-"+strconv.Itoa(i), "10.1."+strconv.Itoa(i/256)+"."+strconv.Itoa(i%256)+":8000")
	}
	return eps
}

func mustAppend(t testing.TB, version uint64, eps []Endpoint) []byte {
	t.Helper()
	b, err := Append(nil, version, eps)
	if err != nil {
		t.Fatalf("Append: %v", err)
	}
	return b
}

// all copies every endpoint out of v.
func all(v View) []Endpoint {
	eps := make([]Endpoint, v.Len())
	for i := range eps {
		v.Endpoint(i, &eps[i])
	}
	return eps
}

func TestRoundTrip(t *testing.T) {
	tests := []struct {
		name string
		eps  []Endpoint
	}{
		{"none", []Endpoint{}},
		{"sample", sample()},
		{"without a name", []Endpoint{endpoint("", "10.0.0.1:1")}},
		{"longest name", []Endpoint{endpoint(string(bytes.Repeat([]byte("n"), MaxName)), "10.0.0.1:1")}},
		{"extremes", []Endpoint{{
			ID: math.MaxUint64, Name: []byte("ns/größe"), Address: []byte("[::]:65535"), Flags: math.MaxUint16,
			ScrapeAgeMs: math.MaxUint32, ScrapeSeq: math.MaxUint32, Waiting: math.MaxUint32, Running: math.MaxUint32,
			KVUsage: math.MaxFloat32, BlockSize: math.MaxUint32, NumBlocks: math.MaxUint32,
		}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			prefix := []byte("kept")
			b, err := Append(prefix, 42, tt.eps)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.HasPrefix(b, prefix) {
				t.Error("Append lost what dst held")
			}
			v, err := Open(b[len(prefix):])
			if err != nil {
				t.Fatal(err)
			}
			if v.Version() != 42 {
				t.Errorf("version %d, want 42", v.Version())
			}
			if diff := cmp.Diff(tt.eps, all(v)); diff != "" {
				t.Errorf("endpoints (-want +got):\n%s", diff)
			}
		})
	}
}

func TestZeroView(t *testing.T) {
	var v View
	if v.Len() != 0 || v.Version() != 0 {
		t.Errorf("zero View: len %d, version %d, want 0, 0", v.Len(), v.Version())
	}
}

func TestOrderDoesNotMatter(t *testing.T) {
	eps := many(50)
	want := mustAppend(t, 7, eps)
	slices.Reverse(eps)
	if got := mustAppend(t, 7, eps); !bytes.Equal(got, want) {
		t.Error("the same endpoints in another order give other bytes")
	}
}

func TestAppendRefuses(t *testing.T) {
	with := func(change func(*Endpoint)) []Endpoint {
		eps := sample()
		change(&eps[1])
		return eps
	}
	tests := []struct {
		name string
		eps  []Endpoint
		want error
	}{
		{"zero id", with(func(e *Endpoint) { e.ID = 0 }), ErrID},
		{"repeated id", with(func(e *Endpoint) { e.ID = sample()[0].ID }), ErrID},
		{"address", with(func(e *Endpoint) { e.Address = []byte("localhost:80") }), ErrAddress},
		{"name with line feed", with(func(e *Endpoint) { e.Name = []byte("a\nb") }), ErrName},
		{"name with delete", with(func(e *Endpoint) { e.Name = []byte("a\x7fb") }), ErrName},
		{"name too long", with(func(e *Endpoint) { e.Name = bytes.Repeat([]byte("n"), MaxName+1) }), ErrName},
		{"kv usage NaN", with(func(e *Endpoint) { e.KVUsage = float32(math.NaN()) }), ErrKVUsage},
		{"kv usage infinite", with(func(e *Endpoint) { e.KVUsage = float32(math.Inf(1)) }), ErrKVUsage},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dst := []byte("dst")
			b, err := Append(dst, 1, tt.eps)
			if !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
			if want := "endpoint 1: " + tt.want.Error(); err.Error() != want {
				t.Errorf("error %q, want %q", err, want)
			}
			if string(b) != "dst" {
				t.Errorf("dst is %q after an error", b)
			}
		})
	}
}

func TestEndpointID(t *testing.T) {
	long := bytes.Repeat([]byte("n"), 300)
	tests := []struct {
		name, epName, address string
	}{
		{"usual", "default/vllm-0", "10.0.0.1:8000"},
		{"empty", "", ""},
		{"longer than a hash block", string(long), "10.0.0.1:8000"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := xxhash.Sum64String(tt.epName + "\x00" + tt.address)
			if got := EndpointID([]byte(tt.epName), []byte(tt.address)); got != want {
				t.Errorf("EndpointID = %#x, want %#x", got, want)
			}
		})
	}
	if EndpointID([]byte("a"), []byte("bc")) == EndpointID([]byte("ab"), []byte("c")) {
		t.Error("name and address run into each other")
	}
}

func TestAllocations(t *testing.T) {
	b := mustAppend(t, 1, many(100))
	var e Endpoint
	if n := testing.AllocsPerRun(20, func() {
		v, err := Open(b)
		if err != nil {
			t.Fatal(err)
		}
		for i := range v.Len() {
			v.Endpoint(i, &e)
			if EndpointID(e.Name, e.Address) != e.ID {
				t.Fatal("wrong id")
			}
		}
	}); n != 0 {
		t.Errorf("reading a snapshot allocates %v times, want 0", n)
	}
}

// TestGolden reads the file of every format version there ever was. The files are never rewritten.
func TestGolden(t *testing.T) {
	want := mustAppend(t, 0x0102030405060708, sample())
	got := goldentest.Read(t, "v1.bin", want)
	v, err := Open(got)
	if err != nil {
		t.Fatal(err)
	}
	if v.Version() != 0x0102030405060708 {
		t.Errorf("version %#x", v.Version())
	}
	if diff := cmp.Diff(sample(), all(v)); diff != "" {
		t.Errorf("endpoints (-want +got):\n%s", diff)
	}
}

// reseal repairs the total length and the checksum of a changed snapshot, so that the change itself is what Open meets.
func reseal(b []byte) []byte {
	binary.LittleEndian.PutUint32(b[offTotal:], uint32(len(b)))
	binary.LittleEndian.PutUint64(b[offChecksum:], xxhash.Sum64(b[offTotal:]))
	return b
}

func BenchmarkOpen(b *testing.B) {
	for _, n := range []int{16, 1000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			blob := mustAppend(b, 1, many(n))
			b.SetBytes(int64(len(blob)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Open(blob); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
