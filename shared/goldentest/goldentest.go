// Package goldentest compares what encoders write with golden files, for the tests of formats. A golden file is what some
// version wrote and every later one has to read: it is made once and never rewritten.
package goldentest

import (
	"bytes"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

var write = flag.Bool("write-golden", false, "write the golden files of a format version that are missing; existing ones are never rewritten")

// Read returns the golden file of that name under testdata. The test fails if an encoder has written other bytes. With the
// flag -write-golden, a file that is missing is made of them.
func Read(t testing.TB, name string, written []byte) []byte {
	t.Helper()
	path := filepath.Join("testdata", name)
	golden, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && *write {
		golden = written
		err = errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(path, written, 0o644))
	}
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(golden, written) {
		t.Errorf("%s: the encoder writes other bytes than the golden file", name)
	}
	return golden
}
