// Package vllm runs real vLLM servers on the CPU of this machine, with a tiny model of random weights, for end-to-end
// tests and for trying zerohop out. It installs what it needs below build/out and touches nothing else. It needs
// Linux, Python 3.11 or 3.12, gcc and libnuma1.
//
// The tests of the whole stack against these servers have the build tag vllm:
//
//	go test -tags vllm -count 1 ./e2e/vllm
package vllm

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// closeGrace bounds how long Close waits for the process that all servers are forked from. It may still be importing.
const closeGrace = 30 * time.Second

// serverEnv keeps vLLM off the network and makes it content with one thread: two servers share two cores with Envoy.
var serverEnv = []string{
	"HF_HUB_OFFLINE=1",
	"TRANSFORMERS_OFFLINE=1",
	"VLLM_NO_USAGE_STATS=1",
	"DO_NOT_TRACK=1",
	"VLLM_CPU_KVCACHE_SPACE=1", // GiB; what is used is bound by KVBlocks
	"VLLM_CPU_OMP_THREADS_BIND=nobind",
	"OMP_NUM_THREADS=1",
}

// Fleet is any number of vLLM servers forked from one process that has imported vLLM (serve.py). They end with it, and
// it ends with this process, however that ends.
type Fleet struct {
	in    Installation
	dir   string // logs; the caller's
	cmd   *exec.Cmd
	stdin io.WriteCloser
	log   string
	done  chan struct{} // closed when the process has ended and all events are taken in

	mu      sync.Mutex
	servers []*Server // all ever started, in order; names repeat when a server is started again
}

// event is a line that serve.py writes.
type event struct {
	Name string `json:"name"`
	Pid  int    `json:"pid"`
	Exit *int   `json:"exit"` // nil when the server has just been forked
}

// Open starts the process that servers are forked from. Logs go to the folder dir, which must exist and stay until
// Close.
func Open(in Installation, dir string) (*Fleet, error) {
	f := &Fleet{in: in, dir: dir, log: filepath.Join(dir, "vllm.log"), done: make(chan struct{})}
	f.cmd = in.Python("serve.py")
	f.cmd.Env = append(f.cmd.Env, serverEnv...)
	f.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt typed at the terminal is the caller's
	log, err := os.Create(f.log)
	if err != nil {
		return nil, fmt.Errorf("start vLLM: %w", err)
	}
	defer log.Close()
	f.cmd.Stderr = log
	if f.stdin, err = f.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start vLLM: %w", err)
	}
	stdout, err := f.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start vLLM: %w", err)
	}
	if err := f.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start vLLM: %w", err)
	}
	go f.follow(stdout)
	return f, nil
}

// follow takes in the events until the process ends. Servers that have not ended by then were killed with it.
func (f *Fleet) follow(stdout io.Reader) {
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) == nil {
			f.take(e)
		}
	}
	_ = f.cmd.Wait() // its log tells more than its exit status
	f.mu.Lock()
	for _, s := range f.servers {
		s.end(fmt.Errorf("%s was killed with its fleet", s.name))
	}
	f.mu.Unlock()
	close(f.done)
}

func (f *Fleet) take(e event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	// The newest of that name: a server is started again only after the last one has ended.
	for i := len(f.servers) - 1; i >= 0; i-- {
		s := f.servers[i]
		if s.name != e.Name {
			continue
		}
		if e.Exit == nil {
			s.pid = e.Pid
			close(s.forked)
		} else {
			s.end(fmt.Errorf("%s exited with status %d", s.name, *e.Exit))
		}
		return
	}
}

// Start starts a server on the ip:port address and returns before it is ready. The name stands in its log's file name;
// it can be used again when the server of that name has ended, and the log then goes on. Extra arguments are appended
// to those of Args.
func (f *Fleet) Start(name, address string, extra ...string) (*Server, error) {
	args, err := Args(filepath.Join(f.in.folder, "model"), address)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	s := newServer(name, address, filepath.Join(f.dir, name+".log"))
	line, err := json.Marshal(map[string]any{"name": name, "log": s.log, "args": append(args, extra...)})
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	select {
	case <-f.done:
		return nil, fmt.Errorf("start %s: the fleet has ended", name)
	default:
	}
	f.servers = append(f.servers, s)
	if _, err := f.stdin.Write(append(line, '\n')); err != nil {
		s.end(fmt.Errorf("start %s: %w", name, err))
		return nil, s.Exited()
	}
	return s, nil
}

// Close stops all servers, gracefully until ctx ends, and waits for them. It may be called more than once.
func (f *Fleet) Close(ctx context.Context) error {
	f.mu.Lock()
	servers := append([]*Server(nil), f.servers...)
	f.mu.Unlock()
	var wg sync.WaitGroup
	for _, s := range servers {
		wg.Go(func() { _ = s.Stop(ctx) })
	}
	wg.Wait()
	_ = f.stdin.Close() // already closed is fine
	select {
	case <-f.done:
		return nil
	case <-time.After(closeGrace):
		errs := []error{errors.New("close fleet: the process that servers are forked from had to be killed")}
		errs = append(errs, f.cmd.Process.Kill())
		for _, s := range servers {
			errs = append(errs, s.killGroup())
		}
		<-f.done
		return errors.Join(errs...)
	}
}

// WriteLogs copies the ends of all logs to w.
func (f *Fleet) WriteLogs(w io.Writer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	logs, seen := []string{f.log}, map[string]bool{}
	for _, s := range f.servers {
		if !seen[s.log] {
			logs, seen[s.log] = append(logs, s.log), true
		}
	}
	for _, path := range logs {
		writeTail(w, path)
	}
}

// writeTail copies the last logTail bytes of a file to w, under a heading.
func writeTail(w io.Writer, path string) {
	const logTail = 64 << 10
	b, err := os.ReadFile(path)
	if err != nil {
		fmt.Fprintf(w, "--- %v\n", err)
		return
	}
	fmt.Fprintf(w, "--- %s (the last %d of %d bytes)\n%s\n",
		filepath.Base(path), min(len(b), logTail), len(b), b[max(0, len(b)-logTail):])
}
