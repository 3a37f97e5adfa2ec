package conventions

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

const (
	xxhash   = "github.com/cespare/xxhash/v2"
	sdkTypes = "github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"
)

// layers says what the packages of each top-level folder may import beside the standard library and, of this module,
// which folders. Tests may import more.
var layers = map[string]struct {
	own      []string // folders of this module
	external []string // other modules' packages; nil allows all
	linked   bool     // linked into the Wasm module: heavy parts of the standard library are forbidden
}{
	"shared":  {own: []string{"shared"}, external: []string{xxhash}, linked: true},
	"scorers": {own: []string{"shared", "scorers"}, external: []string{xxhash}, linked: true},
	"filter":  {own: []string{"shared", "scorers", "filter"}, external: []string{xxhash, sdkTypes}, linked: true},
	"xds":     {own: []string{"shared", "scorers", "xds"}},
	"build":   {own: []string{"build"}},
	"e2e":     {own: []string{"shared", "scorers", "filter", "xds", "build", "e2e"}},
}

// heavy are the packages of the standard library, with all below them, that code of the Wasm module does without. The
// module's size and the missing system calls of a proxy are the reasons; randomness is passed in.
var heavy = []string{
	"crypto", "database", "debug", "embed", "encoding/asn1", "encoding/csv", "encoding/gob", "encoding/json", "encoding/xml",
	"expvar", "flag", "fmt", "go", "html", "image", "io/fs", "io/ioutil", "log", "math/big", "math/rand", "mime", "net", "os",
	"path/filepath", "plugin", "reflect", "regexp", "syscall", "testing", "text",
}

func isHeavy(pkg string) bool {
	return slices.ContainsFunc(heavy, func(h string) bool { return within(pkg, h) })
}

func isStd(pkg string) bool {
	first, _, _ := strings.Cut(pkg, "/")
	return !strings.Contains(first, ".")
}

// support reports whether a package is test support, named after what it supports as in net/http/httptest. Production code
// does not import it, and for its own imports it counts as a test.
func support(pkg string) bool { return strings.HasSuffix(pkg, "test") }

func TestImports(t *testing.T) {
	for _, f := range repository(t).goFiles() {
		top, _, _ := strings.Cut(f.dir, "/")
		layer, ok := layers[top]
		if f.test || support(f.dir) || !ok {
			continue
		}
		for _, pkg := range f.imports() {
			switch {
			case isStd(pkg):
				if layer.linked && isHeavy(pkg) {
					t.Errorf("%s imports %s, which is too heavy for the Wasm module", f.path, pkg)
				}
			case within(pkg, module):
				if support(pkg) {
					t.Errorf("%s imports %s, which is for tests", f.path, pkg)
				}
				folder, _, _ := strings.Cut(strings.TrimPrefix(pkg, module+"/"), "/")
				if !slices.Contains(layer.own, folder) {
					t.Errorf("%s imports %s: %s/ may import %s only", f.path, pkg, top, strings.Join(layer.own, ", "))
				}
			case layer.external != nil && !slices.Contains(layer.external, pkg):
				t.Errorf("%s imports %s: %s/ may import %s only", f.path, pkg, top, strings.Join(layer.external, ", "))
			}
		}
	}
}

// TestWasmDirectives keeps the host's functions in one package and the module's functions in two: all other production code
// runs in go test.
func TestWasmDirectives(t *testing.T) {
	allowed := map[string][]string{
		"//go:wasmimport": {"filter/abi"},
		"//go:wasmexport": {"filter/abi", "filter/module"},
	}
	for _, f := range repository(t).goFiles() {
		if within(f.dir, "e2e") {
			continue // modules of its own, such as the empty one of the benchmark
		}
		for _, group := range f.ast.Comments {
			for _, c := range group.List {
				directive, _, _ := strings.Cut(c.Text, " ")
				folders, ok := allowed[directive]
				if ok && !slices.ContainsFunc(folders, func(p string) bool { return within(f.dir, p) }) {
					t.Errorf("%s:%d: %s belongs into %s", f.path, f.line(c), directive, strings.Join(folders, " or "))
				}
			}
		}
	}
}

// TestDeterminism keeps clocks and goroutines out of the packages that also run in simulation: time and seeds are passed in,
// and in a proxy-wasm module a goroutine only runs while an export runs.
func TestDeterminism(t *testing.T) {
	clocks := []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}
	for _, f := range repository(t).goFiles() {
		if f.test || support(f.dir) || !within(f.dir, "shared") && !within(f.dir, "scorers") && !within(f.dir, "filter") {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				t.Errorf("%s:%d: starts a goroutine", f.path, f.line(n))
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(clocks, n.Sel.Name) {
					t.Errorf("%s:%d: time.%s: take the time as an argument", f.path, f.line(n), n.Sel.Name)
				}
			}
			return true
		})
	}
}
