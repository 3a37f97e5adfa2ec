package harness

import (
	"bytes"
	"os"
	"strconv"
)

// idleLeast is the share of idle CPU time from which on a process that is slow has only itself to blame.
const idleLeast = 0.25

// CPUTime is the machine's CPU time so far, in ticks over all CPUs.
type CPUTime struct{ idle, all float64 }

// ReadCPU reads the machine's CPU time; zero where there is no /proc.
func ReadCPU() CPUTime {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return CPUTime{}
	}
	line, _, _ := bytes.Cut(b, []byte("\n"))
	var t CPUTime
	for i, field := range bytes.Fields(line) { // cpu user nice system idle iowait irq softirq steal
		n, err := strconv.ParseFloat(string(field), 64)
		if err != nil || i > 8 {
			continue
		}
		t.all += n
		if i == 4 || i == 5 {
			t.idle += n
		}
	}
	return t
}

// Busy reports whether the machine has had next to no idle CPU since, so that times mean nothing.
func (before CPUTime) Busy() bool {
	now := ReadCPU()
	all := now.all - before.all
	return all > 0 && (now.idle-before.idle)/all < idleLeast
}
