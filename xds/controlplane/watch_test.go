package controlplane

import (
	"fmt"
	"testing"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/stream/v3"
	"pgregory.net/rapid"

	"github.com/zerohop/zerohop/xds/bootstrap"
)

// modelStream is what a stream of the library does with a watcher, for one type.
type modelStream struct {
	node    *core.Node
	typeURL string
	sub     stream.Subscription
	out     chan cache.Response
	cancel  func()
	has     string // version that was sent last
	pending bool   // the client has not answered it
}

// ask opens the stream's question.
func (s *modelStream) ask(w *watcher) error {
	if s.cancel != nil {
		s.cancel()
	}
	for len(s.out) > 0 {
		<-s.out // as the library does: the question is asked anew
	}
	var err error
	s.cancel, err = w.CreateWatch(&cache.Request{Node: s.node, TypeUrl: s.typeURL}, &s.sub, s.out)
	return err
}

// take receives what has come, if anything, and checks that it is another version than the one before.
func (s *modelStream) take() error {
	if len(s.out) > 1 {
		return fmt.Errorf("%d responses of one type at once", len(s.out))
	}
	select {
	case r := <-s.out:
		if s.pending || r.GetResponseVersion() == s.has {
			return fmt.Errorf("version %s comes again, or before an answer", r.GetResponseVersion())
		}
		s.has, s.pending = r.GetResponseVersion(), true
		s.sub.SetReturnedResources(r.GetReturnedResources())
	default:
	}
	return nil
}

// TestWatcherSendsTheNewest lets clients accept, refuse and leave in any order with changes of what is served. At the end
// each that is there has been sent the newest version, and none got one twice in a row.
func TestWatcherSendsTheNewest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWatcher()
		var streams []*modelStream
		must := func(err error) {
			if err != nil {
				t.Fatal(err)
			}
		}
		pick := func(t *rapid.T) *modelStream {
			if len(streams) == 0 {
				t.Skip("no stream")
			}
			return rapid.SampledFrom(streams).Draw(t, "stream")
		}
		t.Repeat(map[string]func(*rapid.T){
			"plan": func(t *rapid.T) { w.setPlan(testPlan(rapid.SampledFrom([]byte("123")).Draw(t, "plan"))) },
			"endpoints": func(t *rapid.T) {
				w.setEndpoints([]Endpoint{{Address: fmt.Sprintf("10.0.0.%d:80", rapid.IntRange(1, 3).Draw(t, "endpoint"))}})
			},
			"connect": func(t *rapid.T) {
				typeURL := rapid.SampledFrom([]string{typePlan, typeEndpoints, typeClusters}).Draw(t, "type")
				s := &modelStream{
					node: envoyNode("n", "g", rapid.SampledFrom([]string{"/a", "/b"}).Draw(t, "module")), typeURL: typeURL,
					sub: stream.NewSotwSubscription(resourceNames[typeURL], true), out: make(chan cache.Response, types.UnknownType),
				}
				must(s.ask(w))
				streams = append(streams, s)
			},
			"receive": func(t *rapid.T) { must(pick(t).take()) },
			"answer": func(t *rapid.T) { // accepting and refusing look alike to the watcher
				s := pick(t)
				must(s.take())
				if s.pending {
					s.pending = false
					must(s.ask(w))
				}
			},
			"disconnect": func(t *rapid.T) {
				s := pick(t)
				if s.cancel != nil {
					s.cancel()
				}
				for i := range streams {
					if streams[i] == s {
						streams = append(streams[:i], streams[i+1:]...)
						break
					}
				}
			},
		})
		for _, s := range streams {
			for range 3 {
				must(s.take())
				if s.pending {
					s.pending = false
					must(s.ask(w))
				}
			}
			if want := w.sources[s.typeURL].version; s.has != want {
				t.Fatalf("a stream has version %q of %s, the newest is %q", s.has, s.typeURL, want)
			}
			if s.cancel != nil {
				s.cancel()
			}
		}
		if n := len(w.watches); n != 0 {
			t.Fatalf("%d watches are left", n)
		}
	})
}

// TestOtherTypesAreIgnored checks that an Envoy that asks for more than there is gets what there is.
func TestOtherTypesAreIgnored(t *testing.T) {
	b := serve(t)
	b.SetPlan(testPlan('1'))
	c := b.connect(t, envoyNode("a", "g", "/m"))
	for i := range 100 {
		c.subscribe(fmt.Sprintf("type.googleapis.com/other.%d", i))
	}
	c.subscribe(typePlan, "another-filter")
	c.subscribe(typeEndpoints, "another-cluster")
	c.subscribe(typeClusters)
	c.receive(typeClusters, "")
	b.state.mu.Lock()
	defer b.state.mu.Unlock()
	if n := len(b.state.watches); n > 2 {
		t.Errorf("%d watches are remembered", n)
	}
}

func TestModuleForEachType(t *testing.T) {
	node := envoyNode("n", "g", "/m")
	for typeURL, want := range map[string]string{typePlan: "/m", typeClusters: "/m", typeEndpoints: ""} {
		if got := moduleFor(&cache.Request{Node: node, TypeUrl: typeURL}); got != want {
			t.Errorf("%s depends on %q, want %q", typeURL, got, want)
		}
	}
	if got := modulePath(nil); got != "" {
		t.Errorf("no node has module %q", got)
	}
	if bootstrap.FilterName == bootstrap.EndpointsCluster {
		t.Error("two resources of one name")
	}
}
