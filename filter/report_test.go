package filter

import (
	"strings"
	"testing"
)

func TestNodeID(t *testing.T) {
	long := strings.Repeat("n", maxNodeID)
	tests := []struct{ name, id, want string }{
		{"plain", "sidecar~10.0.0.1~pod.ns~ns.svc", "sidecar~10.0.0.1~pod.ns~ns.svc"},
		{"none", "", ""},
		{"beyond ASCII", "küche/ä", "küche/ä"},
		{"control characters", "a\r\nx: b\x00\x7f", "a__x: b__"},
		{"no UTF-8", "a\xffb\xc3", "a_b_"},
		{"longest", long, long},
		{"too long", long + "n", long},
		{"cut before a character", long[1:] + "ä", long[1:]},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(appendNodeID(nil, []byte(tt.id))); got != tt.want {
				t.Errorf("%q is sent as %q, want %q", tt.id, got, tt.want)
			}
		})
	}
}
