package lifecycletest

import (
	"testing"
	"time"

	"github.com/zerohop/zerohop/filter/hosttest"
	"github.com/zerohop/zerohop/shared/names"
)

// deadWorkerVanishes asserts that a VM that is gone is not reported for long, and that its successor gets a number and counts
// from zero.
func deadWorkerVanishes(t *testing.T, s Subject) {
	w := single(t, s, 0)
	last := w.listen(1)
	w.worker()
	k := w.worker()
	w.Run(time.Second)
	r := Chat(ChatBody(short))
	st := k.Open(&r)
	st.Receive()
	w.Run(time.Second)
	old := last.workers[1]
	if e := last.sum(1); e.InFlight != 1 {
		t.Fatalf("reported %+v, want one request in flight", e)
	}
	k.Rebuild()
	st.Close() // of the VM that is gone
	w.Run(time.Second)
	fresh := last.workers[2]
	if len(last.workers) != 3 || fresh.Epoch == old.Epoch || fresh.Picks != 0 || len(fresh.endpoints) != 0 {
		t.Errorf("after the rebuild: %d workers, the fresh one %+v", len(last.workers), fresh)
	}
	w.Run(3 * time.Second)
	if e := last.sum(1); e.InFlight != 0 || len(last.workers) != 2 {
		t.Errorf("4 s after the rebuild: %+v in flight, %d workers; want nothing and 2", e, len(last.workers))
	}
	k.Rebuild()
	w.Run(time.Second)
	if _, ok := last.workers[1]; !ok {
		t.Errorf("numbers %v: the second VM's number is free by now", last.workers)
	}
	w.check()
}

// numberLost lets a VM stand still until another one takes its number: it gets another, and neither is counted twice.
func numberLost(t *testing.T, s Subject) {
	w := single(t, s, 0)
	last := w.listen(1)
	w.worker()
	k := w.worker()
	w.Run(time.Second)
	still := w.Workers[1]
	w.Workers = w.Workers[:1]
	w.Run(4 * time.Second)
	w.worker() // takes number 1
	w.Run(time.Second)
	w.Workers = append(w.Workers, still)
	r := Chat(ChatBody(short))
	w.do(k, &r, hosttest.ToEndpoint)
	w.Run(2 * time.Second)
	if len(last.workers) != 3 || last.workers[2].Picks != 1 || last.workers[1].Picks != 0 {
		t.Errorf("workers %+v; want three, the last with the pick", last.workers)
	}
	w.check()
}

// numberRace lets another VM take the number between a look and the store.
func numberRace(t *testing.T, s Subject) {
	w := single(t, s, 0)
	last := w.listen(1)
	w.worker()
	w.Run(time.Second)
	w.worker()
	third := w.worker()
	w.OnStore = func(key string) {
		if key == names.KeyWorker(1) {
			w.OnStore = nil
			third.Tick()
		}
	}
	w.Run(2 * time.Second)
	if len(last.workers) != 3 {
		t.Errorf("%d workers, want 3", len(last.workers))
	}
	w.check()
}
