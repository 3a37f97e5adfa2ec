package facts

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zerohop/zerohop/e2e/harness"
	"github.com/zerohop/zerohop/e2e/traffic"
	"github.com/zerohop/zerohop/e2e/vllmsim/simserver"
)

// The configurations of these tests. The strict one drops endpoints whose models nobody knows.
const (
	anywhere = header + "- type: queue-scorer\n" + fast
	served   = header + "- type: queue-scorer\n- type: served-model-filter\n" + fast
	strict   = header + "- type: queue-scorer\n- {type: served-model-filter, parameters: {onUnknown: fail}}\n" + fast
)

// asking sends requests for models from several clients until it is ended, and wants each answered with 200: an endpoint that
// does not serve the model would say 404, and the filter 429.
func (b *bed) asking(models ...string) (sent func() int64, end func()) {
	ctx, cancel := context.WithCancel(b.t.Context())
	var running sync.WaitGroup
	var n atomic.Int64
	for i := range 2 * len(models) {
		model := models[i%len(models)]
		running.Go(func() {
			for ctx.Err() == nil {
				e, code, err := b.ask(context.WithoutCancel(ctx), model)
				if err != nil || code != http.StatusOK {
					b.t.Errorf("request %d for %s: endpoint %q, status %d, error %v", n.Load(), model, e, code, err)
					return
				}
				n.Add(1)
				time.Sleep(time.Millisecond) // the machine has other things to do
			}
		})
	}
	return n.Load, func() { cancel(); running.Wait() }
}

// more waits for further requests.
func more(t *testing.T, sent func() int64, n int64) {
	t.Helper()
	goal := sent() + n
	traffic.Until(t, "requests", func() error {
		if got := sent(); got < goal && !t.Failed() {
			return fmt.Errorf("%d of %d", got, goal)
		}
		return nil
	})
}

// TestServedModelsEditedUnderLoad edits the filter in and out while requests go on, in its strict form too, which refuses what
// it does not know: none is refused by an edit, and each edit is in force when it says so.
func TestServedModelsEditedUnderLoad(t *testing.T) {
	traffic.EachMode(t, func(t *testing.T, mode string) {
		t.Parallel()
		base := simserver.Config{Models: []string{"base"}}
		b := startWith(t, harness.Options{Concurrency: 2, DestinationMode: mode}, anywhere, base, base, simserver.Config{Models: []string{"base", "other"}})
		sent, end := b.asking("base", "base")
		defer end()
		for _, config := range []string{strict, anywhere, served, strict, anywhere, strict} {
			b.configure(config + "destinationMode: " + mode + "\n")
			more(t, sent, 50)
			if config != anywhere {
				if err := errors.Join(b.goTo("other", "sim-2"), b.goTo("nothing")); err != nil {
					t.Error(err)
				}
			}
		}
	})
}

// TestServedModelsOutliveTheAgent ends the agent, politely and by a crash, and starts another one, which knows nothing at
// first. Meanwhile no request goes to an endpoint that does not serve its model, and none is refused.
func TestServedModelsOutliveTheAgent(t *testing.T) {
	for _, tt := range []struct{ name, config string }{{"pass", served}, {"fail", strict}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			base, other := simserver.Config{Models: []string{"base"}}, simserver.Config{Models: []string{"other"}}
			b := startWith(t, harness.Options{Concurrency: 2}, tt.config, base, base, other, other)
			traffic.Until(t, "models are known", func() error {
				return errors.Join(b.goTo("base", "sim-0", "sim-1"), b.goTo("other", "sim-2", "sim-3"))
			})
			sent, end := b.asking("base", "other")
			defer end()
			for i := range 4 {
				if i%2 == 1 {
					b.stack.Agent.Kill()
					more(t, sent, 50)
				}
				if err := b.stack.StartAgent(t.Context()); err != nil {
					t.Fatal(err)
				}
				more(t, sent, 100)
				traffic.Until(t, "the agent to be asked", func() error {
					if s := b.status(); len(s.Nodes) != 1 || len(s.Nodes[0].Workers) == 0 {
						return fmt.Errorf("nobody reports: %+v", s.Nodes)
					}
					return nil
				})
				more(t, sent, 200)
			}
		})
	}
}

// TestServedModelsOutliveAnAgentThatLearnsNone starts another agent while no endpoint tells its models: what the workers know
// counts until they do.
func TestServedModelsOutliveAnAgentThatLearnsNone(t *testing.T) {
	base, other := simserver.Config{Models: []string{"base"}}, simserver.Config{Models: []string{"other"}}
	b := &bed{t: t, sims: startSims(t, base, base, other, other)}
	var mute atomic.Bool
	endpoints := b.sims.Endpoints()
	for i := range endpoints {
		endpoints[i].Address = muted(t, endpoints[i].Address, &mute)
	}
	b.stack = harness.ForTest(t, harness.Options{Concurrency: 2, Endpoints: endpoints, Config: []byte(served)})
	traffic.Until(t, "models are known", func() error {
		return errors.Join(b.goTo("base", "sim-0", "sim-1"), b.goTo("other", "sim-2", "sim-3"))
	})
	sent, end := b.asking("base", "other")
	defer end()
	mute.Store(true)
	for range 2 {
		if err := b.stack.StartAgent(t.Context()); err != nil {
			t.Fatal(err)
		}
		traffic.Until(t, "the agent to be asked", func() error {
			if s := b.status(); len(s.Nodes) != 1 || len(s.Nodes[0].Workers) == 0 {
				return fmt.Errorf("nobody reports: %+v", s.Nodes)
			}
			return nil
		})
		more(t, sent, 300)
	}
	mute.Store(false)
	more(t, sent, 300)
}

// muted returns the address of a proxy of an endpoint that answers 503 when it is asked for models, as long as mute says so.
func muted(t *testing.T, address string, mute *atomic.Bool) string {
	t.Helper()
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: address})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/models" && mute.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	return strings.TrimPrefix(srv.URL, "http://")
}
