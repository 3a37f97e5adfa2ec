package runningrequestssizescorer

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/scorers/plugintest"
)

func TestScore(t *testing.T) {
	tests := []struct {
		name        string
		parity      bool
		eps         []plugintest.EP
		want        []float64
		wantNeutral uint32
	}{
		{"S2", false, []plugintest.EP{{Running: 3}, {Running: 7}, {Running: 4}}, []float64{1, 0, .75}, 0},
		{"equal", false, []plugintest.EP{{Running: 5}, {Running: 5}}, []float64{1, 1}, 0},
		{"idle", false, []plugintest.EP{{}, {}}, []float64{1, 1}, 0},
		{"single", false, []plugintest.EP{{Running: 9}}, []float64{1}, 0},
		{"none", false, nil, []float64{}, 0},
		{
			"stale is an average one", false,
			[]plugintest.EP{{Running: 3}, {Running: 100, AgeMs: 5000}, {Running: 7}},
			[]float64{1, .5, 0},
			1,
		},
		{"never scraped", false, []plugintest.EP{{Unscraped: true}, {Running: 2}, {Running: 4}}, []float64{.5, 1, 0}, 1},
		{"nothing known", false, []plugintest.EP{{Unscraped: true}, {Running: 4, AgeMs: 5000}}, []float64{1, 1}, 2},
		{
			"parity: the last number counts", true,
			[]plugintest.EP{{Running: 3}, {Running: 11, AgeMs: 5000}, {Running: 7}},
			[]float64{1, 0, .5},
			0,
		},
		{"parity: 0 before the first scrape", true, []plugintest.EP{{Unscraped: true}, {Running: 4}}, []float64{1, 0}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, err := plugintest.NewWith(plugintest.Config{Parity: tt.parity}, &Spec, nil, tt.eps, plugintest.Req{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, b.Score()); diff != "" {
				t.Errorf("scores (-want +got):\n%s", diff)
			}
			if b.Cycle.Neutral != tt.wantNeutral {
				t.Errorf("%d counted as neutral, want %d", b.Cycle.Neutral, tt.wantNeutral)
			}
		})
	}
}
