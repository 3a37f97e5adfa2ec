// Command up runs vLLM servers on this machine until it is interrupted:
//
//	go run ./e2e/vllm/up [ip:port …]          default: 127.0.0.1:8201 127.0.0.1:8202
//
// It installs vLLM on first use, prints one line "ready NAME ip:port" for each server when all of them answer, and on
// SIGINT or SIGTERM stops them and waits for them. When something fails it prints the logs.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/zerohop/zerohop/e2e/vllm"
)

const (
	readyTimeout = 3 * time.Minute // start takes half a minute on two idle cores
	stopTimeout  = 10 * time.Second
)

func main() {
	addresses := os.Args[1:]
	if len(addresses) == 0 {
		addresses = []string{"127.0.0.1:8201", "127.0.0.1:8202"}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, addresses); err != nil {
		fmt.Fprintf(os.Stderr, "up: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, addresses []string) (err error) {
	fmt.Fprintln(os.Stderr, "up: install vLLM, if it is not there yet, and start", len(addresses), "servers")
	in, err := vllm.Install(ctx)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "zerohop-vllm-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fleet, err := vllm.Open(in, dir)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil && ctx.Err() == nil {
			fleet.WriteLogs(os.Stderr)
		}
		// The interrupt has ended ctx; stopping gets time of its own.
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		err = errors.Join(err, fleet.Close(stopping))
	}()
	return serve(ctx, fleet, addresses)
}

// serve starts the servers and returns nil when ctx ends, or an error when a server ends.
func serve(ctx context.Context, fleet *vllm.Fleet, addresses []string) error {
	var servers []*vllm.Server
	for i, address := range addresses {
		s, err := fleet.Start(fmt.Sprintf("vllm-%d", i+1), address)
		if err != nil {
			return err
		}
		servers = append(servers, s)
	}
	ready, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for _, s := range servers {
		if err := s.WaitReady(ready); err != nil {
			if ctx.Err() != nil {
				return nil // interrupted
			}
			return err
		}
	}
	ended := make(chan *vllm.Server, len(servers))
	for _, s := range servers {
		fmt.Println("ready", s.Name(), s.Address)
		go func() {
			<-s.Done()
			ended <- s
		}()
	}
	select {
	case <-ctx.Done():
		return nil
	case s := <-ended:
		return fmt.Errorf("%s ended: %w", s.Name(), s.Exited())
	}
}
