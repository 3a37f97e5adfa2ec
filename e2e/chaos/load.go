package main

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// load sends requests at a steady rate, whatever becomes of them.
type load struct {
	client *client
	seed   uint64
	every  time.Duration

	hot, vanish, paused atomic.Bool
	inFlight            atomic.Int64
	sent                atomic.Int64

	requests sync.WaitGroup
	mu       sync.Mutex
	outcomes []Outcome
	counts   map[Class]int
}

func newLoad(c *client, seed uint64, rate int) *load {
	return &load{client: c, seed: seed, every: time.Second / time.Duration(rate), counts: map[Class]int{}}
}

// run sends until ctx ends, then waits for what is on its way.
func (l *load) run(ctx context.Context) {
	next := time.NewTimer(0)
	defer next.Stop()
	due := time.Now()
	for {
		select {
		case <-ctx.Done():
			l.requests.Wait()
			return
		case <-next.C:
		}
		if l.paused.Load() {
			due = time.Now().Add(10 * time.Millisecond)
		} else {
			l.start(traffic{hot: l.hot.Load(), vanish: l.vanish.Load()}, nil)
			due = due.Add(l.every)
		}
		next.Reset(time.Until(due))
	}
}

// start sends a request, changed by edit if that is not nil. Requests end by themselves, not with the run.
func (l *load) start(now traffic, edit func(*spec)) {
	n := l.sent.Add(1)
	l.inFlight.Add(1)
	l.requests.Go(func() {
		s := newSpec(l.seed, n, now)
		if edit != nil {
			edit(&s)
		}
		o := l.client.send(context.Background(), &s)
		l.inFlight.Add(-1)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.outcomes = append(l.outcomes, o)
		l.counts[o.Class]++
	})
}

// burst sends n requests with unknown prefixes at once.
func (l *load) burst(n int) {
	for range n {
		l.start(traffic{cold: true}, func(s *spec) { s.http2 = false })
	}
}

// trap sends the request that loses a worker's VM, on a connection of which the worker is known.
func (l *load) trap() {
	l.start(traffic{}, func(s *spec) { s.trap, s.http2 = true, true })
}

// tally returns how many requests ended in which way so far.
func (l *load) tally() map[Class]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	counts := make(map[Class]int, len(l.counts))
	for c, n := range l.counts {
		counts[c] = n
	}
	return counts
}
