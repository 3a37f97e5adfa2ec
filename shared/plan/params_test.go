package plan

import "testing"

func TestParamsHasAndLen(t *testing.T) {
	p := Params{
		{Name: "a[0].x"},
		{Name: "a[2].x"},
		{Name: "ab"},
		{Name: "o.f.g"},
		{Name: "b[1]"},
		{Name: "b[x]"},
		{Name: "b["},
		{Name: "b[-3]"},
		{Name: "b[7"},
		{Name: "b[99999999999999999999]"},
		{Name: "o.l[0]"},
	}
	tests := []struct {
		name string
		has  bool
		len  int
	}{
		{"a", true, 3},
		{"a[0]", true, 0},
		{"a[1]", false, 0},
		{"a[2].x", true, 0},
		{"ab", true, 0},
		{"b", true, 2},
		{"o", true, 0},
		{"o.f", true, 0},
		{"o.l", true, 1},
		{"o.fg", false, 0},
		{"c", false, 0},
	}
	for _, tt := range tests {
		if got := p.Has(tt.name); got != tt.has {
			t.Errorf("Has(%q) = %v", tt.name, got)
		}
		if got := p.Len(tt.name); got != tt.len {
			t.Errorf("Len(%q) = %d, want %d", tt.name, got, tt.len)
		}
	}
	if got := Element("a", 12); got != "a[12]" {
		t.Errorf("element %s", got)
	}
}

func TestMaxSessions(t *testing.T) {
	for given, want := range map[int]int{0: DefaultSessions, 5: 5} {
		if got := (&Bounds{Sessions: given}).MaxSessions(); got != want {
			t.Errorf("sessions %d: %d, want %d", given, got, want)
		}
	}
}
