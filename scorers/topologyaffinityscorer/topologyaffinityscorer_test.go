package topologyaffinityscorer

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/scorers/plugintest"
	"github.com/zerohop/zerohop/scorers/topologyextractor"
	"github.com/zerohop/zerohop/shared/plan"
)

// at returns an endpoint with these labels; an empty value is a label that it has not.
func at(host, rack, zone, region string) plugintest.EP {
	e := plugintest.EP{Labels: map[string]string{}}
	for key, value := range map[string]string{
		"kubernetes.io/hostname": host, "topology.kubernetes.io/rack": rack, "topology.kubernetes.io/zone": zone,
		"topology.kubernetes.io/region": region,
	} {
		if value != "" {
			e.Labels[key] = value
		}
	}
	return e
}

func TestScore(t *testing.T) {
	s32 := []plugintest.EP{
		at("h1", "r1", "z1", "reg1"), at("h2", "r1", "z1", "reg1"), at("h2", "r2", "z1", "reg1"), at("h2", "r2", "z2", "reg1"),
		at("h2", "r2", "z2", "reg2"), at("", "r1", "", ""),
	}
	tests := []struct {
		name string
		peer string
		eps  []plugintest.EP
		want []float64
	}{
		{"S32", "ns/ep-0", s32, []float64{1, .2, .05, .02, 0, .2}},
		{"no peer", "", s32, []float64{0, 0, 0, 0, 0, 0}},
		{"peer without labels", "ns/ep-0", []plugintest.EP{at("", "", "", ""), at("", "", "", ""), at("h1", "r1", "", "")}, []float64{0, 0, 0}},
		{"same host in another zone", "ns/ep-0", []plugintest.EP{at("h1", "", "z1", ""), at("h1", "", "z2", "")}, []float64{1, 1}},
		{"no endpoint", "", nil, []float64{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, err := plugintest.New(&Spec, nil, tt.eps, plugintest.Req{Peer: tt.peer})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, b.Score()); diff != "" {
				t.Errorf("scores (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOwnLabels(t *testing.T) {
	text := func(name, value string) plan.Param { return plan.Param{Name: name, Kind: plan.String, Str: value} }
	conf := plugintest.Config{Peers: []plugintest.Peer{
		{Spec: &topologyextractor.Spec, Name: "topo", Params: plan.Params{text("rack", "shelf")}},
	}}
	eps := []plugintest.EP{{Labels: map[string]string{"shelf": "s1"}}, {Labels: map[string]string{"shelf": "s1"}}, at("", "s1", "", "")}
	b, err := plugintest.NewWith(conf, &Spec, plan.Params{text("topologyProducerName", "topo")}, eps, plugintest.Req{Peer: "ns/ep-0"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]float64{.2, .2, 0}, b.Score()); diff != "" {
		t.Errorf("scores (-want +got):\n%s", diff)
	}
}
