package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/zerohop/zerohop/xds/agentclient"
	"github.com/zerohop/zerohop/xds/publish"
)

type snapshotCmd struct {
	agentclient.Options
	Output   string        `short:"o" default:"text" enum:"text,json" help:"Format: ${enum}. Default ${default}."`
	Watch    bool          `short:"w" help:"Print again and again until interrupted; json prints one line each time."`
	Interval time.Duration `default:"1s" placeholder:"DURATION" help:"Time between two prints of --watch. Default ${default}."`
}

// minWatch is the shortest interval of --watch.
const minWatch = 100 * time.Millisecond

// clearScreen takes a terminal's cursor home and clears what is below.
const clearScreen = "\033[H\033[J"

// run prints the newest snapshot.
func (s *snapshotCmd) run(ctx context.Context, stdout, stderr io.Writer) error {
	if s.Watch && s.Interval < minWatch {
		return usageError{fmt.Errorf("--interval: %v is shorter than %v", s.Interval, minWatch)}
	}
	c, err := agentclient.New(s.Options)
	if err != nil {
		return usageError{err}
	}
	defer c.Close()
	if !s.Watch {
		return s.print(ctx, c, stdout)
	}
	again := time.NewTicker(s.Interval)
	defer again.Stop()
	for {
		// An agent that is being restarted is waited for.
		err := s.print(ctx, c, stdout)
		if ctx.Err() != nil {
			return nil
		}
		var answer agentclient.Error
		if err != nil && !errors.As(err, &answer) {
			return err
		}
		if err != nil {
			_, _ = fmt.Fprintf(stderr, "zerohop: %v\n", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-again.C:
		}
	}
}

// print asks once and prints.
func (s *snapshotCmd) print(ctx context.Context, c *agentclient.Client, stdout io.Writer) error {
	var page publish.Page
	if err := c.JSON(ctx, publish.PathPage, &page); err != nil {
		return err
	}
	if s.Output == "json" {
		if s.Watch {
			return json.NewEncoder(stdout).Encode(page)
		}
		return writeJSON(stdout, page)
	}
	text := snapshotText(&page)
	if s.Watch {
		if isTerminal(stdout) {
			text = clearScreen + text
		} else {
			text += "\n"
		}
	}
	_, err := io.WriteString(stdout, text)
	return err
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// snapshotText formats a snapshot for people.
func snapshotText(page *publish.Page) string {
	var b strings.Builder
	_, _ = fmt.Fprintf(&b, "snapshot %d: %d endpoints, %d bytes, published %v ago\n", page.Version, len(page.Endpoints), page.Bytes, milliseconds(page.AgeMs))
	if len(page.Endpoints) == 0 {
		return b.String()
	}
	b.WriteByte('\n')
	writeTable(&b, func(row func(string, ...any)) {
		row("ENDPOINT\tADDRESS\tAGE\tWAITING\tRUNNING\tKV CACHE\tIN FLIGHT\tTOKENS\tPICKS\tFALLBACKS\tFAILED\tSTATE")
		for i := range page.Endpoints {
			row("%s", strings.Join(cellsOf(&page.Endpoints[i]), "\t"))
		}
	})
	return b.String()
}

// cellsOf returns the cells of an endpoint. What nobody has told is a dash.
func cellsOf(e *publish.PageEndpoint) []string {
	cells := []string{e.Name, e.Address}
	if e.AgeMs == nil {
		cells = append(cells, "-", "-", "-", "-")
	} else {
		cells = append(cells, milliseconds(*e.AgeMs).String(), strconv.FormatUint(uint64(e.Waiting), 10), strconv.FormatUint(uint64(e.Running), 10),
			strconv.FormatFloat(100*float64(e.KVUsage), 'f', 1, 64)+"%")
	}
	if r := e.Reported; r == nil {
		cells = append(cells, "-", "-", "-", "-", "-")
	} else {
		for _, n := range []uint64{r.InFlight, r.InFlightTokens, r.Picks, r.Fallbacks, r.Failures} {
			cells = append(cells, strconv.FormatUint(n, 10))
		}
	}
	return append(cells, state(e))
}

// state says in words what is unusual about an endpoint.
func state(e *publish.PageEndpoint) string {
	var words []string
	if e.Draining {
		words = append(words, "draining")
	}
	if r := e.Reported; r != nil && r.CoolingDown > 0 {
		words = append(words, fmt.Sprintf("cooling down on %d workers", r.CoolingDown))
	}
	switch {
	case e.Failure != "":
		words = append(words, fmt.Sprintf("scrape fails: %s, %d times", e.Failure, e.Failures))
	case e.AgeMs == nil:
		words = append(words, "not scraped yet")
	}
	if words == nil {
		return "ok"
	}
	return strings.Join(words, "; ")
}

// milliseconds returns an age as a duration; beyond a minute, milliseconds are noise.
func milliseconds(ms int64) time.Duration {
	d := time.Duration(ms) * time.Millisecond
	if d >= time.Minute {
		return d.Round(time.Second)
	}
	return d
}
