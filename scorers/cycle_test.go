package scorers_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/zerohop/zerohop/scorers"
)

func TestParseMs(t *testing.T) {
	tests := []struct {
		in   string
		want float64
		ok   bool
	}{
		{"200", 200, true},
		{"2.5", 2.5, true},
		{"9223372036854775808", 1 << 63, true},
		{"1e3", 1000, true},
		{"", 0, false},
		{"0", 0, false},
		{"-1", 0, false},
		{"NaN", 0, false},
		{"Inf", 0, false},
		{"-Inf", 0, false},
		{"1e400", 0, false},
		{"200ms", 0, false},
		{" 200", 0, false}, // Headers.Get has no blanks
	}
	for _, tt := range tests {
		if got, ok := scorers.ParseMs([]byte(tt.in)); got != tt.want || ok != tt.ok {
			t.Errorf("%q = %v, %v, want %v, %v", tt.in, got, ok, tt.want, tt.ok)
		}
	}
}

func TestUncached(t *testing.T) {
	tests := []struct {
		name                             string
		tokens, block, total, match, uni int
		want                             int64
	}{
		{"nothing held", 100, 16, 6, 0, 0, 100},
		{"some held", 100, 16, 6, 4, 0, 36},
		{"all held, the rest of a block is not", 100, 16, 6, 6, 0, 4},
		{"last block not full", 90, 16, 6, 6, 0, 0},
		{"universal blocks come with a match", 100, 16, 4, 1, 2, 52},
		{"and not without", 100, 16, 4, 0, 2, 100},
		{"no blocks", 100, 16, 0, 0, 0, 100},
		{"more held than there is", 100, 16, 2, 5, 0, 68},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := scorers.Cycle{Request: scorers.Request{
				PromptTokens: tt.tokens, BlockTokens: tt.block, TotalBlocks: tt.total, Match: []int32{0, int32(tt.match)}, Universal: int32(tt.uni),
			}}
			if got := c.Uncached(1); got != tt.want {
				t.Errorf("uncached %d, want %d", got, tt.want)
			}
		})
	}
}

func TestKeep(t *testing.T) {
	tests := []struct {
		name string
		pass []bool
		want []int32
	}{
		{"all", []bool{true, true, true}, []int32{5, 3, 9}},
		{"some", []bool{true, false, true}, []int32{5, 9}},
		{"none", []bool{false, false, false}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := 0
			for _, p := range tt.pass {
				if p {
					n++
				}
			}
			c := scorers.Cycle{Pass: append(tt.pass, true)} // longer than needed
			if got := c.Keep([]int32{5, 3, 9}, n); !slices.Equal(got, tt.want) {
				t.Errorf("kept %v, want %v", got, tt.want)
			}
		})
	}
}

func TestHeaders(t *testing.T) {
	var h scorers.Headers
	if h.Get(0) != nil {
		t.Error("the zero value has a header")
	}
	for range 2 { // the second time with memory from the first
		h.Reset(4)
		if !h.Set(0, []byte(" a\t"), 10) || !h.Set(1, []byte("  "), 10) || !h.Set(2, []byte("bb"), 10) || !h.Set(2, []byte("ccc"), 10) {
			t.Fatal("a header was refused")
		}
		if h.Set(0, []byte("0123456789"), 10) || h.Set(4, []byte("x"), 10) {
			t.Error("too long a header, or one that is not registered, was taken")
		}
		if h.Get(0) != nil || h.Get(3) != nil || h.Get(9) != nil {
			t.Error("a header is there that is too long, absent or not registered")
		}
		if got := h.Get(1); got == nil || len(got) != 0 {
			t.Errorf("an empty header is %q", got)
		}
		if string(h.Get(2)) != "ccc" {
			t.Errorf("%q, want the last of two", h.Get(2))
		}
	}
	h.Reset(1)
	if h.Set(0, make([]byte, scorers.MaxHeaderText+1), math.MaxInt) {
		t.Error("more text was taken than spans can describe")
	}
	if !h.Set(0, []byte(strings.Repeat("x", scorers.MaxHeaderText)), math.MaxInt) || len(h.Get(0)) != scorers.MaxHeaderText {
		t.Error("the longest text was not taken")
	}
	value := []byte("value")
	if got := testing.AllocsPerRun(100, func() { h.Reset(1); h.Set(0, value, 100) }); got != 0 {
		t.Errorf("%v allocations", got)
	}
}

func TestHeaderSink(t *testing.T) {
	var s scorers.HeaderSink
	for range 2 {
		s.Reset()
		for i, name := range []string{"a", "bb", "", "d"} {
			if !s.Set(name, []byte(strings.Repeat("v", i))) {
				t.Fatalf("header %d was refused", i)
			}
		}
		if s.Set("e", nil) || s.Len() != scorers.MaxSinkHeaders {
			t.Error("one header too many was taken")
		}
		name, value := s.At(1)
		if string(name) != "bb" || string(value) != "v" {
			t.Errorf("%s: %s", name, value)
		}
	}
	s.Reset()
	if s.Set("a", make([]byte, scorers.MaxSinkBytes)) || !s.Set("a", make([]byte, scorers.MaxSinkBytes-1)) {
		t.Error("the limit of bytes is another")
	}
}

func TestRandFloat(t *testing.T) {
	r := scorers.NewRand(3)
	sum := 0.0
	for range 10000 {
		f := r.Float64()
		if f < 0 || f >= 1 {
			t.Fatalf("%v is outside [0,1)", f)
		}
		sum += f
	}
	if mean := sum / 10000; mean < .48 || mean > .52 {
		t.Errorf("mean %v", mean)
	}
}
