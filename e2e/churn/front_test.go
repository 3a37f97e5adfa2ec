package churn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/zerohop/zerohop/e2e/harness"
	"github.com/zerohop/zerohop/xds/status"
)

// front listens where Envoy expects the agent and passes connections on to one of several agents.
type front struct {
	listener net.Listener
	accepted sync.WaitGroup

	mu     sync.Mutex
	target string // empty: connections are refused
	conns  map[net.Conn]bool
}

func newFront(t *testing.T, address string) *front {
	t.Helper()
	l, err := net.Listen("tcp4", address)
	if err != nil {
		t.Fatal(err)
	}
	f := &front{listener: l, conns: make(map[net.Conn]bool)}
	f.accepted.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			f.accepted.Go(func() { f.pass(c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		f.turn("")
		f.accepted.Wait()
	})
	return f
}

// turn makes target the agent of all connections, and cuts those to another one.
func (f *front) turn(target string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.target == target {
		return
	}
	f.target = target
	for c := range f.conns {
		_ = c.Close()
	}
	clear(f.conns)
}

// pass copies between c and the target until either side ends.
func (f *front) pass(c net.Conn) {
	defer c.Close()
	f.mu.Lock()
	target := f.target
	f.mu.Unlock()
	if target == "" {
		return
	}
	up, err := net.DialTimeout("tcp4", target, time.Second)
	if err != nil {
		return
	}
	defer up.Close()
	f.mu.Lock()
	stale := f.target != target
	if !stale {
		f.conns[c], f.conns[up] = true, true
	}
	f.mu.Unlock()
	if stale {
		return
	}
	var down sync.WaitGroup
	down.Go(func() {
		_, _ = io.Copy(c, up)
		_ = c.Close()
	})
	_, _ = io.Copy(up, c)
	_ = up.Close()
	down.Wait()
	f.mu.Lock()
	delete(f.conns, c)
	delete(f.conns, up)
	f.mu.Unlock()
}

// agents starts agents of one stack behind its front addresses.
type agents struct {
	t         *testing.T
	stack     *harness.Stack
	binary    string
	http, xds *front
	started   int
}

// agent is one running agent.
type agent struct {
	process   *harness.Process
	http, xds string
}

func newAgents(t *testing.T, s *harness.Stack) *agents {
	t.Helper()
	tools, err := harness.FindTools()
	if err != nil {
		t.Fatal(err)
	}
	return &agents{
		t: t, stack: s, binary: tools.Binary,
		http: newFront(t, s.AgentURL()[len("http://"):]), xds: newFront(t, s.XDSAddr()),
	}
}

// start starts an agent that nobody is led to yet, and waits until it is ready.
func (a *agents) start(ctx context.Context) *agent {
	a.t.Helper()
	ports, err := harness.FreePorts(2)
	if err != nil {
		a.t.Fatal(err)
	}
	config, endpoints := a.stack.Files()
	a.started++
	p, err := harness.StartProcess(a.stack.Dir, fmt.Sprintf("agent-%d", a.started), a.binary,
		"agent", "--config-file", config, "--endpoints", endpoints, "--listen", ports[0], "--xds-listen", ports[1])
	if err != nil {
		a.t.Fatal(err)
	}
	g := &agent{process: p, http: ports[0], xds: ports[1]}
	a.t.Cleanup(func() {
		p.Stop()
		if a.t.Failed() {
			p.WriteLog(logWriter{a.t})
		}
	})
	err = harness.Until(ctx, "the agent to be ready", func() error {
		if err := p.Exited(); err != nil {
			return err
		}
		return reach("http://" + g.http + "/readyz")
	})
	if err != nil {
		a.t.Fatal(err)
	}
	return g
}

// lead leads Envoy to g.
func (a *agents) lead(g *agent) {
	a.http.turn(g.http)
	a.xds.turn(g.xds)
}

// kill ends g at once, while Envoy is connected.
func (a *agents) kill(g *agent) {
	g.process.Kill()
	a.http.turn("")
	a.xds.turn("")
}

func reach(url string) error {
	resp, err := http.Get(url) //nolint:noctx // loopback, and the server answers or is gone
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: status %d", url, resp.StatusCode)
	}
	return nil
}

// status returns what g says of itself and of Envoy.
func (g *agent) status() (status.Status, error) {
	var s status.Status
	resp, err := http.Get("http://" + g.http + status.Path) //nolint:noctx // loopback, and the server answers or is gone
	if err != nil {
		return s, err
	}
	defer resp.Body.Close()
	return s, json.NewDecoder(resp.Body).Decode(&s)
}

// inForce returns nil if every worker of Envoy has the plan of g.
func inForce(s status.Status, workers int) error {
	if len(s.Nodes) != 1 {
		return fmt.Errorf("%d Envoys are known", len(s.Nodes))
	}
	have := 0
	for _, w := range s.Nodes[0].Workers {
		if w.Revision != s.Revision {
			return fmt.Errorf("a worker has plan %s, the newest is %s", w.Revision, s.Revision)
		}
		have++
	}
	if have < workers {
		return errors.New("not every worker has reported yet")
	}
	return nil
}

// logWriter writes to a test's log.
type logWriter struct{ t *testing.T }

func (w logWriter) Write(b []byte) (int, error) {
	w.t.Logf("%s", b)
	return len(b), nil
}
