package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zerohop/zerohop/e2e/harness"
	"github.com/zerohop/zerohop/e2e/loadgen"
)

const (
	// disturbedShare is the CPU time of other processes, as a share of one core, above which a round is repeated.
	disturbedShare = 0.25
	// warmUp is how many requests go before a round, and as many again for every four connections: timers that fell due
	// while the processes were paused fire, connections open, caches fill.
	warmUp = 20
)

// round is what one variant did in one round.
type round struct {
	p50, p99 time.Duration
	cpu      time.Duration // per request, or per chunk of a streamed response
	others   float64       // CPU time of other processes, as a share of one core
}

// bench measures all variants on one machine.
type bench struct {
	variants           []*variant
	sizes, connections []int
	rounds             int
	length             time.Duration // of one round
	chunks             bool          // CPU time is that of a chunk of the response
	full               bool          // the prefix indexes are to be full before
	repeats            int           // rounds that may still be repeated, over the whole run
	disturbed,
	total int // rounds that count, and how many of them were disturbed
	serial   uint64
	progress func(string)
}

// cell measures every variant at one body size and number of connections: rounds alternate between the variants, so
// that whatever changes on the machine changes for all.
func (b *bench) cell(ctx context.Context, size, conns int) ([]Result, error) {
	bodies := newBodies(size, b.chunks)
	got := make([][]round, len(b.variants))
	for r := range b.rounds {
		for k := range b.variants {
			i := (k + r) % len(b.variants) // nobody always comes after the same one
			rd, err := b.quietRound(ctx, b.variants[i], bodies, conns)
			if err != nil {
				return nil, fmt.Errorf("%s, %d bytes, %d connections: %w", b.variants[i].name, size, conns, err)
			}
			got[i] = append(got[i], rd)
		}
		b.progress(fmt.Sprintf("%6d bytes, %2d connections, round %d of %d", size, conns, r+1, b.rounds))
	}
	results := make([]Result, len(b.variants))
	for i, v := range b.variants {
		results[i] = Result{
			SizeBytes: size, Conns: conns, Variant: v.name,
			P50us: micros(median(got[i], func(r round) time.Duration { return r.p50 })),
			P99us: micros(median(got[i], func(r round) time.Duration { return r.p99 })),
			CPUus: micros(median(got[i], func(r round) time.Duration { return r.cpu })),
		}
	}
	return results, nil
}

// quietRound runs a round, and again while other processes disturb it and repeats are left.
func (b *bench) quietRound(ctx context.Context, v *variant, bodies *bodies, conns int) (round, error) {
	for {
		rd, err := b.round(ctx, v, bodies, conns)
		if err != nil {
			return round{}, err
		}
		noisy := rd.others > disturbedShare
		if noisy && b.repeats > 0 {
			b.repeats--
			continue
		}
		b.total++
		if noisy {
			b.disturbed++
		}
		return rd, nil
	}
}

func (b *bench) round(ctx context.Context, v *variant, bodies *bodies, conns int) (rd round, err error) {
	if err := v.resume(); err != nil {
		return rd, err
	}
	defer func() {
		if e := v.pause(); err == nil {
			err = e
		}
	}()
	client, src := v.client(conns), bodies.source(&b.serial)
	warm := client.Closed(ctx, limit(src, warmUp+warmUp*conns/4), 0)
	if warm.Failed() > 0 {
		return rd, fmt.Errorf("warm up: %v", warm.Errors)
	}
	before, err := b.clocks(v)
	if err != nil {
		return rd, err
	}
	report := client.Closed(ctx, src, b.length)
	after, err := b.clocks(v)
	if err != nil {
		return rd, err
	}
	if n := report.Failed(); n > 0 {
		return rd, fmt.Errorf("%d of %d requests failed: %v", n, len(report.Results), report.Errors)
	}
	n := len(report.Results)
	if b.chunks {
		n = 0
		for i := range report.Results {
			n += report.Results[i].Chunks
		}
	}
	if n == 0 {
		return rd, errors.New("no response to measure")
	}
	others := (after.machine - before.machine) - (after.own - before.own)
	return round{
		p50: report.E2E.P(50), p99: report.E2E.P(99),
		cpu:    (after.variant - before.variant) / time.Duration(n),
		others: others.Seconds() / report.Length.Seconds(),
	}, ctx.Err()
}

func limit(src loadgen.Source, n int) loadgen.Source {
	return func(i int) (loadgen.Request, bool) {
		if i >= n {
			return loadgen.Request{}, false
		}
		return src(i)
	}
}

// clocks are CPU times since the processes started.
type clocks struct {
	variant time.Duration // of the measured processes
	own     time.Duration // of everything that belongs to the benchmark
	machine time.Duration // of everything
}

func (b *bench) clocks(v *variant) (c clocks, err error) {
	if c.machine, err = machineCPU(); err != nil {
		return c, err
	}
	if c.own, err = ownCPU(); err != nil {
		return c, err
	}
	add := func(p *harness.Process, sums ...*time.Duration) {
		if p == nil || err != nil {
			return
		}
		var d time.Duration
		d, err = processCPU(p.Pid())
		for _, s := range sums {
			*s += d
		}
	}
	for _, p := range v.measured() {
		add(p, &c.variant, &c.own)
	}
	for _, o := range b.variants {
		add(o.other, &c.own)
	}
	return c, err
}

// median returns the median of one value of the rounds; of an even number the lower one.
func median(rounds []round, value func(round) time.Duration) time.Duration {
	v := make([]time.Duration, len(rounds))
	for i, r := range rounds {
		v[i] = value(r)
	}
	slices.Sort(v)
	return v[(len(v)-1)/2]
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()/10) / 100 }
