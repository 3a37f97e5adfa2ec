package sessionidproducer

import (
	"testing"

	"github.com/zerohop/zerohop/scorers/plugintest"
	"github.com/zerohop/zerohop/shared/plan"
)

func text(name, value string) plan.Param {
	return plan.Param{Name: name, Kind: plan.String, Str: value}
}

func TestSessionID(t *testing.T) {
	header := plan.Params{text(paramHeader, "X-Session-ID")}
	cookie := plan.Params{text(paramCookie, "sid")}
	tests := []struct {
		name    string
		params  plan.Params
		headers map[string]string
		want    string
	}{
		{"header", header, map[string]string{"x-session-id": "a"}, "a"},
		{"header with blanks", header, map[string]string{"x-session-id": " a b\t"}, "a b"},
		{"blanks only", header, map[string]string{"x-session-id": "  "}, ""},
		{"no header", header, nil, ""},
		{"header is no cookie", header, map[string]string{"cookie": "x-session-id=a"}, ""},
		{"cookie", cookie, map[string]string{"cookie": "sid=a"}, "a"},
		{"cookie among others", cookie, map[string]string{"cookie": "u=1; sid=a==; t=2"}, "a=="},
		{"first of two", cookie, map[string]string{"cookie": "sid=a;sid=b"}, "a"},
		{"name is a prefix", cookie, map[string]string{"cookie": "sid2=a; xsid=b"}, ""},
		{"case counts", cookie, map[string]string{"cookie": "SID=a"}, ""},
		{"cookie without value", cookie, map[string]string{"cookie": "sid; sid="}, ""},
		{"only separators", cookie, map[string]string{"cookie": ";;;"}, ""},
		{"no cookie", cookie, nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, err := plugintest.New(&Spec, tt.params, nil, plugintest.Req{Headers: tt.headers})
			if err != nil {
				t.Fatal(err)
			}
			p := b.Plugin.(*Producer)
			if got := string(p.SessionID(&b.Cycle)); got != tt.want {
				t.Errorf("id %q, want %q", got, tt.want)
			}
			if n := testing.AllocsPerRun(10, func() { p.SessionID(&b.Cycle) }); n != 0 {
				t.Errorf("%v allocations", n)
			}
		})
	}
}

func TestL14WantsOneSource(t *testing.T) {
	for name, params := range map[string]plan.Params{
		"neither": nil,
		"blanks":  {text(paramHeader, " ")},
		"both":    {text(paramHeader, "a"), text(paramCookie, "b")},
	} {
		if _, err := plugintest.New(&Spec, params, nil, plugintest.Req{}); err == nil {
			t.Errorf("%s: loads", name)
		}
	}
}
