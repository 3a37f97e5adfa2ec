package watch

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fsnotify/fsnotify"
)

// maxLinks bounds the symbolic links of a path, as the kernel does.
const maxLinks = 40

// notifier tells of changes of the names in directories.
type notifier interface {
	Add(dir string) error
	Close() error
	channels() (<-chan fsnotify.Event, <-chan error)
}

type systemNotifier struct{ *fsnotify.Watcher }

func newNotifier() (notifier, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	return systemNotifier{w}, nil
}

func (n systemNotifier) channels() (<-chan fsnotify.Event, <-chan error) { return n.Events, n.Errors }

// trail watches every name that opening a path looks up: the file, the directories on the way and the links. What cannot be
// watched, such as a directory that must not be read, is left to polling.
type trail struct {
	path    string // absolute
	notify  func() (notifier, error)
	names   []string // absolute, in the order of the look-up
	watcher notifier // nil without notifications
}

// follow sets up the watches. Whatever happens after it has returned gives an event; whoever calls it has to look
// at the file afterwards.
//
// All watches are made anew: a watch belongs to a directory, not to its name, and a directory that is replaced may even get
// the old one's inode number, so that watches which are still good cannot be told from others.
func (t *trail) follow() {
	for range maxLinks { // until no link was turned meanwhile
		t.close()
		t.names = lookups(t.path)
		w, err := t.notify()
		if err != nil {
			return
		}
		t.watcher = w
		var dirs []string
		for _, name := range t.names {
			if dir := filepath.Dir(name); !slices.Contains(dirs, dir) {
				dirs = append(dirs, dir)
				_ = w.Add(dir)
			}
		}
		if t.current() {
			return
		}
	}
}

// current says whether the path still leads over the same names.
func (t *trail) current() bool { return slices.Equal(t.names, lookups(t.path)) }

func (t *trail) close() {
	if t.watcher != nil {
		_ = t.watcher.Close()
		t.watcher = nil
	}
}

func (t *trail) events() <-chan fsnotify.Event {
	if t.watcher == nil {
		return nil
	}
	events, _ := t.watcher.channels()
	return events
}

func (t *trail) errors() <-chan error {
	if t.watcher == nil {
		return nil
	}
	_, errs := t.watcher.channels()
	return errs
}

// concerned says whether an event may have changed the file. One that may have changed the way to it sets up the watches
// again.
func (t *trail) concerned(e fsnotify.Event, ok bool) bool {
	if !ok { // the watcher has died
		t.close()
		return true
	}
	if !slices.Contains(t.names, filepath.Clean(e.Name)) {
		return false
	}
	if e.Op.Has(fsnotify.Create) || e.Op.Has(fsnotify.Remove) || e.Op.Has(fsnotify.Rename) {
		t.follow()
	}
	return true
}

// lookups returns the name of everything that opening the absolute path looks up, as far as it exists, and the first that
// does not. The parent of each is a directory without links.
func lookups(path string) []string {
	var names []string
	dir, rest, links := "/", strings.Split(path, "/"), 0
	for len(rest) > 0 {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			dir = filepath.Dir(dir)
			continue
		}
		name := filepath.Join(dir, part)
		names = append(names, name)
		info, err := os.Lstat(name)
		if err != nil {
			break
		}
		if info.Mode()&os.ModeSymlink == 0 {
			dir = name
			continue
		}
		target, err := os.Readlink(name)
		if links++; err != nil || links > maxLinks {
			break
		}
		if filepath.IsAbs(target) {
			dir = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return names
}
