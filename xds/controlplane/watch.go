package controlplane

import (
	"context"
	"sync"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/zerohop/zerohop/shared/plan"
)

// watcher holds what is served and the streams that wait for something else than they have. A change costs one encoding per
// distinct module path and one send per Envoy.
type watcher struct {
	mu      sync.Mutex
	sources map[string]source // by type URL
	watches map[*watch]struct{}
	held    *plan.Plan // waits for the first endpoints
}

// source makes the one resource of a type.
type source struct {
	name    string // of the resource
	version string
	make    func(module string) (*anypb.Any, error)
	encoded map[string]*anypb.Any // by module path
}

// watch is one stream's open question for a type.
type watch struct {
	request *cache.Request
	sub     cache.Subscription
	out     chan cache.Response
}

func newWatcher() *watcher {
	w := &watcher{sources: make(map[string]source), watches: make(map[*watch]struct{})}
	w.set(typeClusters, clusterSource())
	return w
}

// setPlan serves p. One with destination mode list is held back until there are endpoints: Envoy would have nothing to
// choose from.
func (w *watcher) setPlan(p *plan.Plan) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = nil
	if _, known := w.sources[typeEndpoints]; !known && p.Destination == plan.DestinationList {
		w.held = p
		return
	}
	w.set(typePlan, planSource(p))
}

// refreshPlan replaces the plan that is served or held by p, which has the same revision. Streams are not told.
func (w *watcher) refreshPlan(p *plan.Plan) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := planSource(p)
	s.encoded = make(map[string]*anypb.Any)
	switch {
	case w.held != nil && w.held.Revision == p.Revision:
		w.held = p
	case w.held == nil && w.sources[typePlan].version == s.version:
		w.sources[typePlan] = s
	}
}

// setEndpoints serves endpoints, and after them the plan that waits for them. A stream is sent both in this order.
func (w *watcher) setEndpoints(endpoints []Endpoint) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.set(typeEndpoints, endpointsSource(endpoints))
	if p := w.held; p != nil {
		w.held = nil
		w.set(typePlan, planSource(p))
	}
}

// set replaces what is served of a type, and answers the watches for which it is new. The caller holds the lock.
func (w *watcher) set(typeURL string, s source) {
	if w.sources[typeURL].version == s.version {
		return
	}
	s.encoded = make(map[string]*anypb.Any)
	w.sources[typeURL] = s
	for open := range w.watches {
		if open.request.GetTypeUrl() != typeURL {
			continue
		}
		if response, err := w.respond(open); err == nil && response != nil {
			delete(w.watches, open)
			open.out <- response
		}
	}
}

// CreateWatch implements cache.ConfigWatcher: it answers at once when the stream lacks something, or else when that changes.
// The channel has room for one response of each type, and a type has one watch, so that sending never blocks.
func (w *watcher) CreateWatch(r *cache.Request, sub cache.Subscription, out chan cache.Response) (func(), error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !served(r.GetTypeUrl()) {
		return nil, nil // never answered, nor remembered
	}
	open := &watch{request: r, sub: sub, out: out}
	response, err := w.respond(open)
	if err != nil {
		return nil, err
	}
	if response != nil {
		out <- response
		return nil, nil
	}
	w.watches[open] = struct{}{}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.watches, open)
	}, nil
}

// CreateDeltaWatch implements cache.ConfigWatcher. The service refuses the incremental protocol before.
func (*watcher) CreateDeltaWatch(*cache.DeltaRequest, cache.Subscription, chan cache.DeltaResponse) (func(), error) {
	return nil, status.Error(codes.Unimplemented, "incremental xDS is not served")
}

// served reports whether there is such a type of resource.
func served(typeURL string) bool {
	return typeURL == typePlan || typeURL == typeEndpoints || typeURL == typeClusters
}

// respond returns what the stream lacks; nil if that is nothing. What a stream was sent counts, not what it accepted, so
// that a refused version is not sent again.
func (w *watcher) respond(open *watch) (cache.Response, error) {
	s, ok := w.sources[open.request.GetTypeUrl()]
	if !ok {
		return nil, nil
	}
	if _, named := open.sub.SubscribedResources()[s.name]; !named && !open.sub.IsWildcard() {
		return nil, nil
	}
	if open.sub.ReturnedResources()[s.name] == s.version {
		return nil, nil
	}
	module := moduleFor(open.request)
	if module == "" && open.request.GetTypeUrl() != typeEndpoints {
		return nil, nil // the node lacks the path, and is told so by nodes
	}
	encoded, err := s.encode(module)
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &response{request: open.request, name: s.name, version: s.version, resource: encoded}, nil
}

// moduleFor returns the module path that the resource depends on.
func moduleFor(r *cache.Request) string {
	if r.GetTypeUrl() == typeEndpoints {
		return ""
	}
	return modulePath(r.GetNode())
}

// maxModules bounds how many encodings of one version are kept.
const maxModules = 64

func (s *source) encode(module string) (*anypb.Any, error) {
	if a, ok := s.encoded[module]; ok {
		return a, nil
	}
	a, err := s.make(module)
	if err == nil && len(s.encoded) < maxModules {
		s.encoded[module] = a
	}
	return a, err
}

// response is the one resource of a type for one stream.
type response struct {
	request       *cache.Request
	name, version string
	resource      *anypb.Any // shared, never changed
}

// GetDiscoveryResponse implements cache.Response.
func (r *response) GetDiscoveryResponse() (*discovery.DiscoveryResponse, error) {
	return &discovery.DiscoveryResponse{
		VersionInfo: r.version, TypeUrl: r.request.GetTypeUrl(), Resources: []*anypb.Any{r.resource},
	}, nil
}

// GetRequest implements cache.Response.
func (r *response) GetRequest() *discovery.DiscoveryRequest { return r.request }

// GetVersion implements cache.Response.
func (r *response) GetVersion() (string, error) { return r.version, nil }

// GetResponseVersion implements cache.Response.
func (r *response) GetResponseVersion() string { return r.version }

// GetReturnedResources implements cache.Response.
func (r *response) GetReturnedResources() map[string]string {
	return map[string]string{r.name: r.version}
}

// GetContext implements cache.Response.
func (r *response) GetContext() context.Context { return context.Background() }
