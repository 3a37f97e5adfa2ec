package envoycheck_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/shared/plan"
)

// TestExplain checks what has to be so where picks are explained, and is of no interest elsewhere.
func TestExplain(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(t *testing.T, v tree)
		want  []string
		notes []string
	}{
		{"as rendered", func(*testing.T, tree) {}, nil, nil},
		{"no route", func(t *testing.T, v tree) { del(t, v, host+"/routes/explain") }, []string{"explain-route"}, nil},
		{"route forwards", func(t *testing.T, v tree) {
			del(t, v, host+"/routes/explain/direct_response")
			set(t, v, host+"/routes/explain/route", tree{"cluster": "other"})
		}, []string{"explain-route"}, nil},
		{"route behind", func(t *testing.T, v tree) {
			l := at(t, v, host+"/routes").([]any)
			set(t, v, host+"/routes", append(append([]any{}, l[1:]...), l[0]))
		}, []string{"explain-route"}, nil},
		{"route on a header", func(t *testing.T, v tree) {
			set(t, v, host+"/routes/explain/match/headers", []any{tree{"name": "x", "present_match": true}})
		}, []string{"explain-route"}, nil},
		{"exact path", func(t *testing.T, v tree) {
			set(t, v, host+"/routes/explain/match", tree{"path": "/zerohop/explain"})
		}, nil, nil},
		{"address of the connection", func(t *testing.T, v tree) { del(t, v, hcm+"/use_remote_address") }, []string{"explain-address"}, nil},
		{"trusted hops", func(t *testing.T, v tree) { set(t, v, hcm+"/xff_num_trusted_hops", 1) }, nil, []string{"explain-address"}},
		{"detection", func(t *testing.T, v tree) {
			set(t, v, hcm+"/original_ip_detection_extensions", []any{tree{"name": "x"}})
		}, nil, []string{"explain-address"}},
	}
	for _, tt := range tests {
		for _, on := range []bool{false, true} {
			name := tt.name + "/off"
			if on {
				name = tt.name + "/on"
			}
			t.Run(name, func(t *testing.T) {
				v := committed(t)
				tt.spoil(t, v)
				_, p := rendered(t, plan.DestinationHeader, true)
				want, notes := tt.want, tt.notes
				if on {
					p.Explain.Networks = []string{"10.0.0.0/8"}
				} else {
					want, notes = nil, nil
				}
				r := check(t, v, p)
				found := map[string]bool{}
				for _, id := range ids(r) {
					found[id] = true
				}
				if d := cmp.Diff(len(want), len(found)); d != "" {
					t.Errorf("findings %v, want %v", ids(r), want)
				}
				for _, id := range want {
					if !found[id] {
						t.Errorf("findings %v, want %v", ids(r), want)
					}
				}
				var got []string
				for _, n := range r.Notes {
					if n.ID == "explain-address" {
						got = append(got, n.ID)
					}
				}
				if d := cmp.Diff(notes, got); d != "" {
					t.Errorf("notes (-want +got):\n%s", d)
				}
				if len(want) > 0 {
					mend(t, v, p)
				}
			})
		}
	}
}
