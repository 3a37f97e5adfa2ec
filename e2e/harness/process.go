package harness

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// stopGrace is how long a process may take to end after SIGTERM before it is killed.
const stopGrace = 5 * time.Second

// logTail bounds what Log returns of each output stream, so that a chatty process does not drown a test report.
const logTail = 64 << 10

// Process is one started child process. Its output goes to two files, so that nothing blocks when nobody reads it.
type Process struct {
	name   string
	cmd    *exec.Cmd
	stdout string
	stderr string
	done   chan struct{}
	err    error // exit status; read only after done is closed
}

// StartProcess starts path with args and sends its output to dir/name.stdout and dir/name.stderr. The child dies with
// this process even when this process is killed (on Linux).
func StartProcess(dir, name, path string, args ...string) (*Process, error) {
	p := &Process{
		name:   name,
		cmd:    exec.Command(path, args...),
		stdout: filepath.Join(dir, name+".stdout"),
		stderr: filepath.Join(dir, name+".stderr"),
		done:   make(chan struct{}),
	}
	out, err := os.Create(p.stdout)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	defer out.Close()
	errOut, err := os.Create(p.stderr)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	defer errOut.Close()
	p.cmd.Stdout, p.cmd.Stderr = out, errOut
	p.cmd.SysProcAttr = childAttr()
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// Name returns the name the process was started with.
func (p *Process) Name() string { return p.name }

// Pid returns the process id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exited returns an error that says how the process ended, or nil while it runs.
func (p *Process) Exited() error {
	select {
	case <-p.done:
		if p.err == nil {
			return fmt.Errorf("%s exited with status 0", p.name)
		}
		return fmt.Errorf("%s exited: %w", p.name, p.err)
	default:
		return nil
	}
}

// Signal sends sig to the process, by id.
func (p *Process) Signal(sig syscall.Signal) error {
	if err := p.cmd.Process.Signal(sig); err != nil {
		return fmt.Errorf("signal %s: %w", p.name, err)
	}
	return nil
}

// Pause freezes the process; Resume continues it. Both leave its connections open.
func (p *Process) Pause() error { return p.Signal(syscall.SIGSTOP) }

// Resume continues a paused process.
func (p *Process) Resume() error { return p.Signal(syscall.SIGCONT) }

// Kill ends the process at once and waits for it, as a crash would.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // already ended is fine
	<-p.done
}

// Stop asks the process to end, kills it when it does not within stopGrace, and waits for it. It also ends a paused
// process. Stopping a process twice is harmless.
func (p *Process) Stop() {
	err := p.cmd.Process.Signal(syscall.SIGTERM)
	if errors.Is(err, os.ErrProcessDone) {
		<-p.done
		return
	}
	_ = p.cmd.Process.Signal(syscall.SIGCONT)
	select {
	case <-p.done:
	case <-time.After(stopGrace):
		p.Kill()
	}
}

// Stdout returns everything that the process has written to its standard output.
func (p *Process) Stdout() ([]byte, error) { return os.ReadFile(p.stdout) }

// stdoutFrom returns what the process has written to its standard output after the first n bytes.
func (p *Process) stdoutFrom(n int64) ([]byte, error) {
	f, err := os.Open(p.stdout)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.NewSectionReader(f, n, math.MaxInt64-n))
}

// WriteLog copies the end of both outputs to w under a heading with the process name.
func (p *Process) WriteLog(w io.Writer) {
	for _, path := range []string{p.stderr, p.stdout} {
		b, err := os.ReadFile(path)
		if err != nil {
			fmt.Fprintf(w, "--- %s: %v\n", filepath.Base(path), err)
			continue
		}
		if cut := len(b) - logTail; cut > 0 {
			b = b[cut:]
		}
		fmt.Fprintf(w, "--- %s (%d bytes shown)\n%s\n", filepath.Base(path), len(b), bytes.TrimRight(b, "\n"))
	}
}
