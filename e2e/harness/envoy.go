package harness

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// EnvoyOptions says how to start one Envoy.
type EnvoyOptions struct {
	Path        string   // executable; empty means FindEnvoy
	Name        string   // names the log files; empty means "envoy"
	Bootstrap   []byte   // configuration as YAML
	Dir         string   // folder for configuration and logs; it must exist
	Admin       string   // ip:port of the admin listener that the bootstrap configures
	Concurrency int      // worker threads; 0 means 1
	LogLevel    string   // empty means "warn"
	Args        []string // appended to the command line
}

// Envoy is one running Envoy.
type Envoy struct {
	*Process
	Admin string // ip:port of the admin listener

	log accessLog
}

// StartEnvoy starts an Envoy that shares nothing with any other on this machine. It returns before Envoy is ready.
func StartEnvoy(o EnvoyOptions) (*Envoy, error) {
	if o.Name == "" {
		o.Name = "envoy"
	}
	if o.Path == "" {
		path, err := FindEnvoy()
		if err != nil {
			return nil, err
		}
		o.Path = path
	}
	file := o.Dir + "/" + o.Name + ".yaml"
	if err := os.WriteFile(file, o.Bootstrap, 0o600); err != nil {
		return nil, fmt.Errorf("start %s: %w", o.Name, err)
	}
	level := o.LogLevel
	if level == "" {
		level = "warn"
	}
	args := append([]string{
		"--config-path", file,
		"--concurrency", strconv.Itoa(max(o.Concurrency, 1)),
		"--use-dynamic-base-id", // several Envoys on one machine, none of them hot restarted
		"--log-level", level,
		"--file-flush-interval-msec", "20", // access log lines are read by tests
		"--drain-time-s", "1",
	}, o.Args...)
	p, err := StartProcess(o.Dir, o.Name, o.Path, args...)
	if err != nil {
		return nil, err
	}
	return &Envoy{Process: p, Admin: o.Admin}, nil
}

// WaitReady waits until Envoy reports itself live: listeners are up and, unless they are fetched, modules are compiled.
func (e *Envoy) WaitReady(ctx context.Context) error {
	return untilServing(ctx, e.Process, e.Name()+" to be ready", func() error {
		b, err := get(ctx, "http://"+e.Admin+"/ready")
		if err != nil {
			return err
		}
		if s := strings.TrimSpace(string(b)); s != "LIVE" {
			return fmt.Errorf("admin says %q", s)
		}
		return nil
	})
}

// AdminGet returns the body of a GET on the admin interface, for example "/config_dump".
func (e *Envoy) AdminGet(ctx context.Context, path string) ([]byte, error) {
	return get(ctx, "http://"+e.Admin+path)
}
