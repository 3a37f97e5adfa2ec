package conformance

import (
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/zerohop/zerohop/scorers/plugintest"
)

func statefulRows() []row {
	const lru = "no-hit-lru-scorer"
	token := base64.StdEncoding.EncodeToString([]byte("/pod-b"))
	session := func(value string, want ...float64) score {
		return score{"", eps{{Name: "/pod-a"}, {Name: "/pod-b"}}, req{Headers: map[string]string{"x-session-token": value}}, want}
	}
	cold := req{Blocks: 4}
	return []row{
		{id: "S21", what: "cold requests go around", needs: []string{lru}, check: checkS21},
		scored("S22", lru, "any match, and one cold endpoint",
			score{"", held(0, 1, 0), cold, []float64{.5, .5, .5}}, score{"", held(0), cold, []float64{1}}),
		scored("S35", "session-affinity-scorer", "session by encoded endpoint",
			session(token, 0, 1), session("garbage", 0, 0), session("", 0, 0)),
		{id: "R31", what: "estimate of output tokens", needs: []string{"inflight-load-producer"}, check: checkR31},
	}
}

func checkS21() error {
	p := plugin{typ: "no-hit-lru-scorer", epp: true}
	b, err := p.bed(make(eps, 3), req{Blocks: 4})
	if err != nil {
		return err
	}
	for i, want := range [][]float64{{1, .5, 0}, {0, 1, .5}, {.5, 0, 1}, {1, .5, 0}, {0, 1, .5}} {
		b.Cycle.Now++
		b.Request(req{Blocks: 4})
		err = errors.Join(err, named(fmt.Sprintf("request %d", i+1), equal(b.Score(), want, tolerance)))
		b.Pick(i % 3)
	}
	return err
}

func checkR31() error {
	var all error
	for _, tt := range []struct {
		params string
		input  int
		want   int32 // output
	}{
		{"outputRatio: 1.5", 10, 15},
		{"outputRatio: 2", 10, 20},
		{"outputRatio: 0", 10, 0},
		{"outputRatio: 1.5, maxEstimatedOutputTokens: 40", 100, 40},
		{"outputRatio: 1.5", 100, 150},
	} {
		p := plugin{typ: "inflight-load-producer", params: "addEstimatedOutputTokens: true, " + tt.params, epp: true}
		b, err := p.bed(eps{{}}, plugintest.Req{Tokens: tt.input})
		if err == nil {
			got, untilEnd := b.Estimate(0)
			err = errors.Join(differ("output", got-int32(tt.input), tt.want), differ("held to the end", untilEnd, true))
		}
		all = errors.Join(all, named(tt.params, err))
	}
	return all
}
