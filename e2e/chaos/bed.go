package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zerohop/zerohop/e2e/harness"
	"github.com/zerohop/zerohop/xds/config"
)

const (
	workers = 4

	// firstByteTimeout is how long an attempt may stay without a byte before another endpoint is asked. Responses that are not
	// streamed come in one piece, within two seconds in a burst on a machine that has nothing else to do.
	firstByteTimeout = 8 * time.Second

	// drainTimeout is short, so that a run sees endpoints go for good.
	drainTimeout = 3 * time.Second
)

// bed is all that runs: Envoy, its agents, the endpoints and the decoys.
type bed struct {
	opts   options
	dir    string
	stack  *harness.Stack
	load   *load
	config []byte // that is right

	endpoints []*endpoint // by number, then the other address of readdress
	other     *endpoint
	decoys    []*decoy
	fallback  *decoy
	steered   *decoy // where clients want to go

	mu      sync.Mutex
	hits    []string           // of closed decoys
	members []harness.Endpoint // the endpoint file
	edits   []Edit             // all of it so far
	agents  []span             // times in which an agent is ready
	faults  []Fault            // so far
	notes   []string           // what went wrong with the run itself
}

// Edit is the content of the endpoint file from a time on.
type Edit struct {
	At    time.Time
	Addrs []string
}

// span is a time without an end while that is zero.
type span struct{ from, to time.Time }

// newBed starts everything but the agent.
func newBed(ctx context.Context, o options) (*bed, error) {
	b := &bed{opts: o}
	if err := b.start(ctx); err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

func (b *bed) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute) // tools are built the first time
	defer cancel()
	tools, err := harness.FindTools()
	if err != nil {
		return err
	}
	binary, module := filepath.Join(b.opts.out, "vllmsim"), filepath.Join(b.opts.out, "zerohop-faultinject.wasm")
	if err := harness.BuildGo(tools.Root, binary, "./e2e/vllmsim"); err != nil {
		return err
	}
	if err := harness.BuildModule(tools.Root, module, "./filter/module", "-tags=faultinject"); err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp("", "zerohop-chaos-"); err != nil {
		return err
	}
	if err := b.startEndpoints(ctx, binary); err != nil {
		return err
	}
	if b.fallback, err = b.newDecoy("the fallback cluster in mode FailClose"); err != nil {
		return err
	}
	if b.steered, err = b.newDecoy("the destination that a client wanted"); err != nil {
		return err
	}
	b.config = b.configuration()
	b.stack, err = harness.Start(ctx, harness.Options{
		Endpoints: b.members, Config: b.config, Concurrency: workers, DestinationMode: b.opts.mode,
		Fallback: []string{b.fallback.addr()}, WithoutAgent: true,
		Edit: func(bootstrap []byte) ([]byte, error) { return edit(bootstrap, tools.Module, module) },
	})
	if err != nil {
		return err
	}
	b.load = newLoad(newClient(b.stack.Listen, b.steered.addr()), b.opts.seed, b.opts.rate)
	return b.mapWorkers(ctx)
}

func (b *bed) startEndpoints(ctx context.Context, binary string) error {
	addrs, err := freePorts(members + 2)
	if err != nil {
		return err
	}
	for i, addr := range addrs {
		e := &endpoint{name: endpointName(i), addr: addr, dir: b.dir, binary: binary}
		if i == len(addrs)-1 {
			e.name = "other"
			b.other = e
		}
		b.endpoints = append(b.endpoints, e)
		if err := e.start(ctx); err != nil {
			return err
		}
		if i < members {
			b.members = append(b.members, harness.Endpoint{Name: e.name, Address: addr})
		}
	}
	b.noteEdit()
	return nil
}

func (b *bed) newDecoy(why string) (*decoy, error) {
	ports, err := freePorts(1)
	if err != nil {
		return nil, err
	}
	d, err := newDecoy(ports[0], why)
	if err == nil {
		b.decoys = append(b.decoys, d)
	}
	return d, err
}

// configuration is the default schedule with what a run needs.
func (b *bed) configuration() []byte {
	mode := ""
	if b.opts.mode != "" {
		mode = "destinationMode: " + b.opts.mode + "\n"
	}
	return fmt.Appendf(nil, config.DefaultDocument+`---
apiVersion: zerohop.dev/v1alpha1
kind: ZerohopConfig
failureMode: FailClose
drainTimeout: %v
attempts: {retries: unanswered, firstByteTimeout: %v}
%s`, drainTimeout, firstByteTimeout, mode)
}

// perTryTimeout matches the first-byte timeout of a route. Its setting in the configuration is for streaming requests only.
var perTryTimeout = regexp.MustCompile(`(?m)^( *per_try_timeout:) \S+`)

// edit puts the module with fault injection and the first-byte timeout into a bootstrap.
func edit(bootstrap []byte, product, faulty string) ([]byte, error) {
	edited := bytes.ReplaceAll(bootstrap, []byte(product), []byte(faulty))
	if bytes.Equal(edited, bootstrap) {
		return nil, fmt.Errorf("the bootstrap does not name %s", product)
	}
	if !perTryTimeout.Match(edited) {
		return nil, errors.New("the bootstrap has no per_try_timeout")
	}
	return perTryTimeout.ReplaceAll(edited, fmt.Appendf(nil, "${1} %gs", firstByteTimeout.Seconds())), nil
}

// named returns the endpoint with a name.
func (b *bed) named(name string) *endpoint {
	i := slices.IndexFunc(b.endpoints, func(e *endpoint) bool { return e.name == name })
	return b.endpoints[i]
}

// list changes the endpoint file.
func (b *bed) list(change func([]harness.Endpoint) []harness.Endpoint) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.members = change(slices.Clone(b.members))
	if err := b.stack.WriteEndpoints(b.members); err != nil {
		return err
	}
	b.noteEdit()
	return nil
}

func (b *bed) noteEdit() {
	e := Edit{At: time.Now()}
	for _, m := range b.members {
		e.Addrs = append(e.Addrs, m.Address)
	}
	b.edits = append(b.edits, e)
}

// startAgent starts an agent and writes down since when it is ready.
func (b *bed) startAgent(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	if err := b.stack.StartAgent(ctx); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.agents = append(b.agents, span{from: time.Now()})
	return nil
}

// killAgent kills the agent as a crash would.
func (b *bed) killAgent() {
	b.mu.Lock()
	b.agents[len(b.agents)-1].to = time.Now()
	b.mu.Unlock()
	b.stack.Agent.Kill()
}

// agentReady reports whether an agent is.
func (b *bed) agentReady() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.agents) > 0 && b.agents[len(b.agents)-1].to.IsZero()
}

// note writes down what went wrong with the run itself. It is a violation: a fault that was not made proves nothing.
func (b *bed) note(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.notes = append(b.notes, fmt.Sprintf(format, args...))
	b.opts.say("%s", b.notes[len(b.notes)-1])
}

// close ends everything.
func (b *bed) close() error {
	if b.load != nil {
		b.load.client.close()
	}
	var err error
	if b.stack != nil {
		err = b.stack.Close()
	}
	for _, e := range b.endpoints {
		e.stop()
	}
	for _, d := range b.decoys {
		d.close()
	}
	control.CloseIdleConnections()
	if b.dir != "" {
		err = errors.Join(err, os.RemoveAll(b.dir))
	}
	return err
}

// logs returns the ends of the logs of Envoy and the agents.
func (b *bed) logs() string {
	var s strings.Builder
	b.stack.WriteLogs(&s)
	return s.String()
}
