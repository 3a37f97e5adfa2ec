package scan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestOrder compares with package slices: few members and many, with equal keys, in any order.
func TestOrder(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for n := range 200 {
		for _, kinds := range []int{1, 3, n + 1} {
			var c canon
			var ms []member
			for i := range n {
				key := fmt.Sprint(rnd.IntN(kinds))
				ms = append(ms, member{key: int32(len(c.keys)), keyEnd: int32(len(c.keys) + len(key)), out: int32(i)})
				c.keys = append(c.keys, key...)
			}
			text := func(m member) string { return string(c.keys[m.key:m.keyEnd]) }
			rnd.Shuffle(n, func(i, j int) { ms[i].out, ms[j].out = ms[j].out, ms[i].out })
			want := slices.Clone(ms)
			slices.SortFunc(want, func(a, b member) int {
				if d := strings.Compare(text(a), text(b)); d != 0 {
					return d
				}
				return int(a.out) - int(b.out)
			})
			c.order(ms)
			if !slices.Equal(ms, want) {
				t.Fatalf("%d members, %d kinds of keys: wrong order", n, kinds)
			}
		}
	}
}
