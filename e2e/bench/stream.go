package main

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// What the cost of a chunk is measured with. A response has so many chunks that what its request costs does not count.
var (
	streamSizes       = []int{600}
	streamConnections = []int{16}
)

const (
	streamRounds = 9
	streamLength = time.Second

	maxChunkUs = 3 // the CPU time that zerohop may add to a chunk, in microseconds
)

// reportStream says what the filter adds to the CPU time of a chunk and, if assert is set, fails if that is too much.
func reportStream(w io.Writer, results []Result, assert bool) error {
	cpu := map[string]float64{}
	for _, r := range results {
		cpu[r.Variant] = r.CPUus
	}
	if min(cpu[direct], cpu[zerohop]) == 0 {
		return errors.New("a chunk was not measured with both direct and zerohop")
	}
	added := cpu[zerohop] - cpu[direct]
	if _, err := fmt.Fprintf(w, "CPU times are per chunk of a response: zerohop adds %.1f µs to %.1f\n", added, cpu[direct]); err != nil {
		return err
	}
	if assert && added > maxChunkUs {
		return fmt.Errorf("zerohop adds %.1f µs of CPU to a chunk, more than %d", added, maxChunkUs)
	}
	return nil
}
