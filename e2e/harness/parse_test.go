package harness

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseStats(t *testing.T) {
	const page = `{"stats":[
		{"name":"cluster.a.upstream_rq_total","value":5},
		{"name":"cluster.b.upstream_rq_total","value":7},
		{"name":"server.zero","value":0},
		{"name":"control_plane.identifier","value":"text"},
		{"histograms":{"supported_quantiles":[0,50],"computed_quantiles":[]}}]}`
	s, err := parseStats([]byte(page))
	if err != nil {
		t.Fatal(err)
	}
	want := Stats{"cluster.a.upstream_rq_total": 5, "cluster.b.upstream_rq_total": 7, "server.zero": 0}
	if d := cmp.Diff(want, s); d != "" {
		t.Errorf("stats (-want +got):\n%s", d)
	}
	if got := s.Sum("cluster.", "rq_total"); got != 12 {
		t.Errorf("Sum = %g, want 12", got)
	}
	if got, want := s.String(), "cluster.a.upstream_rq_total: 5\ncluster.b.upstream_rq_total: 7"; got != want {
		t.Errorf("String = %q, want %q", got, want)
	}
	if _, err := parseStats([]byte("Unknown")); err == nil {
		t.Error("no error for a page that is not JSON")
	}
}

func TestParseAccessLog(t *testing.T) {
	tests := []struct {
		name string
		log  string
		want []string // field "pick" of each entry
	}{
		{"empty", "", nil},
		{"one entry", "{\"pick\":\"a\"}\n", []string{"a"}},
		{"unfinished line is left", "{\"pick\":\"a\"}\n{\"pick\":\"b\"", []string{"a"}},
		{"only an unfinished line", "{\"pick\":\"b\"}", nil},
		{"other output between", "starting\n{\"pick\":\"a\"}\nnull\n[1]\n{\"pick\":null}\n{\"pick\":3}\n", []string{"a", "", "3"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, e := range parseAccessLog([]byte(tt.log)) {
				got = append(got, e.String("pick"))
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("picks (-want +got):\n%s", d)
			}
		})
	}
}

func TestEndpointsYAML(t *testing.T) {
	got := string(EndpointsYAML([]Endpoint{
		{Name: "sim-0", Address: "127.0.0.1:8101"}, {Name: "v6", Address: "[::1]:80", Labels: map[string]string{"b/x": "2", "a": ""}}, {Name: "bad", Address: "nowhere"},
	}))
	want := `endpoints:
- {name: "sim-0", address: "127.0.0.1", port: "8101"}
- {name: "v6", address: "::1", port: "80", labels: {"a": "", "b/x": "2"}}
- {name: "bad", address: "nowhere", port: ""}
`
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("endpoint file (-want +got):\n%s", d)
	}
	if got, want := string(EndpointsYAML(nil)), "endpoints: []\n"; got != want {
		t.Errorf("file without endpoints %q, want %q: the agent rejects a key without a list", got, want)
	}
}
