package filter

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/zerohop/zerohop/scorers/sched"
	"github.com/zerohop/zerohop/shared/names"
)

func TestAppendText(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"none", "", "-"},
		{"plain", "meta-llama/Llama-3.1_8B:lora@v2+x", "meta-llama/Llama-3.1_8B:lora@v2+x"},
		{"blank and equals sign", "a b=c", "a%20b%3Dc"},
		{"percent", "%41", "%2541"},
		{"quote, line end, nul", "\"\n\x00", "%22%0A%00"},
		{"beyond ASCII", "ü", "%C3%BC"},
		{"longest", strings.Repeat("m", 128), strings.Repeat("m", 128)},
		{"too long", strings.Repeat("m", 129), strings.Repeat("m", 128)},
		{"cut before an escape", strings.Repeat("m", 126) + "  ", strings.Repeat("m", 126)},
		{"cut behind an escape", strings.Repeat("m", 125) + "  ", strings.Repeat("m", 125) + "%20"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(appendText([]byte("x="), tt.text)); got != "x="+tt.want {
				t.Errorf("%q is written as %q, want %q", tt.text, got, tt.want)
			}
		})
	}
}

// chainHost notes the chain property.
type chainHost struct {
	*fakeHost
	chain string
	wrote bool
}

func (h *chainHost) SetProperty(name string, value []byte) {
	if name == names.StateChain {
		h.chain, h.wrote = string(value), true
	}
}

// TestLogChain looks at which hashes are written for prompts of different lengths.
func TestLogChain(t *testing.T) {
	tests := []struct {
		name   string
		blocks int
		starts []int32
		on     bool
		want   []int // positions of the hashes, counted from 1
	}{
		{"off", 4, []int32{0}, false, nil},
		{"no block", 0, nil, true, nil},
		{"one block", 1, []int32{0}, true, []int{1}},
		{"two", 2, []int32{0}, true, []int{1, 2}},
		{"three", 3, []int32{0}, true, []int{1, 2, 3}},
		{"four", 4, []int32{0}, true, []int{1, 2, 4}},
		{"five", 5, []int32{0}, true, []int{1, 2, 4, 5}},
		{"longest by default", 2048, []int32{0}, true, []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048}},
		{"beyond", 2049, []int32{0}, true, []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 2049}},
		{"far beyond", 10000, []int32{0}, true, []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 10000}},
		{"first of several prompts", 10, []int32{0, 3, 7}, true, []int{1, 2, 3}},
		{"first prompt without a block", 10, []int32{0, 0}, true, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v, fake := configured(t)
			h := &chainHost{fakeHost: fake}
			v.host, v.plan.Log.Chain = h, tt.on
			p := sched.Prompt{Starts: tt.starts}
			for i := range tt.blocks {
				p.IDs = append(p.IDs, uint64(i+1)<<40)
			}
			s := &v.streams[v.newStream(10)]
			s.d.Total = int32(tt.blocks)
			v.logChain(s, &p)
			var want []string
			for _, n := range tt.want {
				want = append(want, string(appendHex(nil, uint64(n)<<40, 16)))
			}
			if got := strings.Join(want, ","); h.chain != got || h.wrote != (len(want) > 0) {
				t.Errorf("chain %s, want %s", h.chain, got)
			}
		})
	}
}

func TestAppendInt(t *testing.T) {
	for _, n := range []int64{0, 9, 10, 99, 100, 123456789, math.MaxInt32, math.MaxUint32, math.MaxUint32 + 1, math.MaxInt64, -1, math.MinInt64} {
		if got, want := string(appendInt([]byte("x"), " n=", n)), "x n="+strconv.FormatInt(n, 10); got != want {
			t.Errorf("%d is written as %q, want %q", n, got, want)
		}
	}
}

func BenchmarkAppendInt(b *testing.B) {
	line := make([]byte, 0, 64)
	for b.Loop() {
		line = appendInt(appendInt(line[:0], " tokens=", 150), " block=", 64)
	}
}
