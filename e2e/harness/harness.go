// Package harness starts what an end-to-end test needs on this machine: a real Envoy with the filter, the agent, and
// any number of endpoints, all on free loopback ports, all stopped by process id. It waits on readiness and never
// sleeps a fixed time. It knows nothing of package testing, so that commands (replay, bench) use it too; tests use
// ForTest, which cleans up and prints the logs of all processes on failure.
package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// startTries bounds how often a stack is started anew because a port was taken between choosing and binding it.
const startTries = 3

// Endpoint is one model server as the endpoint file names it.
type Endpoint struct {
	Name    string
	Address string // ip:port
	Labels  map[string]string
}

// Options describe a stack. The zero value of every field is usable.
type Options struct {
	Endpoints       []Endpoint
	ConfigFile      string        // configuration, relative to the repository root; empty means config/epp.yaml
	Config          []byte        // its content, in the place of a file
	DestinationMode string        // as the render command takes it; empty means its default
	FailureMode     string        // as the render command takes it; empty means its default
	Attempts        string        // the setting of that name, as YAML on one line; empty means what the configuration says
	Fallback        []string      // ip:port of the fallback cluster; empty means the endpoints
	Concurrency     int           // Envoy worker threads; 0 means 1
	ScrapeInterval  time.Duration // 0 means the agent's default
	WithoutAgent    bool          // do not start the agent; StartAgent does it later
	Edge            bool          // a bootstrap that needs no agent, and none is started
	ControlPlane    string        // ip:port of ADS that the caller serves; empty means the agent's
	NodeID          string        // of Envoy; empty means the render command's default
	NodeCluster     string        // group of Envoy; empty means the render command's default
	RenderArgs      []string      // appended to the render command
	AgentArgs       []string      // appended to the agent's command
	LogLevel        string        // of Envoy; empty means "warn"
	EnvoyArgs       []string      // appended to Envoy's command line
	// Edit changes the rendered bootstrap before Envoy sees it; nil leaves it as it is.
	Edit func(bootstrap []byte) ([]byte, error)
	// Name keeps the log files of several stacks in one folder apart.
	Name string
}

// Stack is a running Envoy with the filter, and its agent.
type Stack struct {
	Envoy  *Envoy
	Agent  *Process // nil without agent
	Listen string   // ip:port of Envoy's listener
	Dir    string   // configuration files and logs; removed by Close

	opts      Options
	tools     Tools
	agentAddr string
	xdsAddr   string
	ended     []*Process // earlier agents, kept for their logs
	peers     []*Stack   // further Envoys of the same agent

	readyAfter time.Duration // how long Envoy took to be ready
	readyBusy  bool          // the machine had no CPU to spare meanwhile
}

// Start starts a stack and waits until Envoy is ready and, with an agent, has taken over its first snapshot. On error
// nothing is left running, and the error contains the logs.
func Start(ctx context.Context, o Options) (*Stack, error) {
	t, err := FindTools()
	if err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		s, err := startOnce(ctx, t, o)
		if err == nil {
			return s, nil
		}
		var logs strings.Builder
		s.WriteLogs(&logs)
		s.Close()
		if try == startTries || ctx.Err() != nil || !portTaken(logs.String()) {
			return nil, fmt.Errorf("%w\n%s", err, logs.String())
		}
	}
}

func portTaken(logs string) bool {
	logs = strings.ToLower(logs)
	return strings.Contains(logs, "address already in use") || strings.Contains(logs, "cannot bind")
}

// startOnce always returns a stack, so that the caller can read its logs and close it.
func startOnce(ctx context.Context, t Tools, o Options) (*Stack, error) {
	s := &Stack{opts: o, tools: t}
	dir, err := os.MkdirTemp("", "zerohop-e2e-")
	if err != nil {
		return s, err
	}
	s.Dir = dir
	ports, err := FreePorts(2)
	if err != nil {
		return s, err
	}
	s.agentAddr, s.xdsAddr = ports[0], ports[1]
	if err := s.writeInputs(); err != nil {
		return s, err
	}
	if !o.WithoutAgent && !o.Edge {
		if err := s.StartAgent(ctx); err != nil {
			return s, err
		}
	}
	return s, s.startEnvoy(ctx)
}

// startEnvoy starts the stack's Envoy and waits until it is ready and, with an agent, has its first snapshot.
func (s *Stack) startEnvoy(ctx context.Context) error {
	ports, err := FreePorts(2)
	if err != nil {
		return err
	}
	s.Listen = ports[0]
	bootstrap, err := s.render(ctx, ports[1])
	if err != nil {
		return err
	}
	begin, cpu := time.Now(), ReadCPU()
	s.Envoy, err = StartEnvoy(EnvoyOptions{
		Path: s.tools.Envoy, Name: s.name("envoy"), Bootstrap: bootstrap, Dir: s.Dir, Admin: ports[1],
		Concurrency: s.opts.Concurrency, LogLevel: s.opts.LogLevel, Args: s.opts.EnvoyArgs,
	})
	if err != nil {
		return err
	}
	if err := s.Envoy.WaitReady(ctx); err != nil {
		return err
	}
	s.readyAfter, s.readyBusy = time.Since(begin), cpu.Busy()
	if s.opts.WithoutAgent || s.opts.Edge {
		return nil
	}
	if err := s.WaitSnapshot(ctx); err != nil {
		return err
	}
	return s.waitList(ctx)
}

// AddEnvoy starts a further Envoy of the same agent under another node id. It has its own listener, and ends with the
// stack; the Agent of what is returned is nil.
func (s *Stack) AddEnvoy(ctx context.Context, nodeID, nodeCluster string) (*Stack, error) {
	p := &Stack{opts: s.opts, tools: s.tools, Dir: s.Dir, agentAddr: s.agentAddr, xdsAddr: s.xdsAddr}
	p.opts.NodeID, p.opts.NodeCluster, p.opts.Name = nodeID, nodeCluster, s.name(nodeID)
	s.peers = append(s.peers, p)
	return p, p.startEnvoy(ctx)
}

func (s *Stack) name(process string) string {
	if s.opts.Name == "" {
		return process
	}
	return s.opts.Name + "-" + process
}

func (s *Stack) endpointsFile() string { return filepath.Join(s.Dir, "endpoints.yaml") }

func (s *Stack) configFile() string { return filepath.Join(s.Dir, "config.yaml") }

// writeInputs makes the files that agent and render command read. They are copies, so that a test can change them.
func (s *Stack) writeInputs() error {
	if err := s.WriteEndpoints(s.opts.Endpoints); err != nil {
		return err
	}
	if s.opts.Config != nil {
		return s.WriteConfig(s.opts.withModes(s.opts.Config))
	}
	file := s.opts.ConfigFile
	if file == "" {
		file = filepath.Join("config", "epp.yaml")
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(s.tools.Root, file)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read configuration: %w", err)
	}
	return s.WriteConfig(s.opts.withModes(b))
}

// WriteConfig replaces the configuration file in one step.
func (s *Stack) WriteConfig(b []byte) error { return replaceFile(s.configFile(), b) }

// WriteEndpoints replaces the endpoint file in one step.
func (s *Stack) WriteEndpoints(endpoints []Endpoint) error {
	return replaceFile(s.endpointsFile(), EndpointsYAML(endpoints))
}

func replaceFile(name string, b []byte) error {
	if err := os.WriteFile(name+".new", b, 0o600); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

// StartAgent starts the agent, after stopping the one that may be running, and waits until it has scraped every
// endpoint once.
func (s *Stack) StartAgent(ctx context.Context) error {
	if s.Agent != nil {
		s.Agent.Stop() // or it would answer for the new one
		s.ended = append(s.ended, s.Agent)
	}
	args := []string{
		"agent", "--config-file", s.configFile(), "--endpoints", s.endpointsFile(),
		"--listen", s.agentAddr, "--xds-listen", s.xdsAddr,
	}
	args = append(args, s.opts.AgentArgs...)
	if s.opts.ScrapeInterval > 0 {
		args = append(args, "--scrape-interval", s.opts.ScrapeInterval.String())
	}
	p, err := StartProcess(s.Dir, fmt.Sprintf("%s-%d", s.name("agent"), len(s.ended)), s.tools.Binary, args...)
	if err != nil {
		return err
	}
	s.Agent = p
	return untilServing(ctx, p, "agent to be ready", func() error {
		_, err := get(ctx, s.AgentURL()+"/readyz")
		return err
	})
}

// WaitSnapshot waits until Envoy has had an answer from the agent to a snapshot request. The module stores the
// snapshot before it asks for the next one, so the second request says that the first is in force.
func (s *Stack) WaitSnapshot(ctx context.Context) error {
	return untilServing(ctx, s.Envoy.Process, "first snapshot", func() error {
		st, err := s.Envoy.Stats(ctx, `^cluster\.zerohop_agent\.upstream_rq`)
		if err != nil {
			return err
		}
		ok := st["cluster.zerohop_agent.upstream_rq_200"]
		if total := st["cluster.zerohop_agent.upstream_rq_total"]; ok < 1 || total <= ok {
			return fmt.Errorf("%g snapshot requests, %g answered with 200", total, ok)
		}
		return nil
	})
}

// URL returns the address of Envoy's listener as "http://ip:port".
func (s *Stack) URL() string { return "http://" + s.Listen }

// AgentURL returns the address of the agent's HTTP interface as "http://ip:port".
func (s *Stack) AgentURL() string { return "http://" + s.agentAddr }

// XDSAddr returns the ip:port at which Envoy expects the agent's xDS.
func (s *Stack) XDSAddr() string { return s.xdsAddr }

// Files returns the paths of the configuration file and of the endpoint file.
func (s *Stack) Files() (config, endpoints string) { return s.configFile(), s.endpointsFile() }

// WriteLogs copies the ends of the logs of all processes to w.
func (s *Stack) WriteLogs(w io.Writer) {
	for _, p := range s.processes() {
		p.WriteLog(w)
	}
}

// processes returns all that were started, Envoys last.
func (s *Stack) processes() []*Process {
	all := append([]*Process(nil), s.ended...)
	if s.Agent != nil {
		all = append(all, s.Agent)
	}
	if s.Envoy != nil {
		all = append(all, s.Envoy.Process)
	}
	for _, p := range s.peers {
		all = append(all, p.processes()...)
	}
	return all
}

// Close stops all processes, waits for them and removes the stack's folder. It may be called more than once.
func (s *Stack) Close() error {
	for _, p := range s.processes() {
		p.Stop()
	}
	if s.Dir == "" {
		return nil
	}
	if err := os.RemoveAll(s.Dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("close stack: %w", err)
	}
	return nil
}
