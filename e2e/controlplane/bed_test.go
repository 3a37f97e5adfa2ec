package controlplane

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/e2e/harness"
	"github.com/zerohop/zerohop/e2e/traffic"
	"github.com/zerohop/zerohop/scorers/registry"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/shared/report"
	"github.com/zerohop/zerohop/xds/access"
	"github.com/zerohop/zerohop/xds/config"
	"github.com/zerohop/zerohop/xds/controlplane"
	"github.com/zerohop/zerohop/xds/discovery"
)

// bed is an Envoy with a control plane of the test and a stand-in for the agent's HTTP, which only takes reports.
type bed struct {
	*traffic.Bed
	control *control
	reports *reports
}

// start starts a bed with n simulated endpoints. The control plane has nothing to send yet.
func start(t *testing.T, n int, o harness.Options) *bed { return startGuarded(t, n, o, nil) }

// startGuarded is start with a policy that both sides of the agent follow; nil lets everybody in.
func startGuarded(t *testing.T, n int, o harness.Options, policy *access.Policy) *bed {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a real Envoy")
	}
	b := &bed{control: startControl(t, "", policy), reports: &reports{policy: policy}}
	o.ControlPlane, o.WithoutAgent = b.control.address, true
	b.Bed = traffic.Start(t, traffic.Options{Sims: n, Sim: traffic.Instant(), Options: o})
	b.reports.serve(t, b.AgentURL()[len("http://"):])
	return b
}

// control is a running control plane.
type control struct {
	*controlplane.Server
	address string
	stop    func()
}

// startControl serves on an address, or on a free port, until stop or the end of the test.
func startControl(t *testing.T, address string, policy *access.Policy) *control {
	t.Helper()
	if address == "" {
		address = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp4", address)
	if err != nil {
		t.Fatal(err)
	}
	c := &control{address: l.Addr().String()}
	o := controlplane.Options{Listener: l, Log: slog.New(slog.DiscardHandler)}
	if policy != nil {
		o.Server = policy.GRPC()
	}
	c.Server = controlplane.New(o)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := c.Serve(ctx); err != nil {
			t.Error(err)
		}
	})
	c.stop = func() {
		cancel()
		running.Wait()
	}
	t.Cleanup(c.stop)
	return c
}

// reports keeps which plan each worker says to have.
type reports struct {
	policy *access.Policy // nil for everybody

	mu        sync.Mutex
	workers   map[workerKey]report.Worker
	polls     polls
	unwelcome string // who is to open another connection after each poll
}

// polls are those that were let in.
type polls struct {
	who  string        // by token or certificate, the newest
	row  int           // how many from who, one after the other
	at   time.Time     // of the newest
	rest time.Duration // the longest time between two
}

// workerKey is a VM. One that the machine has kept waiting may have another number afterwards.
type workerKey struct{ process, epoch uint64 }

// serve answers polls until the end of the test.
func (r *reports) serve(t *testing.T, address string) {
	t.Helper()
	l, err := net.Listen("tcp4", address)
	if err != nil {
		t.Fatal(err)
	}
	r.workers = make(map[workerKey]report.Worker)
	s := &http.Server{Handler: http.HandlerFunc(r.poll), ReadHeaderTimeout: time.Second, ErrorLog: log.New(io.Discard, "", 0)}
	if r.policy != nil {
		s.Handler = r.policy.HTTP(s.Handler)
		if c := r.policy.TLSConfig(); c != nil {
			l = tls.NewListener(l, c)
		}
	}
	var running sync.WaitGroup
	running.Go(func() { _ = s.Serve(l) })
	t.Cleanup(func() {
		_ = s.Close()
		running.Wait()
	})
}

func (r *reports) poll(w http.ResponseWriter, req *http.Request) {
	if who := r.note(req); who != "" && who == r.unwanted() {
		w.Header().Set("Connection", "close")
	}
	body, err := io.ReadAll(req.Body)
	if err == nil && len(body) > 0 {
		if v, err := report.Open(body); err == nil {
			r.add(v)
		}
	}
	select { // no busy loop; nothing waits for this
	case <-req.Context().Done():
	case <-time.After(20 * time.Millisecond):
	}
	w.WriteHeader(http.StatusNotModified)
}

// hangUpOn makes who open another connection after each poll.
func (r *reports) hangUpOn(who string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unwelcome = who
}

func (r *reports) unwanted() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.unwelcome
}

// note books a poll and returns whose it is.
func (r *reports) note(req *http.Request) string {
	if req.Method != http.MethodPost { // the test's own question
		return ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if !r.polls.at.IsZero() {
		r.polls.rest = max(r.polls.rest, now.Sub(r.polls.at))
	}
	who := req.Header.Get("Authorization")
	if req.TLS != nil && len(req.TLS.PeerCertificates) > 0 {
		who = req.TLS.PeerCertificates[0].Subject.CommonName
	}
	if who != r.polls.who {
		r.polls.row = 0
	}
	r.polls.row++
	r.polls.at, r.polls.who = now, who
	return who
}

// waitFrom waits until polls come from who only, and returns what is known of all polls. The VMs of an Envoy take turns, and
// each has a connection of its own.
func (r *reports) waitFrom(t *testing.T, who string) polls {
	t.Helper()
	var p polls
	traffic.Until(t, "polls from "+who, func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		if p = r.polls; p.who != who || p.row < 20 {
			return fmt.Errorf("the last %d come from %q", p.row, p.who)
		}
		return nil
	})
	return p
}

func (r *reports) add(v report.View) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for it := v.Records(); it.Next(); {
		var w report.Worker
		it.Record.Worker(&w)
		r.workers[workerKey{v.Process(), w.Epoch}] = w
	}
}

// inForce returns how many workers run the plan with that revision, and how many there are.
func (r *reports) inForce(revision uint64) (n, all int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.workers {
		all++
		if w.Revision == revision {
			n++
		}
	}
	return n, all
}

// waitInForce waits until every VM says that it runs p: those of the workers, and the main thread's.
func (b *bed) waitInForce(t *testing.T, p *plan.Plan, workers int) {
	t.Helper()
	traffic.Until(t, "the plan at all workers", func() error {
		if n, all := b.reports.inForce(p.RevisionID()); n != all || all != workers+1 {
			return fmt.Errorf("%d of %d VMs have it, want all of %d", n, all, workers+1)
		}
		return nil
	})
}

// plan compiles the default configuration after edit, for the bed's endpoints.
func (b *bed) plan(t *testing.T, edit func(*config.Config)) *plan.Plan {
	t.Helper()
	return compile(t, edit, b.Sims)
}

func compile(t *testing.T, edit func(*config.Config), sims harness.Sims) *plan.Plan {
	t.Helper()
	c, err := config.Load(nil, registry.Specs())
	if err != nil {
		t.Fatal(err)
	}
	if edit != nil {
		edit(c)
	}
	s := config.Settings{AgentCluster: c.Zerohop.Envoy.AgentCluster}
	for _, sim := range sims {
		s.Endpoints = append(s.Endpoints, discovery.Endpoint{Namespace: "default", Name: sim.Name(), Address: netip.MustParseAddrPort(sim.Addr())})
	}
	return c.Plan(s)
}

// inMode edits a configuration to use a destination mode.
func inMode(mode string) func(*config.Config) {
	return func(c *config.Config) { c.Zerohop.DestinationMode = mode }
}

// setEndpoints serves the simulated endpoints, all healthy.
func (b *bed) setEndpoints() { b.control.SetEndpoints(b.members()) }

// members returns the simulated endpoints, in a state each; those without one are healthy.
func (b *bed) members(states ...controlplane.Health) []controlplane.Endpoint {
	var list []controlplane.Endpoint
	for i, sim := range b.Sims {
		e := controlplane.Endpoint{Name: sim.Name(), Address: sim.Addr()}
		if i < len(states) {
			e.Health = states[i]
		}
		list = append(list, e)
	}
	return list
}

// changeEndpoints serves endpoints that differ from those before, and waits until Envoy has them.
func (b *bed) changeEndpoints(t *testing.T, list []controlplane.Endpoint) {
	t.Helper()
	before := b.control.waitNode(t, "the endpoints before", func(n controlplane.NodeStatus) bool {
		return n.Endpoints.Sent != "" && n.Endpoints.Acked == n.Endpoints.Sent
	}).Endpoints.Acked
	b.control.SetEndpoints(list)
	b.control.waitNode(t, "the changed endpoints", func(n controlplane.NodeStatus) bool {
		return n.Endpoints.Acked != before && n.Endpoints.Acked == n.Endpoints.Sent
	})
}

// waitNode waits until the one connected Envoy is as ok wants it.
func (c *control) waitNode(t *testing.T, what string, ok func(controlplane.NodeStatus) bool) controlplane.NodeStatus {
	t.Helper()
	var got controlplane.NodeStatus
	traffic.Until(t, what, func() error {
		for _, n := range c.Nodes() {
			if n.Connected && ok(n) {
				got = n
				return nil
			}
		}
		return fmt.Errorf("nodes are %+v", c.Nodes())
	})
	return got
}

// waitAcked waits until Envoy has accepted p.
func (c *control) waitAcked(t *testing.T, p *plan.Plan) {
	t.Helper()
	c.waitNode(t, "Envoy to accept the plan", func(n controlplane.NodeStatus) bool { return n.Plan.Acked == p.Revision })
}

func contextWithPatience() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), time.Minute)
}

// equal returns an error that shows both if they differ.
func equal(got, want any) error {
	if d := cmp.Diff(want, got); d != "" {
		return errors.New(d)
	}
	return nil
}
