package harness

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
)

// AccessEntry is one line of Envoy's JSON access log: the fields as the bootstrap names them.
type AccessEntry map[string]any

// String returns the field called name as text; "" if it is missing or null.
func (a AccessEntry) String(name string) string {
	switch v := a[name].(type) {
	case nil:
		return ""
	case string:
		return v
	default:
		return fmt.Sprint(v)
	}
}

// accessLog is what has been read of an access log, so that one that is looked at after each request is decoded once.
type accessLog struct {
	mu      sync.Mutex
	read    int64 // bytes, up to the end of a line
	entries []AccessEntry
}

// AccessLog returns the entries written so far, which the caller must not change. Envoy writes an entry after the client has its
// response, so a test that needs a certain one waits with WaitAccessLog.
func (e *Envoy) AccessLog() ([]AccessEntry, error) {
	l := &e.log
	l.mu.Lock()
	defer l.mu.Unlock()
	b, err := e.stdoutFrom(l.read)
	if err != nil {
		return nil, fmt.Errorf("read access log: %w", err)
	}
	b = b[:bytes.LastIndexByte(b, '\n')+1]
	l.read += int64(len(b))
	l.entries = append(l.entries, parseAccessLog(b)...)
	return slices.Clip(l.entries), nil
}

// WaitAccessLog waits until there are at least n entries, and returns all.
func (e *Envoy) WaitAccessLog(ctx context.Context, n int) ([]AccessEntry, error) {
	var entries []AccessEntry
	err := untilServing(ctx, e.Process, fmt.Sprintf("%d access log entries", n), func() error {
		var err error
		if entries, err = e.AccessLog(); err != nil {
			return err
		}
		if len(entries) < n {
			return fmt.Errorf("there are %d", len(entries))
		}
		return nil
	})
	return entries, err
}

// parseAccessLog keeps complete lines that are JSON objects; anything else on standard output is not an entry.
func parseAccessLog(b []byte) []AccessEntry {
	var entries []AccessEntry
	if end := bytes.LastIndexByte(b, '\n'); end >= 0 {
		b = b[:end+1]
	} else {
		return nil
	}
	sc := bufio.NewScanner(bytes.NewReader(b))
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		var a AccessEntry
		if json.Unmarshal(sc.Bytes(), &a) == nil && a != nil {
			entries = append(entries, a)
		}
	}
	return entries
}
