package conformance

import (
	"errors"
	"fmt"
	"math"

	"github.com/zerohop/zerohop/e2e/schedbed"
	"github.com/zerohop/zerohop/scorers/prefixindex"
	"github.com/zerohop/zerohop/scorers/sched"
	"github.com/zerohop/zerohop/shared/blockhash"
)

// tokens64 returns block ids: what a block of tokens that begins with n would hash to does not matter.
func tokens64(n ...uint64) []uint64 { return n }

// promptOf returns a prompt of these block ids, one argument for each prompt.
func promptOf(prompts ...[]uint64) *sched.Prompt {
	p := &sched.Prompt{Seed: 7, BlockTokens: blockhash.MinBlockTokens}
	for _, ids := range prompts {
		p.Starts = append(p.Starts, int32(len(p.IDs)))
		p.IDs = append(p.IDs, ids...)
	}
	p.Tokens = len(p.IDs) * p.BlockTokens
	return p
}

// pods are the endpoints a, b and so on.
func pods(n int) []schedbed.Server {
	out := make([]schedbed.Server, n)
	for i := range out {
		out[i] = schedbed.Server{Name: "ns/" + string(rune('a'+i)), Address: fmt.Sprintf("10.0.0.%d:80", i+1)}
	}
	return out
}

// match sends the first prompts to a, and returns an error if then the other ones do not match there as wanted.
func match(sent, asked [][]uint64, held, total int32) error {
	b, err := schedbed.New([]byte(producer("")+parityEPP), 1)
	if err == nil {
		err = b.Publish(pods(2))
	}
	if err != nil {
		return err
	}
	b.SendTo("ns/a", promptOf(sent...))
	var d sched.Decision
	b.Decide(b.Now, promptOf(asked...), &d)
	got := int32(0)
	for i := range int(d.N) {
		switch d.Slots[i] {
		case b.Slot("ns/a"):
			got = d.Match[i]
		default:
			err = errors.Join(err, differ("match of b", d.Match[i], 0))
		}
	}
	return errors.Join(err, differ("match", got, held), differ("total", d.Total, total))
}

func indexRows() []row {
	ids := tokens64
	return []row{
		{id: "A2", what: "the least recently used block goes", check: func() error {
			x := prefixindex.New(16)
			x.SetCapacities([]int{2})
			for key := range uint64(3) {
				x.Record([]uint64{key + 1}, 0)
			}
			held := make([]int32, 3)
			for key := range uint64(3) {
				x.Match([]uint64{key + 1}, held[key:key+1])
			}
			return errors.Join(differ("1 is held", held[0], 0), differ("2 is held", held[1], 1), differ("3 is held", held[2], 1))
		}},
		{id: "A3", what: "two prompts, repeated", check: func() error {
			return match([][]uint64{ids(1, 2, 3), ids(4, 5)}, [][]uint64{ids(1, 2, 3), ids(4, 5)}, 5, 5)
		}},
		{id: "A4", what: "two prompts, one repeated", check: func() error {
			return match([][]uint64{ids(1, 2), ids(3, 4)}, [][]uint64{ids(1, 2), ids(5, 6)}, 2, 4)
		}},
		{
			id: "A5", what: "a holds block 0, b holds block 1: b matches 0, since its prefix has a gap", status: deviation, ref: "§13 24",
			check: func() error {
				x := prefixindex.New(16)
				x.SetCapacities([]int{9, 9})
				x.Record([]uint64{1}, 0)
				x.Record([]uint64{2}, 1)
				held := make([]int32, 2)
				x.Match([]uint64{1, 2}, held)
				return errors.Join(differ("a", held[0], 1), differ("b", held[1], 0))
			},
		},
		{id: "A6", what: "no tokens", check: func() error {
			return errors.Join(
				match([][]uint64{ids(1)}, nil, 0, 0),
				scored("", "prefix-cache-scorer", "", score{"", held(0, 0), req{}, []float64{0, 0}}).check(),
			)
		}},
		{id: "S45", what: "default profile, totals 3, 4.85, 1.8; two picks", check: checkS45},
	}
}

func checkS45() error {
	doc := header + `plugins:
- {type: queue-scorer}
- {type: kv-cache-utilization-scorer}
- {type: prefix-cache-scorer}
- {type: max-score-picker, parameters: {maxNumOfEndpoints: 2}}
schedulingProfiles:
- name: default
  plugins:
  - {pluginRef: queue-scorer, weight: 2}
  - {pluginRef: kv-cache-utilization-scorer, weight: 2}
  - {pluginRef: prefix-cache-scorer, weight: 3}
  - {pluginRef: max-score-picker}
`
	b, err := schedbed.New([]byte(doc+parityEPP), 1)
	if err != nil {
		return err
	}
	servers := pods(3)
	servers[0].KV, servers[1].KV, servers[2].KV = .5, .2, .1
	servers[1].Waiting, servers[2].Waiting = 4, 8
	if err := b.Publish(servers); err != nil {
		return err
	}
	b.SendTo("ns/b", promptOf(tokens64(1, 2, 3)))
	var x sched.Explanation
	b.Explain(&x)
	var d sched.Decision
	b.Decide(b.Now, promptOf(tokens64(1, 2, 3, 4)), &d)
	err = errors.Join(
		differ("picks", d.Picked, 2), differ("first", string(b.Name(d.Slots[0])), "ns/b"), differ("second", string(b.Name(d.Slots[1])), "ns/a"),
		differ("explained endpoints", len(x.Best), 3),
	)
	for i, want := range []float64{4.85, 3, 1.8} {
		if i < len(x.Best) && math.Abs(x.Best[i].Total-want) > 1e-6 { // a snapshot carries KV usage in 32 bits
			err = errors.Join(err, fmt.Errorf("total %v, want %v", x.Best[i].Total, want))
		}
	}
	return err
}
