package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/zerohop/zerohop/e2e/harness"
	"github.com/zerohop/zerohop/e2e/vllmsim/simserver"
)

// speed is how many times faster than real endpoints the simulated ones are: a token in about 4 ms.
const speed = 4

// startPatience bounds the start of any process.
const startPatience = 30 * time.Second

// endpoint is a simulated endpoint in a process of its own, so that it can be stopped and killed.
type endpoint struct {
	name, addr  string
	dir, binary string

	mu      sync.Mutex
	process *harness.Process
	starts  int
	away    bool // stopped or killed, so that it cannot be asked
}

// start starts the endpoint's process and waits until it answers.
func (e *endpoint) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	e.mu.Lock()
	e.starts++
	n := e.starts
	e.mu.Unlock()
	p, err := harness.StartProcess(e.dir, fmt.Sprintf("%s-%d", e.name, n), e.binary,
		"--name", e.name, "--listen", e.addr, "--speed", strconv.Itoa(speed), "--stream-interval", "4",
		"--records=-1", "--journal", e.journal())
	if err != nil {
		return err
	}
	e.mu.Lock()
	e.process = p
	e.mu.Unlock()
	err = harness.Until(ctx, e.name+" to answer", func() error {
		if err := p.Exited(); err != nil {
			cancel()
			return err
		}
		resp, err := control.Get("http://" + e.addr + "/health") //nolint:noctx // the client has a timeout
		if err != nil {
			return err
		}
		return resp.Body.Close()
	})
	if err == nil {
		e.setAway(false)
	}
	return err
}

func (e *endpoint) journal() string { return filepath.Join(e.dir, e.name+".journal") }

func (e *endpoint) setAway(away bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.away = away
}

// there reports whether the endpoint can be asked.
func (e *endpoint) there() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return !e.away
}

// kill ends the process at once.
func (e *endpoint) kill() {
	e.setAway(true)
	e.process.Kill()
}

// stop ends the process in order.
func (e *endpoint) stop() {
	e.setAway(true)
	if e.process != nil {
		e.process.Stop()
	}
}

// control is for what the run asks endpoints and agent beside the load.
var control = &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 2}}

// fail makes the endpoint fail as f says; Faults{} heals it.
func (e *endpoint) fail(ctx context.Context, f simserver.Faults) error {
	b, err := json.Marshal(f)
	if err != nil {
		return err
	}
	_, err = ask(ctx, http.MethodPost, "http://"+e.addr+"/sim/faults", b)
	return err
}

// stats returns what the endpoint says of itself.
func (e *endpoint) stats(ctx context.Context) (s simserver.Stats, err error) {
	b, err := ask(ctx, http.MethodGet, "http://"+e.addr+"/sim/stats", nil)
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(b, &s)
}

// ask returns the body of an answer with status 200.
func ask(ctx context.Context, method, url string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	resp, err := control.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: status %d: %.200s", method, url, resp.StatusCode, b)
	}
	return b, err
}

// readJournal returns what the endpoint wrote down, in the order of time. A killed process may leave half a line.
func (e *endpoint) readJournal() ([]simserver.JournalEntry, error) {
	b, err := os.ReadFile(e.journal())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("journal of %s: %w", e.name, err)
	}
	var entries []simserver.JournalEntry
	for line := range bytes.Lines(b) {
		entry, err := simserver.ParseJournalEntry(bytes.TrimSuffix(line, []byte("\n")))
		if err != nil {
			return nil, fmt.Errorf("journal of %s: %q: %w", e.name, line, err)
		}
		entries = append(entries, entry)
	}
	return entries, nil
}

// Ports of endpoints are below those that the kernel gives to connections, so that nobody takes one while its endpoint is
// down.
const (
	firstPort = 21_000
	lastPort  = 31_999
)

// freePorts returns n loopback addresses that nothing listens on.
func freePorts(n int) ([]string, error) {
	var addrs []string
	for range 1000 {
		if len(addrs) == n {
			return addrs, nil
		}
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(firstPort+rand.IntN(lastPort-firstPort)))
		l, err := net.Listen("tcp4", addr)
		if err != nil {
			continue
		}
		defer l.Close() // at the end, so that none is found twice
		addrs = append(addrs, addr)
	}
	return nil, errors.New("find free ports: too many are taken")
}
