package scorers

import (
	"strings"
	"testing"
)

// TestTrim compares with package strings.
func TestTrim(t *testing.T) {
	for _, s := range []string{"", " ", "\t\n\v\f\r ", "a", " a b ", "\ta\n", "\x08a\x0e", "ü ", "  x"} {
		if got, want := TrimText(s), strings.TrimSpace(s); got != want {
			t.Errorf("TrimText(%q) = %q, want %q", s, got, want)
		}
		if got, want := string(Trim([]byte(s))), strings.Trim(s, " \t"); got != want {
			t.Errorf("Trim(%q) = %q, want %q", s, got, want)
		}
	}
}
