package headerbasedtestingfilter

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/scorers/plugintest"
)

func TestFilter(t *testing.T) {
	eps := []plugintest.EP{
		{Address: "10.0.0.1:8000"},
		{Address: "10.0.0.2:8000"},
		{Address: "10.0.0.2:8001"},
		{Address: "[fd00::1]:8000"},
		{Address: "10.0.0.4:8000"},
	}
	tests := []struct {
		name, header string
		want         []int
	}{
		{"one", "10.0.0.4", []int{4}},
		{"order of the header", "10.0.0.4,10.0.0.1", []int{4, 0}},
		{"blanks and empty items", " 10.0.0.4 ,, 10.0.0.1,", []int{4, 0}},
		{"port", "10.0.0.2:8001", []int{2}},
		{"other port", "10.0.0.1:9000", []int{}},
		{"one of an address", "10.0.0.2:8001,10.0.0.2:8000", []int{2}},
		{"any port of an address", "10.0.0.2", []int{1}},
		{"twice", "10.0.0.1,10.0.0.4,10.0.0.1", []int{0, 4}},
		{"IPv6", "fd00::1", []int{3}},
		{"IPv6 in brackets", "[fd00::1]", []int{3}},
		{"IPv6 and port", "[fd00::1]:8000,10.0.0.1:8000", []int{3, 0}},
		{"IPv6 and other port", "[fd00::1]:8001", []int{}},
		{"broken bracket", "[fd00::1", []int{}},
		{"all", "10.0.0.4,[fd00::1],10.0.0.2:8001,10.0.0.1", []int{4, 3, 2, 0}},
		{"nobody", "10.0.0.9", []int{}},
		{"blank header", "  ", []int{}},
		{"no header", "", []int{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			req := plugintest.Req{}
			if tt.header != "" {
				req.Headers = map[string]string{header: tt.header}
			}
			b, err := plugintest.New(&Spec, nil, eps, req)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, b.Filter()); diff != "" {
				t.Errorf("kept (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFollowsEndpoints(t *testing.T) {
	req := plugintest.Req{Headers: map[string]string{header: "10.0.0.1"}}
	b, err := plugintest.New(&Spec, nil, []plugintest.EP{{Address: "10.0.0.1:8000"}, {Address: "10.0.0.2:8000"}}, req)
	if err != nil {
		t.Fatal(err)
	}
	b.Endpoints([]plugintest.EP{{Address: "10.0.0.3:8000"}, {Address: "10.0.0.2:8000"}, {Address: "10.0.0.1:8000"}})
	if diff := cmp.Diff([]int{2}, b.Filter()); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
}
