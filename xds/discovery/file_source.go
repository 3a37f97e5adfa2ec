package discovery

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/zerohop/zerohop/xds/watch"
)

// NewFile returns a source that reads an endpoint file (see [ParseFile]), once or, with follow, whenever its content changes.
//
// A file that is missing, too large or invalid is refused as a whole: Err names every problem and the last list stays in
// force. The EPP skips an invalid entry and loads the others; here a slip in one entry would then drain an endpoint that
// serves.
func NewFile(path string, follow bool, log *slog.Logger) Source {
	return &file{path: path, follow: follow, log: log}
}

type file struct {
	path   string
	follow bool
	log    *slog.Logger
}

func (f *file) String() string { return "the endpoint file " + f.path }

func (f *file) Run(ctx context.Context, update func(Update)) {
	t := teller{update: update}
	if f.follow {
		watch.File(ctx, f.path, func(content []byte, err error) { t.tell(f.read(content, err)) })
		return
	}
	t.tell(f.read(watch.Read(f.path)))
	<-ctx.Done()
}

// read turns the file's content, or why there is none, into an update.
func (f *file) read(content []byte, err error) Update {
	if err != nil {
		return Update{Err: fmt.Errorf("read endpoint file: %w", err)}
	}
	eps, err := ParseFile(content)
	if err != nil {
		return Update{Err: fmt.Errorf("endpoint file %s: %w", f.path, err)}
	}
	f.log.Info("endpoint file is read", "path", f.path, "endpoints", len(eps))
	return Update{Endpoints: eps}
}
