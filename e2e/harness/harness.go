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
}

// Options describe a stack. The zero value of every field is usable.
type Options struct {
	Endpoints       []Endpoint
	ConfigFile      string        // EndpointPickerConfig, relative to the repository root; empty means config/epp.yaml
	DestinationMode string        // as the render command takes it; empty means its default
	FailureMode     string        // as the render command takes it; empty means its default
	Fallback        []string      // ip:port of the fallback cluster; empty means the endpoints
	Concurrency     int           // Envoy worker threads; 0 means 1
	ScrapeInterval  time.Duration // 0 means the agent's default
	WithoutAgent    bool          // do not start the agent; StartAgent does it later
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
	ended     []*Process // earlier agents, kept for their logs
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
	ports, err := FreePorts(3)
	if err != nil {
		return s, err
	}
	s.Listen, s.agentAddr = ports[0], ports[2]
	if err := os.WriteFile(s.endpointsFile(), EndpointsYAML(o.Endpoints), 0o600); err != nil {
		return s, err
	}
	if !o.WithoutAgent {
		if err := s.StartAgent(ctx); err != nil {
			return s, err
		}
	}
	bootstrap, err := s.render(ctx, ports[1])
	if err != nil {
		return s, err
	}
	s.Envoy, err = StartEnvoy(EnvoyOptions{
		Path: t.Envoy, Name: s.name("envoy"), Bootstrap: bootstrap, Dir: dir, Admin: ports[1],
		Concurrency: o.Concurrency, LogLevel: o.LogLevel, Args: o.EnvoyArgs,
	})
	if err != nil {
		return s, err
	}
	if err := s.Envoy.WaitReady(ctx); err != nil {
		return s, err
	}
	if o.WithoutAgent {
		return s, nil
	}
	return s, s.WaitSnapshot(ctx)
}

func (s *Stack) name(process string) string {
	if s.opts.Name == "" {
		return process
	}
	return s.opts.Name + "-" + process
}

func (s *Stack) endpointsFile() string { return filepath.Join(s.Dir, "endpoints.yaml") }

func (s *Stack) configFile() string {
	file := s.opts.ConfigFile
	if file == "" {
		file = filepath.Join("config", "epp.yaml")
	}
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(s.tools.Root, file)
}

// StartAgent starts the agent, after stopping the one that may be running, and waits until it has scraped every
// endpoint once.
func (s *Stack) StartAgent(ctx context.Context) error {
	if s.Agent != nil {
		s.Agent.Stop() // or it would answer for the new one
		s.ended = append(s.ended, s.Agent)
	}
	args := []string{"agent", "--config-file", s.configFile(), "--endpoints", s.endpointsFile(), "--listen", s.agentAddr}
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

// WriteLogs copies the ends of the logs of all processes to w.
func (s *Stack) WriteLogs(w io.Writer) {
	for _, p := range append(s.ended[:len(s.ended):len(s.ended)], s.Agent, s.envoyProcess()) {
		if p != nil {
			p.WriteLog(w)
		}
	}
}

func (s *Stack) envoyProcess() *Process {
	if s.Envoy == nil {
		return nil
	}
	return s.Envoy.Process
}

// Close stops all processes, waits for them and removes the stack's folder. It may be called more than once.
func (s *Stack) Close() error {
	for _, p := range append(s.ended[:len(s.ended):len(s.ended)], s.Agent, s.envoyProcess()) {
		if p != nil {
			p.Stop()
		}
	}
	if s.Dir == "" {
		return nil
	}
	if err := os.RemoveAll(s.Dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("close stack: %w", err)
	}
	return nil
}
