package controlplane

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/xds/bootstrap"
)

// ones and so on are the revisions of testPlan.
var (
	ones   = strings.Repeat("1", 16)
	twos   = strings.Repeat("2", 16)
	threes = strings.Repeat("3", 16)
)

func TestPlansArriveAndAreAccepted(t *testing.T) {
	b := serve(t)
	c := b.connect(t, envoyNode("a", "edge", "/m.wasm"))
	c.subscribe(typePlan, bootstrap.FilterName) // before there is a plan
	b.until(t, "the node", func(n []NodeStatus) bool { return len(n) == 1 })
	b.SetPlan(testPlan('1'))
	c.ack(c.receive(typePlan, ones))
	b.SetPlan(testPlan('2'))
	c.ack(c.receive(typePlan, twos))
	got := b.until(t, "the second plan", func(n []NodeStatus) bool { return n[0].Plan.Acked == twos })
	want := []NodeStatus{{
		ID: "a", Group: "edge", Envoy: "1.40.0", Module: "/m.wasm", Connected: true, Plan: TypeStatus{Sent: twos, Acked: twos},
	}}
	if d := cmp.Diff(want, got, cmpopts.IgnoreFields(NodeStatus{}, "Since", "Peer")); d != "" {
		t.Error(d)
	}
	if got[0].Peer == "" || got[0].Since.IsZero() {
		t.Errorf("%+v", got[0])
	}
}

// TestRefusal checks that a refusal is told and not repeated, and that the next plan is sent.
func TestRefusal(t *testing.T) {
	b := serve(t)
	b.SetPlan(testPlan('1'))
	c := b.connect(t, envoyNode("a", "edge", "/m.wasm"))
	c.subscribe(typePlan, bootstrap.FilterName)
	c.ack(c.receive(typePlan, ones))
	b.SetPlan(testPlan('2'))
	const reason = "Unable to create Wasm plugin\x1b[31m zerohop"
	c.nack(c.receive(typePlan, twos), ones, reason)
	got := b.until(t, "the refusal", func(n []NodeStatus) bool { return n[0].Rejects() })[0].Plan
	want := TypeStatus{Sent: twos, Acked: ones, Nack: &Nack{Version: twos, Reason: "Unable to create Wasm plugin [31m zerohop"}}
	if d := cmp.Diff(want, got, cmpopts.IgnoreFields(Nack{}, "At")); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]uint64{"edge": 1}, b.Refusals()); d != "" {
		t.Error(d)
	}

	// The next message on the stream is not the refused plan again.
	b.SetEndpoints([]Endpoint{{Address: "10.0.0.1:80"}})
	c.subscribe(typeEndpoints, bootstrap.EndpointsCluster)
	c.ack(c.receive(typeEndpoints, ""))

	b.SetPlan(testPlan('3'))
	c.ack(c.receive(typePlan, threes))
	n := b.until(t, "the plan after", func(n []NodeStatus) bool { return n[0].Plan.Acked == threes })[0]
	if n.Rejects() || n.Plan.Nack == nil {
		t.Errorf("%+v", n.Plan)
	}
	if got := strings.Count(b.logs.String(), "refuses"); got != 1 || !strings.Contains(b.logs.String(), twos) {
		t.Errorf("%d lines about it in %s", got, b.logs)
	}
}

func TestReconnect(t *testing.T) {
	b := serve(t)
	b.SetPlan(testPlan('1'))
	c := b.connect(t, envoyNode("a", "g", "/m.wasm"))
	c.subscribe(typePlan, bootstrap.FilterName)
	c.ack(c.receive(typePlan, ones))
	c.close()
	gone := b.until(t, "the end", func(n []NodeStatus) bool { return len(n) == 1 && !n[0].Connected })
	if gone[0].Plan.Sent != ones {
		t.Errorf("%+v", gone[0])
	}
	c = b.connect(t, envoyNode("a", "g", "/m.wasm"))
	c.send(&discovery.DiscoveryRequest{TypeUrl: typePlan, ResourceNames: []string{bootstrap.FilterName}, VersionInfo: ones})
	c.ack(c.receive(typePlan, ones))
	b.until(t, "one node", func(n []NodeStatus) bool { return len(n) == 1 && n[0].Connected && n[0].Plan.Acked == ones })
}

// TestRefresh checks that a plan with other endpoints goes to Envoys that connect later, and only to them.
func TestRefresh(t *testing.T) {
	b := serve(t)
	with := func(address string) *plan.Plan {
		p := testPlan('1')
		p.Endpoints = []plan.Endpoint{{Name: "n/a", Address: address}}
		return p
	}
	begin := func(id, address string) *client {
		c := b.connect(t, envoyNode(id, "g", "/m.wasm"))
		c.subscribe(typePlan, bootstrap.FilterName)
		r := c.receive(typePlan, ones)
		if !strings.Contains(string(r.GetResources()[0].GetValue()), address) {
			t.Errorf("the plan of %s has no endpoint %s", id, address)
		}
		c.ack(r)
		return c
	}
	b.RefreshPlan(with("10.0.0.9:80")) // of no plan
	b.SetPlan(with("10.0.0.1:80"))
	c := begin("a", "10.0.0.1:80")
	b.RefreshPlan(with("10.0.0.2:80"))
	other := with("10.0.0.9:80")
	other.Revision = twos
	b.RefreshPlan(other)
	begin("b", "10.0.0.2:80")
	b.SetPlan(testPlan('3'))
	c.ack(c.receive(typePlan, threes)) // the next that it gets
}

// TestRefreshOfHeldPlan refreshes a plan that waits for the first endpoints.
func TestRefreshOfHeldPlan(t *testing.T) {
	b := serve(t)
	p := testPlan('1')
	p.Destination = plan.DestinationList
	b.SetPlan(p)
	q := *p
	q.Endpoints = []plan.Endpoint{{Name: "n/a", Address: "10.0.0.2:80"}}
	b.RefreshPlan(&q)
	b.SetEndpoints([]Endpoint{{Address: "10.0.0.2:80"}})
	c := b.connect(t, envoyNode("a", "g", "/m.wasm"))
	c.subscribe(typePlan, bootstrap.FilterName)
	if r := c.receive(typePlan, ones); !strings.Contains(string(r.GetResources()[0].GetValue()), "10.0.0.2:80") {
		t.Error("the plan is not the refreshed one")
	}
}

// TestManyNodes connects hundreds of Envoys, some with another module path, and changes the plan under them.
func TestManyNodes(t *testing.T) {
	const n = 300
	b := serve(t)
	b.SetPlan(testPlan('1'))
	var got, all sync.WaitGroup
	got.Add(n)
	for i := range n {
		all.Go(func() {
			module := fmt.Sprintf("/m%d.wasm", i%3)
			c := b.connect(t, envoyNode(fmt.Sprintf("n%03d", i), fmt.Sprintf("g%d", i%2), module))
			c.subscribe(typePlan, bootstrap.FilterName)
			c.ack(c.receive(typePlan, ones))
			got.Done()
			r := c.receive(typePlan, twos)
			if !strings.Contains(string(r.GetResources()[0].GetValue()), module) {
				t.Errorf("the plan of node %d names another module than %s", i, module)
			}
			c.ack(r)
		})
	}
	got.Wait()
	b.SetPlan(testPlan('2'))
	all.Wait()
	b.until(t, "all to accept", func(nodes []NodeStatus) bool {
		accepted := 0
		for i := range nodes {
			if nodes[i].Plan.Acked == twos {
				accepted++
			}
		}
		return accepted == n
	})
	b.state.mu.Lock()
	defer b.state.mu.Unlock()
	if got := len(b.state.sources[typePlan].encoded); got != 3 {
		t.Errorf("the plan was encoded %d times, for three module paths", got)
	}
}

func TestNodeWithoutID(t *testing.T) {
	b := serve(t)
	c := b.connect(t, envoyNode("", "g", "/m"))
	c.subscribe(typeEndpoints, "x")
	_, err := c.stream.Recv()
	if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "node.id is missing") {
		t.Errorf("error %v", err)
	}
}

// TestNodeWithoutModule checks that an Envoy that cannot be sent a plan is told of, and gets what needs no module.
func TestNodeWithoutModule(t *testing.T) {
	tests := []struct{ name, module, typeURL string }{
		{"plan", "", typePlan},
		{"cluster", "", typeClusters},
		{"path too long", strings.Repeat("x", maxPath+1), typePlan},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := serve(t)
			b.SetPlan(testPlan('1'))
			b.SetEndpoints([]Endpoint{{Address: "10.0.0.1:80"}})
			c := b.connect(t, envoyNode("a", "g", tt.module))
			c.subscribe(tt.typeURL, bootstrap.FilterName)
			c.subscribe(typeEndpoints, bootstrap.EndpointsCluster)
			c.ack(c.receive(typeEndpoints, "")) // and nothing before
			n := b.until(t, "the endpoints", func(n []NodeStatus) bool { return n[0].Endpoints.Acked != "" })[0]
			if !n.Rejects() || !strings.Contains(n.Lacks, "node.metadata.zerohop.wasm is missing") || n.Plan.Sent != "" {
				t.Errorf("%+v", n)
			}
			c.close()
			b.until(t, "the end", func(n []NodeStatus) bool { return !n[0].Connected })
			c = b.connect(t, envoyNode("a", "g", tt.module)) // it tries again
			c.subscribe(tt.typeURL, bootstrap.FilterName)
			b.until(t, "the second connection", func(n []NodeStatus) bool { return n[0].Connected && n[0].Lacks != "" })
			if got := strings.Count(b.logs.String(), "level=WARN"); got != 1 {
				t.Errorf("%d warnings in %s", got, b.logs)
			}
		})
	}
}

func TestDue(t *testing.T) {
	now := time.Unix(1e9, 0)
	n := newNodes(nil, func() time.Time { return now })
	got := []bool{n.due("a", time.Minute), n.due("a", time.Minute), n.due("b", 0)}
	now = now.Add(time.Minute)
	got = append(got, n.due("a", time.Minute), n.due("b", 0))
	if d := cmp.Diff([]bool{true, false, true, true, false}, got); d != "" {
		t.Error(d)
	}
	for i := range 2 * maxSaid {
		n.due(fmt.Sprint(i), 0)
	}
	if len(n.said) > maxSaid {
		t.Errorf("%d warnings are remembered", len(n.said))
	}
}

// TestTwins connects two Envoys of one id: the log says so, once.
func TestTwins(t *testing.T) {
	b := serve(t)
	for range 3 {
		b.connect(t, envoyNode("a", "g", "/m")).subscribe(typePlan, bootstrap.FilterName)
	}
	b.until(t, "three nodes", func(n []NodeStatus) bool { return len(n) == 3 })
	if got := strings.Count(b.logs.String(), "have one node id"); got != 1 {
		t.Errorf("%d warnings in %s", got, b.logs)
	}
}

func TestIncrementalIsRefused(t *testing.T) {
	b := serve(t)
	c := b.connect(t, envoyNode("a", "g", "/m"))
	s, err := discovery.NewAggregatedDiscoveryServiceClient(c.conn).DeltaAggregatedResources(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Recv(); status.Code(err) != codes.Unimplemented || !strings.Contains(err.Error(), "api_type: GRPC") {
		t.Error(err)
	}
}

// TestEndpointsAndCluster follows an Envoy that has its cluster from here too, and changes of its members.
func TestEndpointsAndCluster(t *testing.T) {
	b := serve(t)
	c := b.connect(t, envoyNode("a", "g", "/m"))
	c.subscribe(typeClusters)
	c.ack(c.receive(typeClusters, ""))
	c.subscribe(typeEndpoints, bootstrap.EndpointsCluster)
	b.SetEndpoints([]Endpoint{{Address: "10.0.0.1:80"}, {Address: "10.0.0.2:80"}})
	first := c.receive(typeEndpoints, "")
	c.ack(first)
	b.SetEndpoints([]Endpoint{{Address: "10.0.0.2:80"}, {Address: "10.0.0.1:80"}}) // the same set
	b.SetEndpoints([]Endpoint{{Address: "10.0.0.2:80", Health: Draining}, {Address: "10.0.0.1:80"}})
	second := c.receive(typeEndpoints, "")
	if first.GetVersionInfo() == second.GetVersionInfo() || second.GetNonce() != "3" {
		t.Errorf("versions %s and %s, nonce %s", first.GetVersionInfo(), second.GetVersionInfo(), second.GetNonce())
	}
	c.ack(second)
	b.until(t, "all to be accepted", func(n []NodeStatus) bool {
		return n[0].Endpoints.Acked == second.GetVersionInfo() && n[0].Clusters.Acked != ""
	})
}

// TestListWaitsForEndpoints checks that no Envoy is told to use lists before it knows what is on them.
func TestListWaitsForEndpoints(t *testing.T) {
	b := serve(t)
	p := testPlan('1')
	p.Destination = plan.DestinationList
	b.SetPlan(p)
	c := b.connect(t, envoyNode("a", "g", "/m"))
	c.subscribe(typePlan, bootstrap.FilterName)
	c.subscribe(typeEndpoints, bootstrap.EndpointsCluster)
	c.subscribe(typeClusters)
	c.ack(c.receive(typeClusters, "")) // and nothing before
	b.SetEndpoints([]Endpoint{{Address: "10.0.0.1:80"}})
	c.ack(c.receive(typeEndpoints, ""))
	c.ack(c.receive(typePlan, ones))

	// A plan that comes meanwhile takes the place of the one that waits.
	b = serve(t)
	b.SetPlan(p)
	b.SetPlan(testPlan('2'))
	b.SetEndpoints(nil)
	c = b.connect(t, envoyNode("a", "g", "/m"))
	c.subscribe(typePlan, bootstrap.FilterName)
	c.receive(typePlan, twos)
}

// TestRefusalsAreBounded checks that what Envoys call themselves cannot fill the memory.
func TestRefusalsAreBounded(t *testing.T) {
	n := newNodes(nil, nil)
	for i := range 3 * maxGroups {
		n.count(fmt.Sprint(i))
	}
	got := n.refusals()
	if len(got) != maxGroups+1 || got[otherGroup] != 2*maxGroups {
		t.Errorf("%d groups, %d others", len(got), got[otherGroup])
	}
	if got := printable(strings.Repeat("é", maxText), maxText); len(got) > maxText+len("…") || !strings.HasSuffix(got, "é…") {
		t.Errorf("%q", got)
	}
}
