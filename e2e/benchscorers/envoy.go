package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/zerohop/zerohop/e2e/benchscorers/workload"
	"github.com/zerohop/zerohop/e2e/harness"
)

// inEnvoy measures every case in a real Envoy and writes the numbers into results, which are in the order of plans and cases.
// Envoy runs the module on its main thread and on its worker; of the two numbers the smaller one counts, since whatever else the
// machine does only adds.
func inEnvoy(ctx context.Context, plans [][]byte, results []Result) error {
	root, err := harness.Root()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "zerohop-benchscorers-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	module := filepath.Join(dir, "module.wasm")
	if err := harness.BuildModule(root, module, "./e2e/benchscorers/module"); err != nil {
		return err
	}
	ports, err := harness.FreePorts(2)
	if err != nil {
		return err
	}
	e, err := harness.StartEnvoy(harness.EnvoyOptions{
		Name: "scorers", Dir: dir, Admin: ports[1],
		Bootstrap: harness.StaticBootstrap(harness.StaticOptions{
			Listen: ports[0], Admin: ports[1], Endpoints: []string{ports[0]}, Module: module, Config: string(bytes.Join(plans, []byte("\n"))),
		}),
	})
	if err != nil {
		return err
	}
	defer e.Stop()
	return harness.Until(ctx, "all measurements", func() error {
		var log bytes.Buffer
		e.WriteLog(&log)
		if strings.Contains(log.String(), "scorers failed") {
			return fmt.Errorf("%s", log.Bytes())
		}
		return read(log.String(), results)
	})
}

// read takes the numbers from a log, and returns an error while some case has not been measured twice.
func read(log string, results []Result) error {
	cases := len(workload.Cases())
	count := make([]int, len(results))
	for line := range strings.Lines(log) {
		_, text, ok := strings.Cut(line, "scorers ")
		fields := strings.Fields(text)
		if !ok || len(fields) < 3 {
			continue
		}
		plan, err1 := strconv.Atoi(fields[0])
		size, err2 := strconv.Atoi(fields[1])
		ns, err3 := strconv.ParseFloat(fields[2], 64)
		i := plan*cases + size
		if errors.Join(err1, err2, err3) != nil || i < 0 || i >= len(results) {
			continue
		}
		if count[i]++; count[i] == 1 || ns < results[i].NsWasm {
			results[i].NsWasm = ns
		}
	}
	for i, n := range count {
		if n < 2 {
			return fmt.Errorf("case %d was measured %d times", i, n)
		}
	}
	return nil
}
