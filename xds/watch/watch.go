// Package watch follows the content of small files that others write: configuration, endpoint lists, certificates.
//
// It looks at content, not at time stamps: a touch or a rewrite with the same bytes is no change. It sees a write in place,
// a rename over the file, a deletion and re-creation, a symbolic link anywhere on the path that is turned elsewhere (as
// Kubernetes does with ..data in mounted ConfigMaps and Secrets) and a replaced directory. The kernel's notifications
// (fsnotify) say when to look. Where there are none, such as on network file systems, or when the system has no watch
// left, a look every [PollInterval] finds the change.
//
// A writer that does not rename leaves the file half written for a moment. So content counts only when two looks, 50 ms
// apart, find the same; who pauses for longer in the middle of a file must write elsewhere and rename.
package watch

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const (
	// MaxBytes is the largest content that is read.
	MaxBytes = 1 << 20
	// PollInterval is the time between two looks without a notification.
	PollInterval = 2 * time.Second

	settle    = 50 * time.Millisecond // from a notification to the look, and between two looks that must agree
	maxSettle = time.Second           // after which a file that never holds still is taken as it is
)

// File calls changed with the content of the file at path, or with the reason why it cannot be read: at once, and whenever
// either changes, until ctx ends. After an error changed gets the content again even if it is what it was before. The calls
// come one after the other from the caller's goroutine, and content is changed's own. A missing file is an error like any
// other; errors.Is tells it by fs.ErrNotExist.
func File(ctx context.Context, path string, changed func(content []byte, err error)) {
	f := follower{path: path, poll: PollInterval, notify: newNotifier}
	f.run(ctx, changed)
}

// Read returns the content of the file at path in the way of [File].
func Read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file but %s", path, kind(info.Mode()))
	}
	// Should a pipe have taken the file's place, opening it does not wait for a writer.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	switch {
	case err != nil:
		return nil, err
	case len(b) > MaxBytes:
		return nil, fmt.Errorf("%s has more than %d bytes, the most that is read", path, MaxBytes)
	}
	return b, nil
}

func kind(m os.FileMode) string {
	switch {
	case m.IsDir():
		return "a directory"
	case m&os.ModeNamedPipe != 0:
		return "a pipe"
	case m&os.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}

// outcome is what a look at the file found, in a form that can be compared.
type outcome struct {
	sum [sha256.Size]byte
	err string
}

func outcomeOf(content []byte, err error) outcome {
	if err != nil {
		return outcome{err: err.Error()}
	}
	return outcome{sum: sha256.Sum256(content)}
}

// follower is the state of one File.
type follower struct {
	path   string
	poll   time.Duration
	notify func() (notifier, error)

	changed  func([]byte, error)
	told     outcome   // what changed was called with
	seen     outcome   // what the last look found, if pending
	pending  bool      // a look found something else than told
	since    time.Time // when pending began
	look     *time.Timer
	awaiting bool // look is running
}

func (f *follower) run(ctx context.Context, changed func([]byte, error)) {
	f.path = absolute(f.path)
	f.changed = changed
	f.look = time.NewTimer(time.Hour)
	f.look.Stop()
	defer f.look.Stop()
	poll := time.NewTicker(f.poll)
	defer poll.Stop()
	t := trail{path: f.path, notify: f.notify}
	defer t.close()

	t.follow()
	content, err := Read(f.path)
	f.told = outcomeOf(content, err)
	changed(content, err)
	for {
		select {
		case <-ctx.Done():
			return
		case e, ok := <-t.events():
			if t.concerned(e, ok) {
				f.lookSoon()
			}
		case <-t.errors():
			// The queue has overflowed: anything may have happened.
			t.follow()
			f.lookSoon()
		case <-poll.C:
			if !t.current() {
				t.follow()
			}
			if !f.awaiting {
				f.lookNow()
			}
		case <-f.look.C:
			f.awaiting = false
			f.lookNow()
		}
	}
}

// absolute makes path independent of the working directory. Unlike filepath.Abs it leaves ".." alone, which behind a link
// leads elsewhere than the text says.
func absolute(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	wd, err := os.Getwd()
	if err != nil {
		return path
	}
	return wd + "/" + path
}

// lookSoon waits for the writer to finish.
func (f *follower) lookSoon() {
	if !f.awaiting {
		f.awaiting = true
		f.look.Reset(settle)
	}
}

// lookNow reads the file and reports a change that two looks agree on.
func (f *follower) lookNow() {
	content, err := Read(f.path)
	found := outcomeOf(content, err)
	switch {
	case found == f.told:
		f.pending = false
		return
	case !f.pending:
		f.pending, f.since = true, time.Now()
	case found == f.seen || time.Since(f.since) >= maxSettle:
		f.pending, f.told = false, found
		f.changed(content, err)
		return
	}
	f.seen = found
	f.lookSoon()
}
