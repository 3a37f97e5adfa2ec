package check

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/zerohop/zerohop/e2e/harness"
	"github.com/zerohop/zerohop/e2e/traffic"
	"github.com/zerohop/zerohop/e2e/vllmsim/simserver"
	"github.com/zerohop/zerohop/scorers/registry"
	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/xds/config"
	"github.com/zerohop/zerohop/xds/discovery"
	"github.com/zerohop/zerohop/xds/envoycheck/envoychecktest"
)

// patience bounds the start of Envoy, compilation of the module included.
const patience = 60 * time.Second

const sims = 3

// bed is an Envoy with a mended configuration.
type bed struct {
	url  string
	sims harness.Sims
}

// start mends an Envoy that balances round robin, and runs it without agent.
func start(t *testing.T) *bed {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a real Envoy")
	}
	tools, err := harness.FindTools()
	if err != nil {
		t.Fatal(err)
	}
	ports, err := harness.FreePorts(2)
	if err != nil {
		t.Fatal(err)
	}
	b := &bed{url: "http://" + ports[0], sims: harness.SimsForTest(t, sims, simserver.Config{Speed: 100})}
	var addresses []string
	for _, e := range b.sims.Endpoints() {
		addresses = append(addresses, e.Address)
	}
	plain := harness.StaticBootstrap(harness.StaticOptions{Listen: ports[0], Admin: ports[1], Endpoints: addresses})
	mended, err := envoychecktest.Mend(plain, wanted(t, b.sims))
	if err != nil {
		t.Fatal(err)
	}
	envoy, err := harness.StartEnvoy(harness.EnvoyOptions{
		Path: tools.Envoy, Dir: t.TempDir(), Admin: ports[1],
		Bootstrap: []byte(strings.ReplaceAll(string(mended), "build/out/zerohop.wasm", tools.Module)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		envoy.Stop()
		if t.Failed() {
			envoy.WriteLog(os.Stderr)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := envoy.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	return b
}

// wanted returns the plan of the default schedule with the endpoints.
func wanted(t *testing.T, s harness.Sims) *plan.Plan {
	t.Helper()
	c, err := config.Load(nil, registry.Specs())
	if err != nil {
		t.Fatal(err)
	}
	eps, err := discovery.ParseFile(harness.EndpointsYAML(s.Endpoints()))
	if err != nil {
		t.Fatal(err)
	}
	return c.Plan(config.Settings{Endpoints: eps})
}

// post sends a body and returns who answered. A client's own choice of endpoint is sent along.
func (b *bed) post(t *testing.T, body []byte, choice string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.url+traffic.PathChat, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if choice != "" {
		req.Header.Set(names.HeaderDestination, choice)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if answer, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("status %d, %v: %s", resp.StatusCode, err, answer)
	}
	return resp.Header.Get(simserver.HeaderEndpoint)
}

// TestWhatIsAskedForIsEnough sees on the mended Envoy that the filter routes, that clients do not, that a body of more than
// Envoy's own limit passes, and that a dead endpoint costs no request.
func TestWhatIsAskedForIsEnough(t *testing.T) {
	b := start(t)
	defer http.DefaultClient.CloseIdleConnections()
	prompt := traffic.ChatBody(traffic.Text(1, 8<<10))
	first := b.post(t, prompt, "")
	for range 2 * sims {
		if got := b.post(t, prompt, ""); got != first {
			t.Fatalf("the same prompt went to %s and then to %s", first, got)
		}
	}
	for _, e := range b.sims.Endpoints() {
		if got := b.post(t, prompt, e.Address); got != first {
			t.Errorf("a client that asked for %s steered to %s", e.Name, got)
		}
	}
	large := bytes.Replace(prompt, []byte("{"), []byte(`{"padding":"`+strings.Repeat("x", 2<<20)+`",`), 1)
	if got := b.post(t, large, ""); got != first {
		t.Errorf("a large body went to %s, not to %s", got, first)
	}
	for _, s := range b.sims {
		if s.Name() == first {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 2 * sims {
		if got := b.post(t, prompt, ""); got == first {
			t.Fatalf("%s answers although it is dead", got)
		}
	}
}
