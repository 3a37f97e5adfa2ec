package discovery

import "testing"

// TestTeller has a receiver that knows a list told another one.
func TestTeller(t *testing.T) {
	a1, a2, b2 := endpoint("a", "10.0.0.1:80"), endpoint("a", "10.0.0.2:80"), endpoint("b", "10.0.0.2:80")
	a1role, a1other := endpoint("a", "10.0.0.1:80", "role=decode"), endpoint("a", "10.0.0.1:80", "role=prefill")
	a1rank, a1none, a1ns := a1, a1, a1
	a1rank.Rank, a1none.Labels, a1ns.Namespace = 1, map[string]string{}, "prod"
	tests := []struct {
		name          string
		before, after []Endpoint
		told          bool
	}{
		{"nothing", nil, []Endpoint{}, false},
		{"the same", []Endpoint{a1, b2}, []Endpoint{a1, b2}, false},
		{"no labels, written in two ways", []Endpoint{a1}, []Endpoint{a1none}, false},
		{"first endpoints", nil, []Endpoint{a1, b2}, true},
		{"last endpoints", []Endpoint{a1, b2}, nil, true},
		{"one comes, one goes", []Endpoint{a1}, []Endpoint{b2}, true},
		{"address changes under the same name", []Endpoint{a1}, []Endpoint{a2}, true},
		{"port changes under the same name", []Endpoint{a1}, []Endpoint{endpoint("a", "10.0.0.1:81")}, true},
		{"name changes at the same address", []Endpoint{a2}, []Endpoint{b2}, true},
		{"namespace changes", []Endpoint{a1}, []Endpoint{a1ns}, true},
		{"label added", []Endpoint{a1, b2}, []Endpoint{a1role, b2}, true},
		{"label changed", []Endpoint{a1role}, []Endpoint{a1other}, true},
		{"label removed", []Endpoint{a1role}, []Endpoint{a1}, true},
		{"rank changed", []Endpoint{a1}, []Endpoint{a1rank}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			told := 0
			k := teller{update: func(Update) { told++ }}
			k.tell(Update{Endpoints: tt.before})
			if k.tell(Update{Endpoints: tt.after}); (told == 2) != tt.told || told == 0 {
				t.Errorf("%d updates are told", told)
			}
		})
	}
}
