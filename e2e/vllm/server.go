package vllm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/zerohop/zerohop/e2e/harness"
)

// What every server is started with.
const (
	Model       = "tiny" // name of the served model
	KVBlocks    = 512    // size of the KV cache in blocks
	BlockTokens = 32     // tokens per KV block; on CPU it has to be a multiple of 32
	MaxTokens   = 4096   // longest prompt plus answer
)

// httpClient asks servers for health and metrics. It keeps no connection, so none is in the way of a shutdown.
var httpClient = &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

// Args returns the arguments of the vllm command for a server of the model on the ip:port address.
func Args(model, address string) ([]string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("address %q is not ip:port: %w", address, err)
	}
	return []string{
		"serve", model, "--served-model-name", Model, "--host", host, "--port", port,
		"--load-format", "dummy", // random weights, the same in every server
		// Not bfloat16: on CPUs with AMX vLLM 0.32 then uses tile instructions that this process has not been granted.
		"--dtype", "float32",
		"--enforce-eager",
		"--max-model-len", strconv.Itoa(MaxTokens),
		"--max-num-seqs", "16",
		"--block-size", strconv.Itoa(BlockTokens),
		"--num-gpu-blocks-override", strconv.Itoa(KVBlocks),
		"--enable-prefix-caching",
		"--enable-prompt-tokens-details", // usage reports cached_tokens
	}, nil
}

// Server is one vLLM server: a front end, an engine and a worker process, in a process group of their own.
type Server struct {
	Address string // ip:port

	name   string
	log    string
	pid    int // of the front end, which leads the group; read only after forked is closed
	forked chan struct{}
	done   chan struct{}
	once   sync.Once
	err    error // read only after done is closed
}

func newServer(name, address, log string) *Server {
	return &Server{Address: address, name: name, log: log, forked: make(chan struct{}), done: make(chan struct{})}
}

func (s *Server) end(err error) {
	s.once.Do(func() {
		s.err = err
		close(s.done)
	})
}

// Name returns the name that the server was started with.
func (s *Server) Name() string { return s.name }

// Done is closed when the server has ended, and with it all its processes.
func (s *Server) Done() <-chan struct{} { return s.done }

// Exited returns an error that says how the server ended, or nil while it runs.
func (s *Server) Exited() error {
	select {
	case <-s.done:
		return s.err
	default:
		return nil
	}
}

// WaitReady waits until the server answers requests. It gives up when the server has ended.
func (s *Server) WaitReady(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-s.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	err := harness.Until(ctx, s.name+" to be ready", func() error {
		_, err := s.get(ctx, "/health")
		return err
	})
	if err != nil && s.Exited() != nil {
		return fmt.Errorf("wait for %s: %w", s.name, s.Exited())
	}
	return err
}

// Terminate sends SIGTERM to the front end, as an operator or a container runtime would, and does not wait.
func (s *Server) Terminate() error {
	return s.signal(syscall.SIGTERM)
}

// Stop asks the server to end and waits for it. When ctx ends first, the whole process group is killed.
func (s *Server) Stop(ctx context.Context) error {
	select {
	case <-s.done:
		return nil
	case <-s.forked:
	case <-ctx.Done():
		return fmt.Errorf("stop %s: not started yet: %w", s.name, ctx.Err())
	}
	if err := s.Terminate(); err != nil {
		<-s.done // there is nobody to signal only if it has ended
		return nil
	}
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		killed := s.killGroup()
		<-s.done
		return errors.Join(fmt.Errorf("stop %s: %w", s.name, ctx.Err()), killed)
	}
}

// killGroup kills all processes of a server that has been forked and not ended.
func (s *Server) killGroup() error {
	select {
	case <-s.forked:
	default:
		return nil
	}
	if s.Exited() != nil {
		return nil
	}
	if err := syscall.Kill(-s.pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("kill %s: %w", s.name, err)
	}
	return nil
}

// signal fails if the server has not been forked yet, or has ended.
func (s *Server) signal(sig syscall.Signal) error {
	select {
	case <-s.forked:
	default:
		return fmt.Errorf("signal %s: not started yet", s.name)
	}
	if err := s.Exited(); err != nil {
		return fmt.Errorf("signal %s: %w", s.name, err)
	}
	if err := syscall.Kill(s.pid, sig); err != nil {
		return fmt.Errorf("signal %s: %w", s.name, err)
	}
	return nil
}

// KillEngine kills the engine process at once and leaves the front end alone, as the out-of-memory killer would. The
// server must be ready.
func (s *Server) KillEngine() error {
	if err := s.signal(0); err != nil {
		return err
	}
	pid, err := engineOf(s.pid)
	if err != nil {
		return fmt.Errorf("kill the engine of %s: %w", s.name, err)
	}
	return syscall.Kill(pid, syscall.SIGKILL)
}

// engineOf returns the process id of the engine in a process group. vLLM gives the process a title of its own.
func engineOf(group int) (int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		title, err := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		if err != nil || !strings.HasPrefix(string(title), "VLLM::EngineCore") {
			continue
		}
		if g, err := syscall.Getpgid(pid); err == nil && g == group {
			return pid, nil
		}
	}
	return 0, fmt.Errorf("no process VLLM::EngineCore in group %d", group)
}

// Metrics returns the numbers of the server's metrics page.
func (s *Server) Metrics(ctx context.Context) (Metrics, error) {
	page, err := s.get(ctx, "/metrics")
	if err != nil {
		return nil, err
	}
	return parseMetrics(page), nil
}

func (s *Server) get(ctx context.Context, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.Address+path, nil)
	if err != nil {
		return nil, err
	}
	resp, err := httpClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("GET %s of %s: %w", path, s.name, err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s of %s: status %d: %.200s", path, s.name, resp.StatusCode, b)
	}
	return b, nil
}

// Metrics are the numbers of a metrics page by name, summed over all label sets.
type Metrics map[string]float64

// Names of the metrics that tests look at. The first two count prompt tokens.
const (
	PrefixQueries = "vllm:prefix_cache_queries_total"
	PrefixHits    = "vllm:prefix_cache_hits_total"
	Running       = "vllm:num_requests_running"
	Succeeded     = "vllm:request_success_total"
)

// parseMetrics reads a page in Prometheus' text format; lines that are not samples are skipped.
func parseMetrics(page []byte) Metrics {
	m := Metrics{}
	for line := range bytes.Lines(page) {
		name, rest := line, line
		if open := bytes.IndexByte(line, '{'); open >= 0 {
			name, rest = line[:open], line[bytes.LastIndexByte(line, '}')+1:]
		} else if space := bytes.IndexByte(line, ' '); space >= 0 {
			name, rest = line[:space], line[space:]
		}
		fields := bytes.Fields(rest)
		if len(name) == 0 || name[0] == '#' || len(fields) == 0 {
			continue
		}
		if v, err := strconv.ParseFloat(string(fields[0]), 64); err == nil {
			m[string(name)] += v
		}
	}
	return m
}
