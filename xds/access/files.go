package access

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"
)

const (
	// rereadEvery is the least time between two looks at a file. Looks are taken only when somebody connects or asks.
	rereadEvery = time.Second
	// maxFile bounds the size of a file in bytes.
	maxFile = 1 << 20
)

// watched is what stands in some files that belong together. A change takes effect when all of them parse together: a key
// that is written after its certificate is waited for.
type watched[T any] struct {
	policy *Policy
	names  []string
	parse  func(files [][]byte) (T, error)
	every  time.Duration

	mu      sync.Mutex
	looked  time.Time
	content [][]byte // that the newest look found
	current T
	failed  bool // the newest content is not in force
}

// watch reads the files for the first time.
func watch[T any](p *Policy, parse func([][]byte) (T, error), names ...string) (*watched[T], error) {
	w := &watched[T]{policy: p, names: names, parse: parse, every: rereadEvery, looked: time.Now()}
	var err error
	if w.content, err = readFiles(names); err != nil {
		return nil, err
	}
	if w.current, err = parse(w.content); err != nil {
		return nil, fmt.Errorf("%s: %w", names[0], err)
	}
	return w, nil
}

// value returns what is in force, after a look at the files if one is due.
func (w *watched[T]) value() T {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now := time.Now(); now.Sub(w.looked) >= w.every {
		w.looked = now
		w.look()
	}
	return w.current
}

func (w *watched[T]) look() {
	content, err := readFiles(w.names)
	if err == nil {
		if slices.EqualFunc(content, w.content, bytes.Equal) {
			w.failed = false
			return
		}
		var next T
		if next, err = w.parse(content); err == nil {
			w.current, w.content, w.failed = next, content, false
			w.policy.log.Info("credentials are read again", "files", w.names)
			return
		}
	}
	if w.failed {
		return // it has been said
	}
	w.failed = true
	w.policy.counts.badFiles.Add(1)
	w.policy.log.Error("credentials cannot be read again; those before stay in force", "files", w.names, "error", err)
}

func readFiles(names []string) ([][]byte, error) {
	out := make([][]byte, len(names))
	for i, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
		_ = f.Close()
		if err != nil {
			return nil, err
		}
		if len(b) > maxFile {
			return nil, fmt.Errorf("%s: more than %d bytes", name, maxFile)
		}
		out[i] = b
	}
	return out, nil
}
