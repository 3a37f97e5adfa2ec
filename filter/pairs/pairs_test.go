package pairs_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/filter/pairs"
)

func collect(b []byte) []string {
	var out []string
	r := pairs.Read(b)
	for {
		k, v, ok := r.Next()
		if !ok {
			return out
		}
		out = append(out, string(k), string(v))
	}
}

func TestRoundTrip(t *testing.T) {
	for _, tc := range []struct {
		name string
		kv   []string
	}{
		{"empty", nil},
		{"one", []string{":path", "/v1/chat/completions"}},
		{"empty value", []string{"a", "", "", "b"}},
		{"repeated key", []string{"a", "1", "a", "2"}},
		{"NUL in value", []string{"a", "x\x00y"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.kv, collect(pairs.Append(nil, tc.kv...))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMalformed(t *testing.T) {
	whole := pairs.Append(nil, "key", "value", "k2", "v2")
	for i := range whole {
		got := collect(whole[:i])
		if len(got) > 2 {
			t.Errorf("cut at %d of %d: got %q", i, len(whole), got)
		}
	}
	if got := collect([]byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}); got != nil {
		t.Errorf("huge count: got %q", got)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(pairs.Append(nil, "a", "b"))
	f.Add([]byte{1, 0, 0, 0, 255, 255, 255, 255, 1, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		total := 0
		for _, s := range collect(b) {
			total += len(s)
		}
		if total > len(b) {
			t.Errorf("%d bytes of pairs from %d bytes", total, len(b))
		}
	})
}
