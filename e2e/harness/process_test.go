package harness

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestProcess(t *testing.T) {
	tests := []struct {
		name   string
		script string
		act    func(*Process)
		want   string // part of the error of Exited
	}{
		{"ends by itself", "echo out; echo err >&2; exit 3", func(p *Process) { <-p.Done() }, "exit status 3"},
		{"status 0 is told", "true", func(p *Process) { <-p.Done() }, "status 0"},
		{"stops on SIGTERM", "exec sleep 60", (*Process).Stop, "terminated"},
		{"stops while paused", "exec sleep 60", func(p *Process) {
			if err := p.Pause(); err != nil {
				t.Error(err)
			}
			p.Stop()
		}, "terminated"},
		{"stopped twice", "exec sleep 60", func(p *Process) { p.Stop(); p.Stop() }, "terminated"},
		{"killed", "exec sleep 60", (*Process).Kill, "killed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := StartProcess(t.TempDir(), "child", "/bin/sh", "-c", tt.script)
			if err != nil {
				t.Fatal(err)
			}
			tt.act(p)
			if err := p.Exited(); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Exited() = %v, want it to contain %q", err, tt.want)
			}
			if err := syscall.Kill(p.Pid(), 0); !errors.Is(err, syscall.ESRCH) {
				t.Errorf("process is still there: %v", err)
			}
		})
	}
}

func TestProcessLogs(t *testing.T) {
	p, err := StartProcess(t.TempDir(), "child", "/bin/sh", "-c", "echo to-out; echo to-err >&2")
	if err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	var b strings.Builder
	p.WriteLog(&b)
	for _, want := range []string{"child.stdout", "to-out", "child.stderr", "to-err"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("log lacks %q:\n%s", want, b.String())
		}
	}
}

func TestStartProcessMissing(t *testing.T) {
	_, err := StartProcess(t.TempDir(), "child", "/nonexistent/binary")
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want ErrNotExist", err)
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		t.Errorf("a process that never started has an exit status: %v", err)
	}
}

func TestUntilServingStopsWhenProcessEnds(t *testing.T) {
	p, err := StartProcess(t.TempDir(), "child", "/bin/sh", "-c", "exit 7")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err = untilServing(ctx, p, "nothing", func() error { return errors.New("never") })
	if err == nil || !strings.Contains(err.Error(), "exit status 7") {
		t.Errorf("got %v, want the exit status", err)
	}
}

func TestFreePorts(t *testing.T) {
	addrs, err := FreePorts(50)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, a := range addrs {
		if seen[a] {
			t.Errorf("%s twice", a)
		}
		seen[a] = true
		l, err := net.Listen("tcp4", a)
		if err != nil {
			t.Errorf("not free: %v", err)
			continue
		}
		l.Close()
	}
}
