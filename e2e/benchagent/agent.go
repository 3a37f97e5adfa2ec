package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/zerohop/zerohop/e2e/harness"
)

// The parsers: the agent's own, and prometheus/common's by a build tag.
const (
	ownParser   = "promtext"
	otherParser = "expfmt"
)

var parsers = []string{ownParser, otherParser}

// clockTick is the unit of CPU times in /proc on every Linux platform that Go runs on.
const clockTick = 10 * time.Millisecond

// buildAgent returns the path of an agent with a parser. With ZEROHOP_PREBUILT it takes the one that is there.
func buildAgent(parser string) (string, error) {
	root, err := harness.Root()
	if err != nil {
		return "", err
	}
	out, pkg := filepath.Join(root, "build", "out", "zerohop"), "./xds/cmd/zerohop"
	var tags []string
	switch parser {
	case ownParser:
	case otherParser:
		out += "-" + parser
		tags = []string{"-tags", parser}
	default:
		return "", fmt.Errorf("-parser: %q is none of %s", parser, strings.Join(parsers, ", "))
	}
	if os.Getenv("ZEROHOP_PREBUILT") != "" {
		if _, err := os.Stat(out); err != nil {
			return "", fmt.Errorf("ZEROHOP_PREBUILT is set but the agent is missing: %w", err)
		}
		return out, nil
	}
	if parser == ownParser {
		return out, harness.BuildGo(root, out, pkg)
	}
	cmd := exec.Command("go", append(append([]string{"build", "-buildvcs=false", "-trimpath", "-o", out + ".new"}, tags...), pkg)...)
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if msg, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the agent with %s: %w\n%s", parser, err, msg)
	}
	return out, os.Rename(out+".new", out)
}

// startAgent starts an agent and waits until it has scraped every endpoint once.
func startAgent(ctx context.Context, s setup, endpoints []string) (*harness.Process, string, error) {
	root, err := harness.Root()
	if err != nil {
		return nil, "", err
	}
	list := make([]harness.Endpoint, len(endpoints))
	for i, a := range endpoints {
		list[i] = harness.Endpoint{Name: "e" + strconv.Itoa(i), Address: a}
	}
	file := filepath.Join(s.dir, "endpoints.yaml")
	if err := os.WriteFile(file, harness.EndpointsYAML(list), 0o600); err != nil {
		return nil, "", err
	}
	ports, err := harness.FreePorts(1)
	if err != nil {
		return nil, "", err
	}
	args := []string{
		"agent", "--config-file", filepath.Join(root, "config", "epp.yaml"), "--endpoints", file,
		"--listen", ports[0], "--scrape-interval", s.interval.String(),
	}
	if help, err := exec.Command(s.binary, "agent", "--help").Output(); err == nil && strings.Contains(string(help), "--xds-listen") {
		args = append(args, "--xds-listen", "127.0.0.1:0")
	}
	p, err := harness.StartProcess(s.dir, "agent", s.binary, args...)
	if err != nil {
		return nil, "", err
	}
	url := "http://" + ports[0]
	err = harness.Until(ctx, "the agent to be ready", func() error {
		if err := p.Exited(); err != nil {
			return err
		}
		resp, err := http.Get(url + "/readyz")
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if body, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK {
			return fmt.Errorf("status %d: %.200s", resp.StatusCode, body)
		}
		return nil
	})
	if err != nil {
		p.WriteLog(os.Stderr)
		p.Stop()
	}
	return p, url, err
}

// cpuTime returns the CPU time that a process has used.
func cpuTime(pid int) (time.Duration, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, fmt.Errorf("read CPU time: %w", err)
	}
	return parseStat(string(b))
}

// parseStat sums user and system time. The name of the process, in parentheses, may hold anything.
func parseStat(stat string) (time.Duration, error) {
	f := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	var ticks int64
	for _, i := range []int{11, 12} { // fields 14 and 15 of the line
		if len(f) <= i {
			return 0, fmt.Errorf("read CPU time: %d fields", len(f))
		}
		n, err := strconv.ParseInt(f[i], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read CPU time: %w", err)
		}
		ticks += n
	}
	return time.Duration(ticks) * clockTick, nil
}

// memory returns the resident memory of a process, in bytes.
func memory(pid int) (int64, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0, fmt.Errorf("read memory: %w", err)
	}
	f := strings.Fields(string(b))
	if len(f) < 2 {
		return 0, fmt.Errorf("read memory: %q", b)
	}
	pages, err := strconv.ParseInt(f[1], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read memory: %w", err)
	}
	return pages * int64(os.Getpagesize()), nil
}
