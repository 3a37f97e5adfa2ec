package controlplane

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"go.uber.org/goleak"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/xds/bootstrap"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bed is a running server.
type bed struct {
	*Server
	address string
	logs    *lines
}

func serve(t *testing.T) *bed {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &bed{address: l.Addr().String(), logs: &lines{}}
	b.Server = New(Options{Listener: l, Log: slog.New(slog.NewTextHandler(b.logs, nil))})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := b.Serve(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return b
}

// lines collects a log.
type lines struct {
	mu   sync.Mutex
	text []byte
}

// Write implements io.Writer.
func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, b...)
	return len(b), nil
}

// String returns what was logged.
func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text)
}

// client is one Envoy's side of a stream.
type client struct {
	t      *testing.T
	conn   *grpc.ClientConn
	stream discovery.AggregatedDiscoveryService_StreamAggregatedResourcesClient
	node   *core.Node
	cancel context.CancelFunc
}

func envoyNode(id, group, module string) *core.Node {
	n := &core.Node{
		Id: id, Cluster: group,
		UserAgentVersionType: &core.Node_UserAgentBuildVersion{UserAgentBuildVersion: &core.BuildVersion{
			Version: &typev3.SemanticVersion{MajorNumber: 1, MinorNumber: 40},
		}},
	}
	if module != "" {
		n.Metadata = &structpb.Struct{Fields: map[string]*structpb.Value{
			bootstrap.MetadataKey: structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{
				bootstrap.MetadataModule: structpb.NewStringValue(module),
			}}),
		}}
	}
	return n
}

func (b *bed) connect(t *testing.T, node *core.Node) *client {
	t.Helper()
	conn, err := grpc.NewClient(b.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	stream, err := discovery.NewAggregatedDiscoveryServiceClient(conn).StreamAggregatedResources(ctx)
	if err != nil {
		t.Fatal(err)
	}
	c := &client{t: t, conn: conn, stream: stream, node: node, cancel: cancel}
	t.Cleanup(c.close)
	return c
}

func (c *client) close() {
	c.cancel()
	_ = c.conn.Close()
}

func (c *client) send(r *discovery.DiscoveryRequest) {
	c.t.Helper()
	r.Node, c.node = c.node, nil // with the first message only, as in the bootstrap
	if err := c.stream.Send(r); err != nil && !errors.Is(err, io.EOF) {
		c.t.Fatal(err)
	}
}

func (c *client) subscribe(typeURL string, names ...string) {
	c.t.Helper()
	c.send(&discovery.DiscoveryRequest{TypeUrl: typeURL, ResourceNames: names})
}

// receive returns the next response, which must be of that type and version.
func (c *client) receive(typeURL, version string) *discovery.DiscoveryResponse {
	c.t.Helper()
	r, err := c.stream.Recv()
	if err != nil {
		c.t.Fatal(err)
	}
	if r.GetTypeUrl() != typeURL || version != "" && r.GetVersionInfo() != version || len(r.GetResources()) != 1 {
		c.t.Fatalf("received version %s of %s, want %s of %s", r.GetVersionInfo(), r.GetTypeUrl(), version, typeURL)
	}
	return r
}

var resourceNames = map[string][]string{
	typePlan: {bootstrap.FilterName}, typeEndpoints: {bootstrap.EndpointsCluster},
}

func (c *client) ack(r *discovery.DiscoveryResponse) {
	c.t.Helper()
	c.send(&discovery.DiscoveryRequest{
		TypeUrl: r.GetTypeUrl(), ResourceNames: resourceNames[r.GetTypeUrl()], ResponseNonce: r.GetNonce(), VersionInfo: r.GetVersionInfo(),
	})
}

func (c *client) nack(r *discovery.DiscoveryResponse, before, reason string) {
	c.t.Helper()
	c.send(&discovery.DiscoveryRequest{
		TypeUrl: r.GetTypeUrl(), ResourceNames: resourceNames[r.GetTypeUrl()], ResponseNonce: r.GetNonce(), VersionInfo: before,
		ErrorDetail: &rpcstatus.Status{Code: 13, Message: reason},
	})
}

// until waits until the nodes are as ok wants them.
func (b *bed) until(t *testing.T, what string, ok func([]NodeStatus) bool) []NodeStatus {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		nodes := b.Nodes()
		if ok(nodes) {
			return nodes
		}
		if time.Now().After(end) {
			t.Fatalf("%s: %+v", what, nodes)
		}
	}
}

// testPlan returns a plan whose revision consists of one digit.
func testPlan(digit byte) *plan.Plan {
	return &plan.Plan{
		Version: plan.Version, Revision: string(slices.Repeat([]byte{digit}, 16)), Destination: plan.DestinationHeader,
		FailureMode: plan.FailClose, Agent: plan.Agent{Cluster: bootstrap.AgentCluster, PollTimeoutMs: 1000, StaleMs: 1000},
		Bounds: plan.Bounds{Endpoints: 10, IndexBlocks: 10}, Prefix: plan.Prefix{AutoTune: true},
		Plugins:  []plan.Plugin{{Name: "p", Type: "x"}},
		Profiles: []plan.Profile{{Name: "default", Picker: "p"}}, ProfileHandler: "p",
	}
}
