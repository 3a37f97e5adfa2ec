// Package controlplane is the agent's xDS server: it serves Envoys the filter's plan (ECDS) and, for destination mode list, the
// endpoints (EDS) and their cluster (CDS), all over one aggregated stream (ADS). It knows what each Envoy was sent, what it
// accepted and what it refused, with Envoy's reason. It never decides what to serve: the caller sets plan and endpoints.
package controlplane

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"time"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/sotw/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"github.com/zerohop/zerohop/shared/plan"
)

const (
	maxRequest   = 1 << 20 // the first request lists Envoy's extensions: some 100 KB
	maxStreams   = 16      // of one connection; Envoy opens one
	pingEvery    = 30 * time.Second
	pingTimeout  = 10 * time.Second
	minPingEvery = 5 * time.Second // Envoys that ping more often are cut off
	maxIdle      = 2 * time.Minute // of a connection without stream: an Envoy always has one
)

// Options are the surroundings of a Server.
type Options struct {
	Listener net.Listener        // Serve closes it
	Server   []grpc.ServerOption // credentials and who may talk; none means everybody
	Log      *slog.Logger
	Now      func() time.Time // nil means time.Now
}

// Server is the control plane. All methods may be called at any time from any goroutine.
type Server struct {
	o     Options
	state *watcher
	nodes *nodes
}

// New returns a server that has neither plan nor endpoints yet: Envoys that ask wait, and run on their bootstrap meanwhile.
func New(o Options) *Server {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Server{o: o, state: newWatcher(), nodes: newNodes(o.Log, o.Now)}
}

// SetPlan makes p the plan of every Envoy. An Envoy that refuses it keeps the one that it has, and is not sent p again while
// its connection lasts. The plan must not change afterwards.
func (s *Server) SetPlan(p *plan.Plan) { s.state.setPlan(p) }

// RefreshPlan replaces the plan by one of the same revision, of which only the endpoints differ. It is for Envoys that connect
// from now on, which begin with them: one that has the plan has newer ones by its snapshots, and is sent nothing.
func (s *Server) RefreshPlan(p *plan.Plan) { s.state.refreshPlan(p) }

// SetEndpoints makes endpoints the members of the cluster for destination mode list. Endpoints without a valid ip:port are
// left out.
func (s *Server) SetEndpoints(endpoints []Endpoint) { s.state.setEndpoints(endpoints) }

// Nodes returns the Envoys that are connected, and for a while those that were, sorted by group and id.
func (s *Server) Nodes() []NodeStatus { return s.nodes.list() }

// Refusals returns how many responses Envoys have refused since the server was made, by node group.
func (s *Server) Refusals() map[string]uint64 { return s.nodes.refusals() }

// Serve serves until ctx ends, and returns when all streams have ended.
func (s *Server) Serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	options := append([]grpc.ServerOption{
		grpc.MaxRecvMsgSize(maxRequest),
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: pingEvery, Timeout: pingTimeout, MaxConnectionIdle: maxIdle}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: minPingEvery, PermitWithoutStream: true}),
	}, s.o.Server...)
	g := grpc.NewServer(options...)
	discovery.RegisterAggregatedDiscoveryServiceServer(g, &ads{
		streams: sotw.NewServer(ctx, s.state, s.nodes, sotw.WithOrderedADS()),
	})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-ctx.Done()
		g.Stop()
	}()
	s.o.Log.Info("control plane serves", "address", s.o.Listener.Addr().String())
	err := g.Serve(s.o.Listener)
	stopped := ctx.Err() != nil
	cancel()
	<-ended
	if err != nil && !stopped {
		return fmt.Errorf("serve xDS: %w", err)
	}
	return nil
}

// ads is the gRPC service.
type ads struct {
	discovery.UnimplementedAggregatedDiscoveryServiceServer
	streams sotw.Server
}

// StreamAggregatedResources implements the state-of-the-world variant of ADS.
func (a *ads) StreamAggregatedResources(stream discovery.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
	return a.streams.StreamHandler(stream, "")
}

// DeltaAggregatedResources refuses the incremental variant: with one resource of each type it has nothing to save.
func (*ads) DeltaAggregatedResources(discovery.AggregatedDiscoveryService_DeltaAggregatedResourcesServer) error {
	return status.Error(codes.Unimplemented, "incremental xDS is not served; set api_type: GRPC in ads_config")
}
