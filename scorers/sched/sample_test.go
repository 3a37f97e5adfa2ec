package sched

import "testing"

// TestSampleOfAll has a worker that sends, and one that is told, look at a quarter of the requests for the universal prefix, and
// come to the same.
func TestSampleOfAll(t *testing.T) {
	const most = 400
	x := newProcess(t, 2, testPlan(4))
	for _, s := range x.s {
		s.SetPeers(3)
	}
	found, universal := 0, []uint64{7, 8}
	for n := 1; n <= most && found == 0; n++ {
		ids := []uint64{7, 8, uint64(100 + n)}
		q := x.send(0, uint64(1000+n)*ms, ids, "")
		x.s[0].Done(uint64(1000+n)*ms, &q.d, false)
		x.fold(1, 0, 1)
		chain := promptOf(universal)
		x.s[0].lookUp(chain, &Decision{})
		sent, told := x.s[0].universal.Len(chain.IDs), x.s[1].universal.Len(chain.IDs)
		if sent != told {
			t.Fatalf("after %d requests %d blocks are universal to the one that sent them, %d to the other", n, sent, told)
		}
		if sent == len(universal) {
			found = n
		}
	}
	// A finder counts a reference from its sixteenth request on.
	if found < 40 || found == most {
		t.Errorf("the universal prefix is found after %d requests, want after about 64", found)
	}
	for n, want := range []uint64{0, 1, 1, 3, 3, 3, 3, 7} {
		if x.s[0].SetPeers(n); x.s[0].share.sample != want {
			t.Errorf("with %d peers the sample is %d, want %d", n, x.s[0].share.sample, want)
		}
	}
}
