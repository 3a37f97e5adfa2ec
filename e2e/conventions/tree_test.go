package conventions

import (
	"bytes"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// module is the path of this module, as in go.mod.
const module = "github.com/zerohop/zerohop"

// largeFile is the size from which a file is data that nobody reads line by line.
const largeFile = 1 << 20

// tree is everything in the repository that git would track: slash-separated paths from the root.
type tree struct {
	text   map[string][]byte // small text files by path
	source map[string]*goFile
}

// goFile is one parsed Go file.
type goFile struct {
	path  string
	dir   string
	test  bool // _test.go
	lines int
	ast   *ast.File
	fset  *token.FileSet
}

// imports returns the import paths of the file.
func (f *goFile) imports() []string {
	var out []string
	for _, spec := range f.ast.Imports {
		out = append(out, strings.Trim(spec.Path.Value, "\"`"))
	}
	return out
}

// line returns the line number of a node.
func (f *goFile) line(n ast.Node) int { return f.fset.Position(n.Pos()).Line }

// load reads the tree once for all tests.
var load = sync.OnceValues(func() (*tree, error) {
	root, err := findRoot()
	if err != nil {
		return nil, err
	}
	t := &tree{text: map[string][]byte{}, source: map[string]*goFile{}}
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if ignored(rel) {
				return filepath.SkipDir
			}
			return nil
		}
		return t.add(name, rel)
	})
	return t, err
})

func repository(t *testing.T) *tree {
	t.Helper()
	tr, err := load()
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// goFiles returns all Go files in the order of their paths.
func (t *tree) goFiles() []*goFile {
	return slices.SortedFunc(maps.Values(t.source), func(a, b *goFile) int { return strings.Compare(a.path, b.path) })
}

// ignored says which folders .gitignore keeps out of the repository.
func ignored(dir string) bool {
	switch path.Base(dir) {
	case ".git", ".venv", "__pycache__":
		return true
	}
	return dir == "build/out"
}

func (t *tree) add(name, rel string) error {
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > largeFile {
		return err
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if bytes.IndexByte(b, 0) >= 0 {
		return nil // binary
	}
	t.text[rel] = b
	if path.Ext(rel) != ".go" {
		return nil
	}
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, rel, b, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	t.source[rel] = &goFile{
		path:  rel,
		dir:   path.Dir(rel),
		test:  strings.HasSuffix(rel, "_test.go"),
		lines: bytes.Count(b, []byte("\n")),
		ast:   parsed,
		fset:  fset,
	}
	return nil
}

// findRoot returns the folder with go.mod above the working directory.
func findRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("find the root: no go.mod above the working directory")
		}
		dir = parent
	}
}

// within reports whether dir is the folder parent or below it.
func within(dir, parent string) bool { return dir == parent || strings.HasPrefix(dir, parent+"/") }
