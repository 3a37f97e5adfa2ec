package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/snapshot"
)

// sampleEvery is the time between two looks at all ages. No common multiple with the agent's beat is near.
const sampleEvery = 7 * time.Millisecond

// reader long-polls snapshots as a worker does and keeps the newest.
type reader struct {
	url    string
	epoch  time.Time
	client *http.Client
	cancel context.CancelFunc
	done   sync.WaitGroup
	state  atomic.Pointer[state]
	failed atomic.Pointer[error]
}

// state is what a snapshot says.
type state struct {
	version  uint64
	at       time.Time // when it came
	ages     []uint32  // ms, when it was encoded; snapshot.NeverScraped
	stamps   []uint32  // ms from the epoch, when the endpoint served the page
	scrapes  uint64    // of all endpoints
	received int       // snapshots so far
}

func newReader(url string, epoch time.Time) *reader {
	ctx, cancel := context.WithCancel(context.Background())
	r := &reader{url: url, epoch: epoch, client: &http.Client{Transport: &http.Transport{DisableCompression: true}}, cancel: cancel}
	r.done.Go(func() { r.run(ctx) })
	return r
}

func (r *reader) stop() {
	r.cancel()
	r.done.Wait()
	r.client.CloseIdleConnections()
}

func (r *reader) newest() *state { return r.state.Load() }

func (r *reader) run(ctx context.Context) {
	for old := new(state); ; {
		s, err := r.poll(ctx, old)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			r.failed.Store(&err)
			return
		}
		r.state.Store(s)
		old = s
	}
}

// poll returns the next snapshot, or the old one if there is none for long.
func (r *reader) poll(ctx context.Context, old *state) (*state, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url+names.PathSnapshot+"?v="+strconv.FormatUint(old.version, 10), nil)
	if err != nil {
		return nil, err
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	at := time.Now()
	switch {
	case err != nil:
		return nil, fmt.Errorf("poll: %w", err)
	case resp.StatusCode == http.StatusNotModified:
		return old, nil
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("poll: status %d: %.200s", resp.StatusCode, body)
	}
	v, err := snapshot.Open(body)
	if err != nil {
		return nil, fmt.Errorf("poll: %w", err)
	}
	s := &state{version: v.Version(), at: at, received: old.received + 1, ages: make([]uint32, v.Len()), stamps: make([]uint32, v.Len())}
	var e snapshot.Endpoint
	for i := range v.Len() {
		v.Endpoint(i, &e)
		s.ages[i], s.stamps[i] = e.ScrapeAgeMs, e.Waiting
		s.scrapes += uint64(e.ScrapeSeq)
	}
	return s, nil
}

// ages are those of all endpoints at many moments.
type ages struct {
	reckoned, served histogram
	samples, missing int
}

// sample looks at all ages again and again for a time.
func (r *reader) sample(ctx context.Context, d time.Duration) (*ages, error) {
	var a ages
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for end := time.Now().Add(d); time.Now().Before(end); {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
		}
		if err := r.failed.Load(); err != nil {
			return nil, *err
		}
		a.take(r.newest(), time.Now(), r.epoch)
	}
	if a.samples == 0 {
		return nil, errors.New("no age was seen")
	}
	return &a, nil
}

// take adds the ages of a moment. Those in a snapshot are cut to milliseconds.
func (a *ages) take(s *state, now, epoch time.Time) {
	since := now.Sub(s.at)
	for i, ms := range s.ages {
		a.samples++
		if ms == snapshot.NeverScraped {
			a.missing++
			continue
		}
		a.reckoned.add(time.Duration(ms)*time.Millisecond + since)
		a.served.add(now.Sub(epoch.Add(time.Duration(s.stamps[i]) * time.Millisecond)))
	}
}

// histogram counts durations in steps of 0.1 ms, up to 10 s.
type histogram struct {
	counts [100_000]uint32
	n      int
}

const step = 100 * time.Microsecond

func (h *histogram) add(d time.Duration) {
	h.counts[min(max(int(d/step), 0), len(h.counts)-1)]++
	h.n++
}

// quantile returns the duration that a share q of all do not exceed, in milliseconds.
func (h *histogram) quantile(q float64) float64 {
	rest := int(q * float64(h.n))
	for i, c := range h.counts {
		if rest -= int(c); rest < 0 {
			return float64(i+1) * step.Seconds() * 1000
		}
	}
	return float64(len(h.counts)) * step.Seconds() * 1000
}
