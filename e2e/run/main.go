// Command run is what "make run" starts: model servers, the agent and Envoy with the filter on fixed loopback ports, and a few chat
// requests whose routing it prints. It stays up until it is interrupted, or ends by itself with -once, and then stops all
// that it started.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/zerohop/zerohop/e2e/harness"
)

// Where everything listens, as envoy.yaml and config/endpoints.yaml say.
const (
	proxy    = "127.0.0.1:8080"
	admin    = "127.0.0.1:9901"
	agent    = "127.0.0.1:18001"
	control  = "127.0.0.1:18000"
	firstSim = "127.0.0.1:8101"
)

const agentName = "agent"

const startTimeout = 6 * time.Minute // the first vLLM is installed within it

func main() {
	once := flag.Bool("once", os.Getenv("ONCE") == "1", "send the requests and exit")
	backend := flag.String("backend", envOr("BACKEND", "sim"), "model servers: sim (simulated) or vllm (two real vLLM on the CPU)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, *backend, *once)
	stop()
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "run:", err)
		os.Exit(1)
	}
}

func envOr(name, def string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return def
}

// demo is what has been started so far.
type demo struct {
	tools     harness.Tools
	dir       string // logs
	processes []*harness.Process
}

func run(ctx context.Context, backend string, once bool) error {
	root, err := harness.Root()
	if err != nil {
		return err
	}
	if err := os.Chdir(root); err != nil { // envoy.yaml names the module relative to the root
		return err
	}
	if err := portsFree(backend); err != nil {
		return err
	}
	d := &demo{}
	step("building the agent and the filter, and looking for Envoy %s", harness.EnvoyVersion)
	if d.tools, err = harness.FindTools(); err != nil {
		return err
	}
	if err := portsFree(backend); err != nil { // building takes minutes the first time
		return err
	}
	if d.dir, err = os.MkdirTemp("", "zerohop-run-"); err != nil {
		return err
	}
	defer d.close()
	startCtx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	envoy, model, err := d.start(startCtx, backend)
	if err != nil {
		return d.explain(err)
	}
	if err := tour(ctx, envoy, model); err != nil {
		return d.explain(err)
	}
	if once {
		return nil
	}
	fmt.Printf(`
Envoy listens on http://%s, its admin page is http://%s, the agent's snapshot http://%s/snapshot.
Envoy's access log is %s.
Try it, then stop everything with Ctrl-C:

  curl http://%s/v1/chat/completions -H 'content-type: application/json' \
    -d '{"model":"%s","max_tokens":16,"messages":[{"role":"user","content":"Hello"}]}'

`, proxy, admin, agent, filepath.Join(d.dir, "envoy.stdout"), proxy, model)
	return d.wait(ctx)
}

// start starts the model servers, the agent and Envoy, and returns the served model's name too.
func (d *demo) start(ctx context.Context, backend string) (*harness.Envoy, string, error) {
	endpoints, bootstrap, model := filepath.Join("config", "endpoints.yaml"), "envoy.yaml", simModel
	var err error
	switch backend {
	case "sim":
		err = d.startSims(ctx)
	case "vllm":
		endpoints, model = filepath.Join("config", "endpoints-vllm.yaml"), "tiny"
		if err = d.startVLLM(ctx); err == nil {
			bootstrap, err = d.render(ctx, endpoints)
		}
	default:
		err = fmt.Errorf("BACKEND=%s is unknown; it is sim or vllm", backend)
	}
	if err != nil {
		return nil, "", err
	}
	step("starting the agent on %s", agent)
	if err := d.spawn(agentName, d.tools.Binary, "agent", "--config-file", filepath.Join("config", "epp.yaml"), "--endpoints", endpoints); err != nil {
		return nil, "", err
	}
	step("starting Envoy on %s with %s", proxy, bootstrap)
	yaml, err := os.ReadFile(bootstrap)
	if err != nil {
		return nil, "", err
	}
	envoy, err := harness.StartEnvoy(harness.EnvoyOptions{Path: d.tools.Envoy, Bootstrap: yaml, Dir: d.dir, Admin: admin})
	if err != nil {
		return nil, "", err
	}
	d.processes = append(d.processes, envoy.Process)
	if err := envoy.WaitReady(ctx); err != nil {
		return nil, "", err
	}
	if err := harness.Until(ctx, "Envoy to listen on "+proxy, func() error { return errors.Join(envoy.Exited(), accepts(proxy)) }); err != nil {
		return nil, "", err
	}
	s := harness.Stack{Envoy: envoy}
	return envoy, model, s.WaitSnapshot(ctx)
}

func (d *demo) startSims(ctx context.Context) error {
	bin := filepath.Join("build", "out", "vllmsim")
	if err := harness.BuildGo(d.tools.Root, filepath.Join(d.tools.Root, bin), "./e2e/vllmsim"); err != nil {
		return err
	}
	step("starting %d simulated vLLM endpoints from %s on", sims, firstSim)
	if err := d.spawn("vllmsim", "./"+bin, "--listen", firstSim, "--count", fmt.Sprint(sims)); err != nil {
		return err
	}
	return harness.Until(ctx, "the simulated endpoints", func() error { return accepts(firstSim) })
}

func (d *demo) startVLLM(ctx context.Context) error {
	step("starting two vLLM on the CPU; the first time it installs 2.5 GB of packages, later it takes half a minute")
	bin := filepath.Join("build", "out", "vllm-up")
	if err := harness.BuildGo(d.tools.Root, filepath.Join(d.tools.Root, bin), "./e2e/vllm/up"); err != nil {
		return err
	}
	if err := d.spawn("vllm", "./"+bin); err != nil {
		return err
	}
	p := d.processes[len(d.processes)-1]
	return harness.Until(ctx, "vLLM", func() error {
		out, err := p.Stdout()
		if err != nil || p.Exited() != nil {
			return errors.Join(err, p.Exited())
		}
		if !strings.Contains(string(out), "ready") {
			return errors.New("not ready yet")
		}
		return nil
	})
}

// render writes a bootstrap for other endpoints than those of envoy.yaml.
func (d *demo) render(ctx context.Context, endpoints string) (string, error) {
	file := filepath.Join("build", "out", "envoy-vllm.yaml")
	p, err := harness.StartProcess(d.dir, "render", d.tools.Binary, "render", "envoy",
		"--config-file", filepath.Join("config", "epp.yaml"), "--endpoints", endpoints, "-o", file)
	if err != nil {
		return "", err
	}
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case <-p.Done():
	}
	if _, err := os.Stat(file); err != nil {
		d.processes = append(d.processes, p)
		return "", fmt.Errorf("render %s: %w", file, p.Exited())
	}
	return file, nil
}

func (d *demo) spawn(name, path string, args ...string) error {
	p, err := harness.StartProcess(d.dir, name, path, args...)
	if err == nil {
		d.processes = append(d.processes, p)
	}
	return err
}

// wait blocks until ctx ends or Envoy or the model servers do. Without the agent routing goes on, so that its end is only
// said.
func (d *demo) wait(ctx context.Context) error {
	ended := make(chan *harness.Process, len(d.processes))
	for _, p := range d.processes {
		go func() {
			<-p.Done()
			ended <- p
		}()
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case p := <-ended:
			if p.Name() != agentName {
				return d.explain(p.Exited())
			}
			step("the %v; Envoy goes on with its last snapshot", p.Exited())
		}
	}
}

// logLines is how much of each log an error shows.
const logLines = 12

// explain adds the ends of all logs to err.
func (d *demo) explain(err error) error {
	var b strings.Builder
	for _, p := range d.processes {
		var log strings.Builder
		p.WriteLog(&log)
		lines := strings.SplitAfter(log.String(), "\n")
		b.WriteString("--- end of the log of " + p.Name() + "\n")
		b.WriteString(strings.Join(lines[max(0, len(lines)-logLines):], ""))
	}
	return fmt.Errorf("%w\n%s", err, b.String())
}

// close stops all processes, the last started first.
func (d *demo) close() {
	for i := len(d.processes) - 1; i >= 0; i-- {
		d.processes[i].Stop()
	}
	_ = os.RemoveAll(d.dir) // logs of a run that is over
}

// portsFree fails with the name of what is in the way, before anything is started.
func portsFree(backend string) error {
	need := []string{proxy, admin, agent, control}
	if backend == "sim" {
		for i := range sims {
			need = append(need, fmt.Sprintf("127.0.0.1:%d", 8101+i))
		}
	}
	var taken []string
	for _, addr := range need {
		l, err := net.Listen("tcp", addr)
		if err != nil {
			taken = append(taken, addr)
			continue
		}
		_ = l.Close()
	}
	if taken != nil {
		return fmt.Errorf("something else listens on %s; stop it and try again", strings.Join(taken, ", "))
	}
	return nil
}

func accepts(addr string) error {
	c, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return err
	}
	return c.Close()
}

func step(format string, args ...any) { fmt.Printf("· "+format+"\n", args...) }
