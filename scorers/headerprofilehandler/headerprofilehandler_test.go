package headerprofilehandler

import (
	"testing"

	"github.com/zerohop/zerohop/scorers/plugintest"
	"github.com/zerohop/zerohop/shared/plan"
)

func TestProfile(t *testing.T) {
	two := []string{"fast", "decode"}
	own := plan.Params{plugintest.Text(paramHeader, " X-Class "), plugintest.Text(paramDefault, "fast")}
	blank := plan.Params{plugintest.Text(paramHeader, " "), plugintest.Text(paramDefault, "")}
	header := func(name, value string) map[string]string { return map[string]string{name: value} }
	tests := []struct {
		name     string
		params   plan.Params
		profiles []string
		headers  map[string]string
		want     int
	}{
		{"by header", nil, two, header("epp-profile", "fast"), 0},
		{"blanks around it", nil, two, header("epp-profile", " fast\t"), 0},
		{"no header", nil, two, nil, 1},
		{"blank header", nil, two, header("epp-profile", "  "), 1},
		{"unknown", nil, two, header("epp-profile", "slow"), -1},
		{"case counts", nil, two, header("epp-profile", "Fast"), -1},
		{"own header and default", own, two, header("x-class", "decode"), 1},
		{"own default", own, two, header("epp-profile", "decode"), 0},
		{"blank parameters are absent ones", blank, two, nil, 1},
		{"default is no profile", nil, []string{"a", "b"}, nil, -1},
		{"only one", nil, []string{"a"}, nil, 0},
		{"only one, whatever the header says", nil, []string{"a"}, header("epp-profile", "b"), 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			conf := plugintest.Config{Profiles: tt.profiles}
			b, err := plugintest.NewWith(conf, &Spec, tt.params, nil, plugintest.Req{Headers: tt.headers})
			if err != nil {
				t.Fatal(err)
			}
			if got := b.Profile(); got != tt.want {
				t.Errorf("profile %d, want %d", got, tt.want)
			}
			if n := testing.AllocsPerRun(10, func() { b.Profile() }); n != 0 {
				t.Errorf("%v allocations", n)
			}
		})
	}
}
