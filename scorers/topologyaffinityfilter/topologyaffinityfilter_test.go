package topologyaffinityfilter

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/scorers/plugintest"
	"github.com/zerohop/zerohop/shared/plan"
)

func level(name string) plan.Params {
	return plan.Params{{Name: paramLevel, Kind: plan.String, Str: name}}
}

// at is an endpoint at "host/rack/zone/region"; an empty part is no label.
func at(place string) plugintest.EP {
	keys := []string{"kubernetes.io/hostname", "topology.kubernetes.io/rack", "topology.kubernetes.io/zone", "topology.kubernetes.io/region"}
	e := plugintest.EP{Labels: map[string]string{}}
	for i, part := range strings.Split(place, "/") {
		if part != "" {
			e.Labels[keys[i]] = part
		}
	}
	return e
}

func TestFilter(t *testing.T) {
	// The first endpoint is the peer, and a candidate too: it is on its own host.
	const peer = "h1/r1/z1/g1"
	tests := []struct {
		name, level string
		places      []string
		want        []int
	}{
		{"F21 host", "host", []string{peer, "h1", "h2/r1", "h3/r3"}, []int{0, 1}},
		{"F21 rack", "rack", []string{peer, "h1", "h2/r1", "h3/r3"}, []int{0, 1, 2}},
		{"zone", "zone", []string{peer, "h2/r2/z1", "h2/r1/z2", "h2/r2/z2/g1"}, []int{0, 1, 2}},
		{"region", "region", []string{peer, "///g1", "///g2", ""}, []int{0, 1}},
		{"F22 no match", "host", []string{"///g1", "h2///g1", "h3"}, []int{0, 1, 2}},
		{"F22 peer without labels", "region", []string{"", "h1", "h2"}, []int{0, 1, 2}},
		{"F23", "host", []string{peer, "h1", ""}, []int{0, 1}},
		{"equal values of other levels", "region", []string{"a/b", "b/a", "a"}, []int{0, 2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			eps := make([]plugintest.EP, len(tt.places))
			for i, place := range tt.places {
				eps[i] = at(place)
			}
			eps[0].Name = "ns/peer"
			b, err := plugintest.New(&Spec, level(tt.level), eps, plugintest.Req{Peer: "ns/peer"})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, b.Filter()); diff != "" {
				t.Errorf("kept (-want +got):\n%s", diff)
			}
			b.Request(plugintest.Req{})
			if got := b.Filter(); len(got) != len(eps) {
				t.Errorf("kept %v without a peer (F22), want all", got)
			}
		})
	}
}

func TestOtherLevelsAreRefused(t *testing.T) {
	_, err := plugintest.New(&Spec, level("planet"), nil, plugintest.Req{})
	if err == nil || !strings.Contains(err.Error(), "minAffinity: want one of host, rack, zone, region") {
		t.Errorf("error %v", err)
	}
}
