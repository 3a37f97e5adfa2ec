package watch

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"go.uber.org/goleak"
)

// never is a poll interval that no test lives to see: what is noticed then was notified of.
const never = time.Hour

// soon is how long a test waits for a call. It bounds failing tests only.
const soon = 10 * time.Second

// call is one call of changed.
type call struct {
	content string
	err     error
}

// watched is a file under watch.
type watched struct {
	t     *testing.T
	path  string
	calls chan call
}

// start watches path with the system's notifications until the test ends.
func start(t *testing.T, path string, poll time.Duration) *watched {
	return startWith(t, follower{path: path, poll: poll, notify: newNotifier})
}

func startWith(t *testing.T, f follower) *watched {
	t.Helper()
	w := &watched{t: t, path: f.path, calls: make(chan call, 1000)}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { f.run(ctx, func(b []byte, err error) { w.calls <- call{string(b), err} }) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return w
}

// want takes the next call, which must bring this content.
func (w *watched) want(content string) {
	w.t.Helper()
	if c := w.next(); c.err != nil || c.content != content {
		w.t.Fatalf("got %q, error %v; want %q", c.content, c.err, content)
	}
}

// wantErr takes the next call, which must bring this error.
func (w *watched) wantErr(part string) error {
	w.t.Helper()
	c := w.next()
	if c.err == nil || !strings.Contains(c.err.Error(), part) || c.content != "" {
		w.t.Fatalf("got %q, error %v; want an error with %q", c.content, c.err, part)
	}
	return c.err
}

func (w *watched) next() call {
	w.t.Helper()
	select {
	case c := <-w.calls:
		return c
	case <-time.After(soon):
		w.t.Fatal("no call")
	}
	return call{}
}

// quiet checks that nothing is reported for long enough that a report would have come.
func (w *watched) quiet() {
	w.t.Helper()
	select {
	case c := <-w.calls:
		w.t.Fatalf("an unexpected call: %q, error %v", c.content, c.err)
	case <-time.After(3 * settle):
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(content), 0o600))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// replace writes beside the file and renames over it.
func replace(t *testing.T, path, content string) {
	t.Helper()
	write(t, path+".next", content)
	must(t, os.Rename(path+".next", path))
}

// TestNotified makes each kind of change with real files. There is no polling: the notification has to come.
func TestNotified(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(t *testing.T, path string)
	}{
		{"write in place", func(t *testing.T, path string) { write(t, path, "two") }},
		{"atomic rename", func(t *testing.T, path string) { replace(t, path, "two") }},
		{"editor that keeps the old file", func(t *testing.T, path string) {
			must(t, os.Rename(path, path+"~"))
			write(t, path, "two")
			must(t, os.Remove(path+"~"))
		}},
		{"truncated, then written", func(t *testing.T, path string) {
			f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
			must(t, err)
			time.Sleep(settle / 5)
			_, err = f.WriteString("t")
			must(t, err)
			time.Sleep(settle / 5)
			_, err = f.WriteString("wo")
			must(t, errors.Join(err, f.Close()))
		}},
		{"deleted and created at once", func(t *testing.T, path string) {
			must(t, os.Remove(path))
			write(t, path, "two")
		}},
		{"hard link over it", func(t *testing.T, path string) {
			write(t, path+".b", "two")
			must(t, os.Remove(path))
			must(t, os.Link(path+".b", path))
		}},
		{"becomes a link", func(t *testing.T, path string) {
			write(t, path+".b", "two")
			must(t, os.Remove(path))
			must(t, os.Symlink(path+".b", path))
		}},
		{"directory renamed away and made anew", func(t *testing.T, path string) {
			dir := filepath.Dir(path)
			must(t, os.Rename(dir, dir+".old"))
			must(t, os.Mkdir(dir, 0o700))
			write(t, path, "two")
		}},
		{"directory removed and made anew", func(t *testing.T, path string) {
			must(t, os.RemoveAll(filepath.Dir(path)))
			must(t, os.Mkdir(filepath.Dir(path), 0o700))
			write(t, path, "two")
		}},
		{"another directory renamed into its place", func(t *testing.T, path string) {
			dir := filepath.Dir(path)
			must(t, os.Mkdir(dir+".next", 0o700))
			write(t, filepath.Join(dir+".next", filepath.Base(path)), "two")
			must(t, os.RemoveAll(dir))
			must(t, os.Rename(dir+".next", dir))
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "config")
			must(t, os.Mkdir(dir, 0o700))
			path := filepath.Join(dir, "file")
			write(t, path, "one")
			w := start(t, path, never)
			w.want("one")
			tt.change(t, path)
			w.want("two")
			w.quiet()
			// The watches followed whatever happened.
			write(t, path, "three")
			w.want("three")
			replace(t, path, "four")
			w.want("four")
		})
	}
}

// TestSameContentIsNoChange touches, rewrites and replaces a file with what it has.
func TestSameContentIsNoChange(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	write(t, path, "one")
	w := start(t, path, 20*time.Millisecond)
	w.want("one")
	must(t, os.Chtimes(path, time.Time{}, time.Now().Add(time.Hour)))
	write(t, path, "one")
	replace(t, path, "one")
	write(t, filepath.Join(filepath.Dir(path), "neighbour"), "two")
	w.quiet()
	write(t, path, "two")
	w.want("two")
}

// configMap lays out a mounted ConfigMap: file -> ..data/file, ..data -> a directory per version.
type configMap struct {
	t   *testing.T
	dir string
}

func (c configMap) publish(version, content string) {
	c.t.Helper()
	must(c.t, os.Mkdir(filepath.Join(c.dir, version), 0o700))
	write(c.t, filepath.Join(c.dir, version, "file"), content)
	must(c.t, os.Symlink(version, filepath.Join(c.dir, "..data_tmp")))
	must(c.t, os.Rename(filepath.Join(c.dir, "..data_tmp"), filepath.Join(c.dir, "..data")))
}

func TestConfigMapSwap(t *testing.T) {
	t.Parallel()
	c := configMap{t, t.TempDir()}
	c.publish("..1", "one")
	path := filepath.Join(c.dir, "file")
	must(t, os.Symlink(filepath.Join("..data", "file"), path))
	w := start(t, path, never)
	w.want("one")
	c.publish("..2", "two")
	must(t, os.RemoveAll(filepath.Join(c.dir, "..1")))
	w.want("two")
	c.publish("..3", "two") // another version, the same content
	must(t, os.RemoveAll(filepath.Join(c.dir, "..2")))
	w.quiet()
	c.publish("..4", "four")
	w.want("four")
	write(t, filepath.Join(c.dir, "..4", "file"), "five") // in place behind two links
	w.want("five")
}

// TestLinkedDirectorySwap turns a link far above the file, as deployments by "current" links do.
func TestLinkedDirectorySwap(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, v := range []string{"one", "two"} {
		must(t, os.MkdirAll(filepath.Join(dir, v, "etc"), 0o700))
		write(t, filepath.Join(dir, v, "etc", "file"), v)
	}
	current := filepath.Join(dir, "current")
	must(t, os.Symlink(filepath.Join(dir, "one"), current))
	w := start(t, filepath.Join(current, "etc", "file"), never)
	w.want("one")
	must(t, os.Symlink("two", current+".next"))
	must(t, os.Rename(current+".next", current))
	w.want("two")
	write(t, filepath.Join(dir, "one", "etc", "file"), "elsewhere")
	w.quiet()
	write(t, filepath.Join(dir, "two", "etc", "file"), "three")
	w.want("three")
}

// TestMissing begins without file and directory, and loses them again.
func TestMissing(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	path := filepath.Join(dir, "file")
	w := start(t, path, never)
	if err := w.wantErr("no such file"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v is not fs.ErrNotExist", err)
	}
	must(t, os.MkdirAll(dir, 0o700))
	w.quiet()
	write(t, path, "one")
	w.want("one")
	must(t, os.Remove(path))
	w.wantErr("no such file")
	write(t, path, "one")
	w.want("one") // told again: the error has ended
	must(t, os.RemoveAll(filepath.Dir(dir)))
	w.wantErr("no such file")
}

func TestRelativePath(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	must(t, os.MkdirAll("there/below", 0o700))
	must(t, os.Symlink("there/below", "link"))
	write(t, "there/file", "one")
	w := start(t, "link/../file", never) // there/file, not file
	w.want("one")
	t.Chdir(t.TempDir())
	write(t, filepath.Join(dir, "there", "file"), "two")
	w.want("two")
}

func TestUnreadable(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		make func(t *testing.T, path string)
		want string
	}{
		{"too large", func(t *testing.T, path string) { write(t, path, strings.Repeat("x", MaxBytes+1)) }, "file has more than 1048576 bytes"},
		{"directory", func(t *testing.T, path string) { must(t, os.Mkdir(path, 0o700)) }, "is not a regular file but a directory"},
		{"pipe without a writer", func(t *testing.T, path string) { must(t, syscall.Mkfifo(path, 0o600)) }, "is not a regular file but a pipe"},
		{"device", func(t *testing.T, path string) { must(t, os.Symlink("/dev/zero", path)) }, "is not a regular file but a device"},
		{"links in a circle", func(t *testing.T, path string) { must(t, os.Symlink("file", path)) }, "too many levels of symbolic links"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "file")
			tt.make(t, path)
			w := start(t, path, never)
			w.wantErr(tt.want)
			must(t, os.Remove(path))
			largest := strings.Repeat("y", MaxBytes)
			write(t, path, largest)
			w.want(largest)
		})
	}
}

// noNotifier fails in each way in which the system can refuse notifications.
type noNotifier struct{ notifier }

func (noNotifier) Add(string) error { return syscall.ENOSPC }

func TestPolling(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		notify func() (notifier, error)
	}{
		{"no instance left", func() (notifier, error) { return nil, syscall.EMFILE }},
		{"no watch left", func() (notifier, error) {
			n, err := newNotifier()
			return noNotifier{n}, err
		}},
		{"notifications end", func() (notifier, error) {
			n, err := newNotifier()
			if err == nil {
				err = n.Close()
			}
			return n, err
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := configMap{t, t.TempDir()}
			c.publish("..1", "one")
			path := filepath.Join(c.dir, "file")
			must(t, os.Symlink("..data/file", path))
			w := startWith(t, follower{path: path, poll: 20 * time.Millisecond, notify: tt.notify})
			w.want("one")
			c.publish("..2", "two")
			w.want("two")
			replace(t, path, "three")
			w.want("three")
			must(t, os.Remove(path))
			w.wantErr("no such file")
			write(t, path, "three")
			w.want("three")
			w.quiet()
		})
	}
}

// TestHalfWrittenFileIsNotReported writes a file in pieces with pauses shorter than settle, for longer than settle. A machine that
// pauses the writer for longer gets another try.
func TestHalfWrittenFileIsNotReported(t *testing.T) {
	t.Parallel()
	var w *watched
	for tries := 1; ; tries++ {
		path := filepath.Join(t.TempDir(), "file")
		write(t, path, "one")
		w = start(t, path, never)
		w.want("one")
		longest := writeSlowly(t, path)
		if longest < settle {
			break
		}
		if tries == 20 {
			t.Fatalf("the machine paused the writer for %v in the last of %d tries", longest, tries)
		}
	}
	w.want(strings.Repeat("0123456789", 4))
	w.quiet()
}

// writeSlowly writes 40 digits into the file, one at a time, and returns the longest pause between two.
func writeSlowly(t *testing.T, path string) (longest time.Duration) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	must(t, err)
	before := time.Now()
	for i := range 40 {
		_, err := f.WriteString(strconv.Itoa(i % 10))
		must(t, err)
		time.Sleep(settle / 10)
		longest, before = max(longest, time.Since(before)), time.Now()
	}
	must(t, f.Close())
	return longest
}

// TestRestlessFile is rewritten without end. It is reported all the same.
func TestRestlessFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	write(t, path, "0")
	w := start(t, path, never)
	w.want("0")
	stop := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		for i := 1; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(settle / 10):
				if err := os.WriteFile(path+".next", []byte(strconv.Itoa(i)), 0o600); err == nil {
					_ = os.Rename(path+".next", path)
				}
			}
		}
	})
	defer running.Wait()
	defer close(stop)
	for range 2 {
		if c := w.next(); c.err != nil || c.content == "0" {
			t.Errorf("got %q, error %v", c.content, c.err)
		}
	}
}

// TestOverflow loses notifications: the file is looked at, and the watches are set up again.
func TestOverflow(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	write(t, path, "one")
	failing := make(chan error, 1)
	var made int
	w := startWith(t, follower{path: path, poll: never, notify: func() (notifier, error) {
		made++
		n, err := newNotifier()
		if made == 1 {
			return deaf{n, failing}, err
		}
		return n, err
	}})
	w.want("one")
	write(t, path, "two")
	w.quiet()
	failing <- errors.New("queue overflow")
	w.want("two")
	write(t, path, "three")
	w.want("three")
}

// deaf is a notifier that gives errors only.
type deaf struct {
	notifier
	errs chan error
}

func (d deaf) Add(string) error { return nil }

func (d deaf) channels() (<-chan fsnotify.Event, <-chan error) { return nil, d.errs }

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
