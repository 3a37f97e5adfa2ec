package latencysloadmitter

import (
	"testing"

	"github.com/zerohop/zerohop/scorers/plugintest"
)

// busy is a busy endpoint with these predicted headrooms.
func busy(ttft, tpot float64) plugintest.EP {
	return plugintest.EP{Running: 3, KV: .5, Pred: &plugintest.Pred{TTFTHeadroom: ttft, TPOTHeadroom: tpot}}
}

func TestAdmit(t *testing.T) {
	shed := plugintest.Req{Priority: -1, TTFTms: 100}
	late, none := busy(-5, 1), plugintest.EP{Running: 3, KV: .5}
	idle, cold := busy(-5, -5), busy(-5, -5)
	idle.Running, cold.KV = 0, .019
	tests := []struct {
		name string
		req  plugintest.Req
		eps  []plugintest.EP
		want bool
	}{
		{"every endpoint is late", shed, []plugintest.EP{late, busy(1, -1)}, false},
		{"either objective counts", plugintest.Req{Priority: -1, TPOTms: 5}, []plugintest.EP{late}, false},
		{"one is in time", shed, []plugintest.EP{late, busy(1, 0)}, true},
		{"exactly at the objective is late", shed, []plugintest.EP{busy(0, 0)}, false},
		{"one is idle", shed, []plugintest.EP{late, idle}, true},
		{"one is cold", shed, []plugintest.EP{late, cold}, true},
		{"not predicted, but busy", shed, []plugintest.EP{late, none}, false},
		{"no prediction at all", shed, []plugintest.EP{none, none}, true},
		{"no endpoint", shed, nil, true},
		{"priority 0", plugintest.Req{TTFTms: 100}, []plugintest.EP{late}, true},
		{"no objective", plugintest.Req{Priority: -1}, []plugintest.EP{late}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, err := plugintest.New(&Spec, nil, tt.eps, tt.req)
			if err != nil {
				t.Fatal(err)
			}
			if w := b.Wants; !w.Priority.Wanted || !w.SLO.Wanted || !w.TPOT.Wanted {
				t.Errorf("asks for %+v, want the objective and the latency objectives", w)
			}
			if got := b.Admit(); got != tt.want {
				t.Errorf("admitted %v, want %v", got, tt.want)
			}
		})
	}
}
