package discovery

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zerohop/zerohop/xds/watch"
)

// fileTest is a file source under test, on the real clock and file system.
type fileTest struct {
	t       *testing.T
	path    string
	updates chan Update
}

func startFile(t *testing.T, content string, follow bool) *fileTest {
	t.Helper()
	f := &fileTest{t: t, path: filepath.Join(t.TempDir(), "endpoints.yaml"), updates: make(chan Update, 100)}
	if content != "" {
		f.write(content)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { NewFile(f.path, follow, discardLog).Run(ctx, func(u Update) { f.updates <- u }) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return f
}

// write replaces the file.
func (f *fileTest) write(content string) {
	f.t.Helper()
	if err := os.WriteFile(f.path+".next", []byte(content), 0o600); err != nil {
		f.t.Fatal(err)
	}
	if err := os.Rename(f.path+".next", f.path); err != nil {
		f.t.Fatal(err)
	}
}

// want takes the next update.
func (f *fileTest) want(text string) {
	f.t.Helper()
	select {
	case u := <-f.updates:
		if got := strings.ReplaceAll(u.text(), f.path, "FILE"); got != text {
			f.t.Fatalf("got %q, want %q", got, text)
		}
	case <-time.After(10 * time.Second):
		f.t.Fatalf("no update, want %q", text)
	}
}

// wantErr takes the next update, which must bring an error with all parts.
func (f *fileTest) wantErr(parts ...string) {
	f.t.Helper()
	select {
	case u := <-f.updates:
		got := strings.ReplaceAll(u.text(), f.path, "FILE")
		for _, p := range append(parts, "err: ") {
			if !strings.Contains(got, p) {
				f.t.Errorf("%q lacks %q", got, p)
			}
		}
	case <-time.After(10 * time.Second):
		f.t.Fatalf("no update, want an error with %q", parts)
	}
}

func (f *fileTest) quiet() {
	f.t.Helper()
	select {
	case u := <-f.updates:
		f.t.Fatalf("an unexpected update: %s", u.text())
	case <-time.After(200 * time.Millisecond):
	}
}

const (
	fileA  = `endpoints: [{name: a, address: 10.0.0.1, port: "80"}]`
	fileAB = `endpoints: [{name: a, address: 10.0.0.1, port: "80"}, {name: b, address: 10.0.0.2, port: "80"}]`
)

func TestFileReload(t *testing.T) {
	t.Parallel()
	f := startFile(t, fileA, true)
	f.want("a@10.0.0.1:80")
	f.write(fileAB)
	f.want("a@10.0.0.1:80 b@10.0.0.2:80")
	f.write("# a comment\n" + fileAB)
	f.quiet()
	f.write(strings.ReplaceAll(fileAB, "10.0.0.2", "10.0.0.3")) // an address changes under the same name
	f.want("a@10.0.0.1:80 b@10.0.0.3:80")

	// One bad entry, one duplicate: both are named, nothing is taken over.
	f.write(`endpoints: [{name: a, address: 10.0.0.1, port: "80"}, {name: b, address: host, port: "80"}, {name: a, address: 10.0.0.1, port: "81"}]`)
	f.wantErr(`endpoints[1].address: "host" is not an IPv4 or IPv6 address`, "endpoints[2].name: default/a is already taken by endpoints[0]")
	f.write("endpoints: [")
	f.wantErr("endpoint file FILE: ")
	f.write("")
	f.wantErr("endpoints: is missing; write a list of {name, address, port}")
	if err := os.Remove(f.path); err != nil {
		t.Fatal(err)
	}
	f.want("err: read endpoint file: stat FILE: no such file or directory")
	f.write(strings.Repeat("#", watch.MaxBytes+1))
	f.want("err: read endpoint file: FILE has more than 1048576 bytes, the most that is read")
	f.write(fileAB)
	f.want("a@10.0.0.1:80 b@10.0.0.2:80")
	f.write("endpoints: []") // the operator says so
	f.want("")
}

func TestFileWithoutWatch(t *testing.T) {
	t.Parallel()
	f := startFile(t, fileA, false)
	f.want("a@10.0.0.1:80")
	f.write(fileAB)
	f.quiet()

	f = startFile(t, "", false)
	f.want("err: read endpoint file: stat FILE: no such file or directory")
}

func TestStatic(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	for _, list := range [][]Endpoint{nil, {endpoint("a", "10.0.0.1:80")}} {
		var got []string
		ended := make(chan struct{})
		updated := make(chan struct{})
		go func() {
			defer close(ended)
			Static(list).Run(ctx, func(u Update) {
				got = append(got, u.text())
				close(updated)
			})
		}()
		<-updated
		select {
		case <-ended:
			t.Error("the source has ended before its context")
		default:
		}
		if list != nil {
			cancel()
			<-ended
		}
		if want := (Update{Endpoints: append([]Endpoint{}, list...)}).text(); len(got) != 1 || got[0] != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	cancel()
}
