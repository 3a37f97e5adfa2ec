package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/zerohop/zerohop/e2e/harness"
	"github.com/zerohop/zerohop/e2e/loadgen"
	"sigs.k8s.io/yaml"
)

// Names of the variants, as they stand in the results.
const (
	direct  = "direct"  // static cluster, no filter
	empty   = "empty"   // direct plus a Wasm filter that does nothing
	floor   = "floor"   // both filters, ORIGINAL_DST, all callbacks, but no logic
	calls   = "calls"   // floor with zerohop's host calls; only if asked for
	zerohop = "zerohop" // both filters, ORIGINAL_DST, agent
	epp     = "epp"     // ext_proc to llm-d's endpoint picker
)

// variant is one way to get a request to an endpoint, with processes of its own. All but the one under measurement
// are paused.
type variant struct {
	name   string
	envoy  *harness.Envoy
	helper *harness.Process // measured and paused along with Envoy; nil if there is none
	other  *harness.Process // neither measured nor paused; nil if there is none
	url    string
	close  func()

	clients map[int]*loadgen.Client // by connections
}

// measured returns the processes whose CPU time a request of this variant costs.
func (v *variant) measured() []*harness.Process {
	if v.helper == nil {
		return []*harness.Process{v.envoy.Process}
	}
	return []*harness.Process{v.envoy.Process, v.helper}
}

func (v *variant) pause() error {
	var err error
	for _, p := range v.measured() {
		err = errors.Join(err, p.Pause())
	}
	return err
}

func (v *variant) resume() error {
	var err error
	for _, p := range v.measured() {
		err = errors.Join(err, p.Resume())
	}
	return err
}

// client returns the variant's client for a number of connections. It keeps its connections over all rounds.
func (v *variant) client(conns int) *loadgen.Client {
	c := v.clients[conns]
	if c == nil {
		c = loadgen.New(loadgen.Options{URL: v.url, Conns: conns, Timeout: 30 * time.Second, MaxInFlight: conns})
		v.clients[conns] = c
	}
	return c
}

func (v *variant) stop() {
	for _, c := range v.clients {
		c.Close()
	}
	v.close()
}

// startStatic starts an Envoy with a static cluster, that many workers and, if module is not empty, that Wasm filter.
func startStatic(ctx context.Context, dir, name, module string, workers int, endpoints []string) (*variant, error) {
	ports, err := harness.FreePorts(2)
	if err != nil {
		return nil, err
	}
	bootstrap, err := editBootstrap(harness.StaticBootstrap(harness.StaticOptions{
		Listen: ports[0], Admin: ports[1], Endpoints: endpoints, Module: module,
	}), balance)
	if err != nil {
		return nil, err
	}
	e, err := harness.StartEnvoy(harness.EnvoyOptions{
		Name: name, Dir: dir, Admin: ports[1], Concurrency: workers, Bootstrap: bootstrap,
	})
	if err != nil {
		return nil, err
	}
	v := &variant{name: name, envoy: e, url: "http://" + ports[0], close: e.Stop, clients: map[int]*loadgen.Client{}}
	if err := e.WaitReady(ctx); err != nil {
		e.WriteLog(os.Stderr)
		e.Stop()
		return nil, err
	}
	return v, nil
}

// startEmpty builds the empty module and starts an Envoy with it.
func startEmpty(ctx context.Context, dir string, endpoints []string) (*variant, error) {
	root, err := harness.Root()
	if err != nil {
		return nil, err
	}
	module := filepath.Join(dir, "empty.wasm")
	if err := harness.BuildModule(root, module, "./e2e/bench/emptymodule"); err != nil {
		return nil, err
	}
	return startStatic(ctx, dir, empty, module, 1, endpoints)
}

// startZerohop starts the whole of zerohop as "zerohop render" configures it, without the access log, which the other
// variants do not have either. The name in o is the variant's.
func startZerohop(ctx context.Context, o harness.Options, endpoints []harness.Endpoint) (*variant, error) {
	o.Endpoints, o.Edit = endpoints, func(bootstrap []byte) ([]byte, error) {
		return editBootstrap(bootstrap, likeOthers)
	}
	s, err := harness.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	return &variant{
		name: o.Name, envoy: s.Envoy, other: s.Agent, url: s.URL(),
		close: func() { s.Close() }, clients: map[int]*loadgen.Client{},
	}, nil
}

// startFloor builds the module without logic, with flags of go build, and starts an Envoy that has it where zerohop's has zerohop.
func startFloor(ctx context.Context, dir, name string, endpoints []harness.Endpoint, flags ...string) (*variant, error) {
	root, err := harness.Root()
	if err != nil {
		return nil, err
	}
	module := filepath.Join(dir, name+".wasm")
	if err := harness.BuildModule(root, module, "./e2e/bench/floormodule", flags...); err != nil {
		return nil, err
	}
	var addresses []string
	for _, e := range endpoints {
		addresses = append(addresses, e.Address)
	}
	edit := func(bootstrap []byte) ([]byte, error) {
		return editBootstrap(bootstrap, func(doc any) {
			removeKey(doc, "access_log")
			replaceKey(doc, "filename", module)
			replaceKey(doc, "value", strings.Join(addresses, ","))
		})
	}
	s, err := harness.Start(ctx, harness.Options{Name: name, Endpoints: endpoints, Edit: edit, WithoutAgent: true})
	if err != nil {
		return nil, err
	}
	return &variant{
		name: name, envoy: s.Envoy, url: s.URL(), close: func() { s.Close() }, clients: map[int]*loadgen.Client{},
	}, nil
}

// likeOthers takes every access log out of a bootstrap, and has its connections balanced.
func likeOthers(doc any) {
	removeKey(doc, "access_log")
	balance(doc)
}

// balance gives each worker as many connections as the others: how the kernel spreads a few is chance, and stays for the whole run.
func balance(doc any) {
	for _, listener := range doc.(map[string]any)["static_resources"].(map[string]any)["listeners"].([]any) {
		listener.(map[string]any)["connection_balance_config"] = map[string]any{"exact_balance": map[string]any{}}
	}
}

func editBootstrap(bootstrap []byte, edit func(doc any)) ([]byte, error) {
	var doc any
	if err := yaml.Unmarshal(bootstrap, &doc); err != nil {
		return nil, fmt.Errorf("edit bootstrap: %w", err)
	}
	edit(doc)
	return yaml.Marshal(doc)
}

// replaceKey sets every member called key that is a string.
func replaceKey(node any, key, value string) {
	switch n := node.(type) {
	case map[string]any:
		if _, ok := n[key].(string); ok {
			n[key] = value
		}
		for _, v := range n {
			replaceKey(v, key, value)
		}
	case []any:
		for _, v := range n {
			replaceKey(v, key, value)
		}
	}
}

func removeKey(node any, key string) {
	switch n := node.(type) {
	case map[string]any:
		delete(n, key)
		for _, v := range n {
			removeKey(v, key)
		}
	case []any:
		for _, v := range n {
			removeKey(v, key)
		}
	}
}
