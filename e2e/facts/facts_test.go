package facts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zerohop/zerohop/e2e/engine"
	"github.com/zerohop/zerohop/e2e/harness"
	"github.com/zerohop/zerohop/e2e/traffic"
	"github.com/zerohop/zerohop/e2e/vllmsim/simserver"
	"github.com/zerohop/zerohop/xds/status"
)

const (
	header = "apiVersion: inference.networking.x-k8s.io/v1alpha1\nkind: EndpointPickerConfig\nplugins:\n"
	fast   = "---\napiVersion: zerohop.dev/v1alpha1\nkind: ZerohopConfig\nscrape: {interval: 50ms}\nservedModels: {interval: 200ms}\n"
)

// bed is an Envoy with its agent and endpoints.
type bed struct {
	t     *testing.T
	stack *harness.Stack
	sims  harness.Sims
}

// start starts one endpoint for each configuration, called sim-0 and so on.
func start(t *testing.T, config string, cfgs ...simserver.Config) *bed {
	t.Helper()
	return startWith(t, harness.Options{}, config, cfgs...)
}

// startWith is start with an Envoy of these options.
func startWith(t *testing.T, o harness.Options, config string, cfgs ...simserver.Config) *bed {
	t.Helper()
	b := &bed{t: t, sims: startSims(t, cfgs...)}
	o.Endpoints, o.Config = b.sims.Endpoints(), []byte(config)
	b.stack = harness.ForTest(t, o)
	return b
}

func startSims(t *testing.T, cfgs ...simserver.Config) (sims harness.Sims) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a real Envoy")
	}
	for i, c := range cfgs {
		c.Name, c.Engine = fmt.Sprint("sim-", i), engine.Config{CapacityTokens: 100_000}
		s, err := simserver.Start(c)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		sims = append(sims, s)
	}
	return sims
}

// ask sends a request for model and returns the endpoint that answered, and the status.
func (b *bed) ask(ctx context.Context, model string) (endpoint string, status int, err error) {
	body := fmt.Sprintf(`{"model":%q,"prompt":"hello","max_tokens":1}`, model)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.stack.URL()+"/v1/completions", strings.NewReader(body))
	if err != nil {
		return "", 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", 0, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.Header.Get(simserver.HeaderEndpoint), resp.StatusCode, err
}

// goTo fails unless 20 requests for model all go to the endpoints, each of which gets some, or are all refused if there are none.
func (b *bed) goTo(model string, endpoints ...string) error {
	var got []string
	for range 20 {
		e, code, err := b.ask(b.t.Context(), model)
		switch {
		case err != nil:
			return err
		case code == http.StatusTooManyRequests && len(endpoints) == 0:
			continue
		case code != http.StatusOK:
			return fmt.Errorf("model %s: status %d", model, code)
		}
		got = append(got, e)
	}
	slices.Sort(got)
	if got = slices.Compact(got); !slices.Equal(got, endpoints) {
		return fmt.Errorf("model %s: requests went to %v, want %v", model, got, endpoints)
	}
	return nil
}

func TestServedModels(t *testing.T) {
	b := start(t, header+"- type: served-model-filter\n"+fast,
		simserver.Config{Models: []string{"base"}, Adapters: []string{"sql"}},
		simserver.Config{Models: []string{"base"}}, simserver.Config{Models: []string{"other"}})
	traffic.Until(b.t, "models are known", func() error {
		return errors.Join(b.goTo("base", "sim-0", "sim-1"), b.goTo("sql", "sim-0"), b.goTo("other", "sim-2"), b.goTo("nothing"))
	})
}

// TestAdapters has requests for an adapter follow the first one, which keeps it in use.
func TestAdapters(t *testing.T) {
	all := simserver.Config{Models: []string{"base"}, Adapters: []string{"sql", "chat", "code"}, MaxLoRA: 1}
	b := start(t, header+"- type: lora-affinity-scorer\n"+fast, all, all, all)
	holder := map[string]string{}
	for _, adapter := range []string{"sql", "chat", "code"} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		body := fmt.Sprintf(`{"model":%q,"prompt":"hello","max_tokens":50000,"stream":true}`, adapter)
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.stack.URL()+"/v1/completions", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		holder[adapter] = resp.Header.Get(simserver.HeaderEndpoint)
		// A server whose only place is taken scores less than an empty one: the next adapter goes elsewhere.
		traffic.Until(b.t, adapter+" is in use", func() error { return b.goTo(adapter, holder[adapter]) })
	}
	if holder["sql"] == holder["chat"] || holder["chat"] == holder["code"] || holder["code"] == holder["sql"] {
		t.Errorf("adapters share endpoints that have room for one: %v", holder)
	}
}

// TestRolesChange has the configuration begin and cease to select by role while requests go on, and then the roles change. No
// request is refused at any time.
func TestRolesChange(t *testing.T) {
	const byRole, all = header + "- type: queue-scorer\n- type: prefill-filter\n" + fast, header + "- type: queue-scorer\n" + fast
	same := simserver.Config{Models: []string{"base"}}
	b := &bed{t: t, sims: startSims(t, same, same)}
	b.stack = harness.ForTest(t, harness.Options{Endpoints: b.roles("prefill", "decode"), Config: []byte(all)})
	var asking sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	sent := 0
	asking.Go(func() {
		for ctx.Err() == nil {
			e, code, err := b.ask(context.WithoutCancel(ctx), "base")
			if sent++; err != nil || code != http.StatusOK {
				t.Errorf("request %d: endpoint %s, status %d, error %v", sent, e, code, err)
				return
			}
			time.Sleep(time.Millisecond) // the machine has other things to do
		}
	})
	for range 3 {
		b.write(b.roles("prefill", "decode"))
		b.configure(byRole)
		traffic.Until(b.t, "only sim-0", func() error { return b.goTo("base", "sim-0") })
		b.write(b.roles("decode", "prefill"))
		traffic.Until(b.t, "only sim-1", func() error { return b.goTo("base", "sim-1") })
		b.configure(all)
		traffic.Until(b.t, "both", func() error { return b.goTo("base", "sim-0", "sim-1") })
	}
	cancel()
	asking.Wait()
	if sent < 100 {
		t.Errorf("only %d requests were sent", sent)
	}
}

// roles returns the endpoints with a role each.
func (b *bed) roles(roles ...string) []harness.Endpoint {
	endpoints := b.sims.Endpoints()
	for i := range endpoints {
		endpoints[i].Labels = map[string]string{"llm-d.ai/role": roles[i]}
	}
	return endpoints
}

// write has the agent read other endpoints.
func (b *bed) write(endpoints []harness.Endpoint) {
	b.t.Helper()
	if err := b.stack.WriteEndpoints(endpoints); err != nil {
		b.t.Fatal(err)
	}
}

// configure puts a configuration into force.
func (b *bed) configure(config string) {
	b.t.Helper()
	before := b.status().Revision
	if err := b.stack.WriteConfig([]byte(config)); err != nil {
		b.t.Fatal(err)
	}
	traffic.Until(b.t, "the plan", func() error {
		s := b.status()
		switch {
		case s.Revision == before:
			return errors.New("no new plan")
		case len(s.Nodes) != 1 || len(s.Nodes[0].Workers) == 0:
			return fmt.Errorf("nobody reports: %+v", s.Nodes)
		}
		for _, w := range s.Nodes[0].Workers { // that of before the change is known for a while
			if w.Revision != s.Revision {
				return fmt.Errorf("not in force: %+v", s.Nodes)
			}
		}
		return nil
	})
}

func (b *bed) status() (s status.Status) {
	b.t.Helper()
	resp, err := http.Get(b.stack.AgentURL() + status.Path)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&s); err != nil {
		b.t.Fatal(err)
	}
	return s
}
