package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/zerohop/zerohop/e2e/harness"
	"github.com/zerohop/zerohop/e2e/vllmsim/simserver"
)

// burstSize is the number of requests of a burst.
const burstSize = 750

// hugeMB is the size of a huge metrics page.
const hugeMB = 100

// Fault is a fault as it happened.
type Fault struct {
	Planned
	Begin, End time.Time
	Addr       string // of the target

	worker int // whose VM a trap lost, or noWorker
}

// lanes runs the faults of a schedule. The caller holds the gate to keep them out.
func (b *bed) lanes(ctx context.Context, s Schedule, start time.Time, gate *sync.RWMutex) {
	var lanes sync.WaitGroup
	for l := laneStart; l <= laneClients; l++ {
		lanes.Go(func() {
			for _, p := range s.Faults {
				if ruleOf(p.Kind).lane != l || !wait(ctx, time.Until(start.Add(p.At))) {
					continue
				}
				gate.RLock()
				b.inject(ctx, p)
				gate.RUnlock()
			}
		})
	}
	lanes.Wait()
}

// wait pauses, and reports whether ctx goes on.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// inject makes one fault and undoes it.
func (b *bed) inject(ctx context.Context, p Planned) {
	f := Fault{Planned: p, Begin: time.Now()}
	if p.Target != "" {
		f.Addr = b.named(p.Target).addr
	}
	b.mu.Lock()
	i := len(b.faults)
	b.faults = append(b.faults, f)
	b.mu.Unlock()
	err := b.make(ctx, p)
	b.mu.Lock()
	b.faults[i].End = time.Now()
	b.mu.Unlock()
	if err != nil && ctx.Err() == nil {
		b.note("fault %s of %s: %v", p.Kind, p.Target, err)
	}
}

func (b *bed) make(ctx context.Context, p Planned) error {
	pause := func(part time.Duration) bool { return wait(ctx, p.Length/part) }
	switch p.Kind {
	case Kill, Stop, Errors, Broken, MetricsHang, MetricsLie, MetricsHuge:
		return b.breakEndpoint(ctx, b.named(p.Target), p)
	case Add, Remove, Rename:
		return b.editList(b.named(p.Target), p.Kind, func() { pause(1) })
	case Readdress:
		return b.readdress(ctx, b.named(p.Target), p.Length)
	case AgentLate:
		pause(1)
		return b.startAgent(ctx)
	case AgentKill:
		b.killAgent()
		pause(1)
		return b.startAgent(ctx)
	case AgentWrong:
		return b.wrong(ctx, func() { pause(3) })
	case Trap:
		b.load.trap()
	case Burst:
		b.load.burst(burstSize)
	case Vanish:
		b.load.vanish.Store(true)
		defer b.load.vanish.Store(false)
	case Hot:
		b.load.hot.Store(true)
		defer b.load.hot.Store(false)
	}
	pause(1)
	return nil
}

// breakEndpoint makes an endpoint fail and heals it.
func (b *bed) breakEndpoint(ctx context.Context, e *endpoint, p Planned) error {
	var faults simserver.Faults
	switch p.Kind {
	case Kill:
		e.kill()
		wait(ctx, p.Length)
		return e.start(ctx)
	case Stop:
		e.setAway(true)
		if err := e.process.Pause(); err != nil {
			return err
		}
		wait(ctx, p.Length)
		defer e.setAway(false)
		return e.process.Resume()
	case Errors:
		faults.Request.Mode = simserver.RequestStatus
	case Broken:
		faults.Request = simserver.RequestFault{Mode: simserver.RequestResetMid, AfterChunks: 2}
	case MetricsHang:
		faults.Metrics.Mode = simserver.MetricsHang
	case MetricsLie:
		faults.Metrics.Mode = simserver.MetricsLie
	case MetricsHuge:
		faults.Metrics = simserver.MetricsFault{Mode: simserver.MetricsHuge, SizeMB: hugeMB}
	}
	if err := e.fail(ctx, faults); err != nil {
		return err
	}
	wait(ctx, p.Length)
	return e.fail(context.WithoutCancel(ctx), simserver.Faults{})
}

// editList changes an endpoint's entry and changes it back.
func (b *bed) editList(e *endpoint, k Kind, pause func()) error {
	own := harness.Endpoint{Name: e.name, Address: e.addr}
	add := func(m []harness.Endpoint) []harness.Endpoint { return append(m, own) }
	remove := func(m []harness.Endpoint) []harness.Endpoint {
		return slices.DeleteFunc(m, func(x harness.Endpoint) bool { return x.Address == e.addr })
	}
	do, undo := add, remove
	switch k {
	case Remove:
		do, undo = remove, add
	case Rename:
		do = func(m []harness.Endpoint) []harness.Endpoint {
			return append(remove(m), harness.Endpoint{Name: e.name + "-renamed", Address: e.addr})
		}
		undo = func(m []harness.Endpoint) []harness.Endpoint { return add(remove(m)) }
	}
	if err := b.list(do); err != nil {
		return err
	}
	pause()
	return b.list(undo)
}

// readdress gives an endpoint's name to another process and, once its streams are over, its address to a decoy. Then
// everything is as before.
func (b *bed) readdress(ctx context.Context, e *endpoint, length time.Duration) error {
	move := func(addr string) error {
		return b.list(func(m []harness.Endpoint) []harness.Endpoint {
			i := slices.IndexFunc(m, func(x harness.Endpoint) bool { return x.Name == e.name })
			m[i].Address = addr
			return m
		})
	}
	if err := move(b.other.addr); err != nil {
		return err
	}
	begin := time.Now()
	wait(ctx, drainTimeout+2*time.Second)
	e.stop()
	d, err := newDecoy(e.addr, "the former address of "+e.name)
	if err != nil {
		return err
	}
	wait(ctx, length-time.Since(begin))
	hits := d.close()
	b.mu.Lock()
	b.hits = append(b.hits, hits...)
	b.mu.Unlock()
	if err := e.start(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	return move(e.addr)
}

// wrong makes the configuration wrong, then the endpoint file, then kills the agent, which cannot start with either.
func (b *bed) wrong(ctx context.Context, pause func()) error {
	right := func() error {
		return b.list(func(m []harness.Endpoint) []harness.Endpoint { return m })
	}
	bad := append(slices.Clone(b.config), "bogus: true\n"...)
	if err := b.stack.WriteConfig(bad); err != nil {
		return err
	}
	pause()
	if err := b.stack.WriteEndpoints([]harness.Endpoint{
		{Name: "decoy", Address: b.steered.addr()}, {Name: "nonsense", Address: "no address"},
	}); err != nil {
		return err
	}
	pause()
	b.killAgent()
	startCtx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	if err := b.stack.StartAgent(startCtx); err == nil {
		return fmt.Errorf("an agent started with a wrong configuration and a wrong endpoint file")
	}
	pause()
	if err := b.stack.WriteConfig(b.config); err != nil {
		return err
	}
	if err := right(); err != nil {
		return err
	}
	return b.startAgent(context.WithoutCancel(ctx))
}
