package main

import (
	"bufio"
	"bytes"
	"os"
	"strconv"
	"strings"
)

// memory is what a process has, in bytes.
type memory struct {
	rss    int64
	linear int64 // linear memories of its Wasm VMs, as far as they have grown
}

// readMemory looks at a process; what cannot be read is 0.
func readMemory(pid int) memory {
	var m memory
	dir := "/proc/" + strconv.Itoa(pid)
	if b, err := os.ReadFile(dir + "/statm"); err == nil {
		if f := strings.Fields(string(b)); len(f) > 1 {
			pages, _ := strconv.ParseInt(f[1], 10, 64)
			m.rss = pages * int64(os.Getpagesize())
		}
	}
	if b, err := os.ReadFile(dir + "/maps"); err == nil {
		m.linear = parseLinear(b)
	}
	return m
}

// guardLeast is the least address space that V8 keeps behind a linear memory, so that no index leaves it: 8 GiB less what the
// memory can be, 1 GiB.
const guardLeast = 7 << 30

// parseLinear sums up the linear memories in a list of mappings: each is writable, and directly before a guard.
func parseLinear(maps []byte) int64 {
	var sum, size int64
	var end uint64 // of the mapping before, if that is writable
	for sc := bufio.NewScanner(bytes.NewReader(maps)); sc.Scan(); {
		f := strings.Fields(sc.Text())
		if len(f) < 2 {
			continue
		}
		from, to, ok := strings.Cut(f[0], "-")
		lo, err1 := strconv.ParseUint(from, 16, 64)
		hi, err2 := strconv.ParseUint(to, 16, 64)
		if !ok || err1 != nil || err2 != nil || hi < lo {
			continue
		}
		if f[1] == "---p" && lo == end && hi-lo >= guardLeast {
			sum += size
		}
		size, end = 0, 0
		if f[1] == "rw-p" {
			size, end = int64(hi-lo), hi
		}
	}
	return sum
}
