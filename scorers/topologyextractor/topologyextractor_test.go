package topologyextractor

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
)

// consumer is a plugin that reads the topology.
var consumer = scorers.Spec{
	Type: "consumer", Params: []scorers.Param{Producer},
	New: func(u *scorers.Setup) (any, error) { Ask(u); return struct{}{}, nil },
}

func text(name, value string) plan.Param {
	return plan.Param{Name: name, Kind: plan.String, Str: value}
}

func build(t *testing.T, b *scorers.Builder, spec *scorers.Spec, name string, params plan.Params) error {
	t.Helper()
	params, err := spec.Complete(params)
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.Build(spec, name, params)
	return err
}

func TestKeys(t *testing.T) {
	tests := []struct {
		name, extractor, param string
		params                 plan.Params
		want                   scorers.TopologyKeys
	}{
		{"no extractor", "", "", nil, defaults},
		{"defaults", Type, "", nil, defaults},
		{
			"own labels", Type, "",
			plan.Params{text("hostname", "node"), text("zone", "")},
			scorers.TopologyKeys{Host: "node", Rack: defaults.Rack, Zone: defaults.Zone, Region: defaults.Region},
		},
		{
			"other name, found by type", "topo", "",
			plan.Params{text("rack", "shelf")},
			scorers.TopologyKeys{Host: defaults.Host, Rack: "shelf", Zone: defaults.Zone, Region: defaults.Region},
		},
		{
			"other name, found by name", "topo", "topo",
			plan.Params{text("rack", "shelf")},
			scorers.TopologyKeys{Host: defaults.Host, Rack: "shelf", Zone: defaults.Zone, Region: defaults.Region},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var b scorers.Builder
			if tt.extractor != "" {
				if err := build(t, &b, &Spec, tt.extractor, tt.params); err != nil {
					t.Fatal(err)
				}
			}
			if b.Wants.Topology != nil {
				t.Error("the extractor alone asks for labels")
			}
			if err := build(t, &b, &consumer, "consumer", plan.Params{text(ParamProducer, tt.param)}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&tt.want, b.Wants.Topology); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{tt.want.Host, tt.want.Rack, tt.want.Zone, tt.want.Region}, b.Wants.Labels); diff != "" {
				t.Errorf("labels to ship (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTwoTopologiesAreRefused(t *testing.T) {
	var b scorers.Builder
	for _, name := range []string{"a", "b"} {
		if err := build(t, &b, &Spec, name, plan.Params{text("zone", "zone-"+name)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := build(t, &b, &consumer, "first", plan.Params{text(ParamProducer, "a")}); err != nil {
		t.Fatal(err)
	}
	err := build(t, &b, &consumer, "second", plan.Params{text(ParamProducer, "b")})
	if err == nil || !strings.Contains(err.Error(), "two sets of labels") {
		t.Errorf("error %v", err)
	}
}
