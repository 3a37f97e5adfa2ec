package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// jiffy is the unit of /proc/stat on every Linux platform that Go runs on.
const jiffy = 10 * time.Millisecond

// processCPU returns the CPU time that all threads of a process have used, from the scheduler's own nanosecond
// accounting. The usual tick-based counters are too coarse for a round of a few hundred milliseconds. The time of a
// thread that runs at this moment may lag by one scheduler tick.
func processCPU(pid int) (time.Duration, error) { return threadsCPU(pid, "") }

// threadsCPU is processCPU for the threads whose names begin with prefix.
func threadsCPU(pid int, prefix string) (time.Duration, error) {
	files, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/schedstat")
	if err != nil || len(files) == 0 {
		return 0, fmt.Errorf("read CPU time of process %d: no threads: %w", pid, os.ErrNotExist)
	}
	var sum time.Duration
	for _, f := range files {
		if prefix != "" {
			name, err := os.ReadFile(filepath.Join(filepath.Dir(f), "comm"))
			if err != nil || !bytes.HasPrefix(name, []byte(prefix)) {
				continue
			}
		}
		b, err := os.ReadFile(f)
		if err != nil {
			continue // a thread may end between listing and reading
		}
		ns, err := strconv.ParseInt(firstField(b), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read CPU time of process %d: %w", pid, err)
		}
		sum += time.Duration(ns)
	}
	return sum, nil
}

func firstField(b []byte) string {
	f, _, _ := bytes.Cut(bytes.TrimSpace(b), []byte(" "))
	return string(f)
}

// ownCPU returns the CPU time of this process.
func ownCPU() (time.Duration, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, fmt.Errorf("read own CPU time: %w", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}

// machineCPU returns the CPU time that everything on this machine has used, over all CPUs, time stolen by the
// hypervisor included.
func machineCPU() (time.Duration, error) {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, fmt.Errorf("read the machine's CPU time: %w", err)
	}
	return parseStat(b)
}

func parseStat(b []byte) (time.Duration, error) {
	line, _, _ := bytes.Cut(b, []byte("\n"))
	f := bytes.Fields(line)
	if len(f) < 9 || string(f[0]) != "cpu" {
		return 0, fmt.Errorf("read the machine's CPU time: /proc/stat does not start with a cpu line")
	}
	// user nice system idle iowait irq softirq steal; guest time is part of user.
	var sum int64
	for _, i := range []int{1, 2, 3, 6, 7, 8} {
		v, err := strconv.ParseInt(string(f[i]), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read the machine's CPU time: %w", err)
		}
		sum += v
	}
	return time.Duration(sum) * jiffy, nil
}
