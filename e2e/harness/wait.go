package harness

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// pollEvery is the pause between two looks at a condition. Nothing is assumed about how long anything takes.
const pollEvery = 10 * time.Millisecond

// client is used for admin and readiness requests. It keeps no connection, so that closing a stack leaves none behind.
var client = &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

// Until calls ok until it returns nil or ctx ends. The error then says what was waited for and the last reason.
func Until(ctx context.Context, what string, ok func() error) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		err := ok()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w (last: %w)", what, ctx.Err(), err)
		case <-tick.C:
		}
	}
}

// untilServing waits until ok is nil, and gives up at once when p has ended.
func untilServing(ctx context.Context, p *Process, what string, ok func() error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-p.Done():
			cancel()
		case <-ctx.Done():
		}
	}()
	err := Until(ctx, what, ok)
	if err != nil && p.Exited() != nil {
		return fmt.Errorf("wait for %s: %w", what, p.Exited())
	}
	return err
}

// get returns the body of a GET that was answered with 200.
func get(ctx context.Context, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("GET %s: %w", url, err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s: status %d: %.200s", url, resp.StatusCode, b)
	}
	return b, nil
}
