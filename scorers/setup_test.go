package scorers_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
)

// build makes instances with these constructors, called a, b and so on, of types A, B and so on.
func build(t *testing.T, b *scorers.Builder, constructors ...func(u *scorers.Setup) (any, error)) error {
	t.Helper()
	for i, construct := range constructors {
		name := string(rune('a' + i))
		if _, err := b.Build(&scorers.Spec{Type: strings.ToUpper(name), New: construct}, name, nil); err != nil {
			return err
		}
	}
	return nil
}

func TestSetupRegistersOnce(t *testing.T) {
	var b scorers.Builder
	var ids []int
	ask := func(u *scorers.Setup) (any, error) {
		ids = append(ids, int(u.Header("X-A")), int(u.Header("x-b")), int(u.Header("x-a")), int(u.Label("Zone")), int(u.Label("zone")), int(u.Attribute("p/a")))
		u.Topology(scorers.TopologyKeys{Host: "host", Zone: "zone"})
		return nil, nil
	}
	if err := build(t, &b, ask, ask); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0}, ids); diff != "" {
		t.Errorf("ids (-want +got):\n%s", diff)
	}
	want := scorers.Wants{
		Headers: []string{"x-a", "x-b"}, Labels: []string{"Zone", "zone", "host"}, Attributes: []string{"p/a"},
		Topology: &scorers.TopologyKeys{Host: "host", Zone: "zone"}, TopologyIDs: [4]scorers.LabelID{2, 0, 1, 0},
	}
	if diff := cmp.Diff(want, b.Wants); diff != "" {
		t.Errorf("wants (-want +got):\n%s", diff)
	}
}

func TestSetupLimits(t *testing.T) {
	tests := []struct {
		name string
		ask  func(u *scorers.Setup, name string)
		most int
		want string
	}{
		{"headers", func(u *scorers.Setup, name string) { u.Header(name) }, 32, "at most 32 headers"},
		{"labels", func(u *scorers.Setup, name string) { u.Label(name) }, 32, "at most 32 endpoint labels"},
		{"attributes", func(u *scorers.Setup, name string) { u.Attribute(name) }, 16, "at most 16 endpoint attributes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var b scorers.Builder
			asks := func(from, to int) func(u *scorers.Setup) (any, error) {
				return func(u *scorers.Setup) (any, error) {
					for i := from; i < to; i++ {
						tt.ask(u, "n"+strconv.Itoa(i))
					}
					return nil, nil
				}
			}
			if err := build(t, &b, asks(0, tt.most), asks(0, 1)); err != nil {
				t.Fatal(err)
			}
			if err := build(t, &b, asks(tt.most, tt.most+1)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want it to contain %q", err, tt.want)
			}
		})
	}
}

func TestSetupRefusesTwoTopologies(t *testing.T) {
	var b scorers.Builder
	ask := func(key string) func(u *scorers.Setup) (any, error) {
		return func(u *scorers.Setup) (any, error) { u.Topology(scorers.TopologyKeys{Zone: key}); return nil, nil }
	}
	if err := build(t, &b, ask("a"), ask("a"), ask("b")); err == nil || !strings.Contains(err.Error(), "two sets of labels") {
		t.Errorf("error %v", err)
	}
}

func TestProducer(t *testing.T) {
	tests := []struct {
		name  string
		given string // value of the parameter; absent if empty
		def   string
		want  any
	}{
		{"named", "b", "A", "instance b"},
		{"type of the default, under another name", "", "A", "instance a"},
		{"name of the default", "", "a", "instance a"},
		{"not there", "nobody", "A", nil},
		{"type not active", "", "Z", nil},
		{"type named", "A", "A", "instance a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var b scorers.Builder
			var got any
			made := func(name string) func(u *scorers.Setup) (any, error) {
				return func(*scorers.Setup) (any, error) { return "instance " + name, nil }
			}
			if err := build(t, &b, made("a"), made("b")); err != nil {
				t.Fatal(err)
			}
			var params plan.Params
			if tt.given != "" {
				params = plan.Params{str("ref", tt.given)}
			}
			reader := scorers.Spec{Type: "reader", New: func(u *scorers.Setup) (any, error) { got = u.Producer("ref", tt.def); return nil, nil }}
			if _, err := b.Build(&reader, "reader", params); err != nil {
				t.Fatal(err)
			}
			if got != tt.want {
				t.Errorf("producer %v, want %v", got, tt.want)
			}
		})
	}
}

func TestAloneReportsBothErrors(t *testing.T) {
	spec := scorers.Spec{Type: "x", New: func(u *scorers.Setup) (any, error) {
		for i := range 33 {
			u.Header("h" + strconv.Itoa(i))
		}
		return nil, strconv.ErrRange
	}}
	if _, err := scorers.Alone(&spec, nil); err == nil || !strings.Contains(err.Error(), "out of range") || !strings.Contains(err.Error(), "at most 32") {
		t.Errorf("error %v", err)
	}
}

func TestSetupRefusesWhatIsNoHeader(t *testing.T) {
	for _, name := range []string{"", ":status", "a b", "a:", "a\n", "é"} {
		var b scorers.Builder
		if err := build(t, &b, func(u *scorers.Setup) (any, error) { u.Header(name); return nil, nil }); err == nil {
			t.Errorf("%q is taken for a header", name)
		}
	}
}
