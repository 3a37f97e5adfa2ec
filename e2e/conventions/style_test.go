package conventions

import (
	"bytes"
	"go/ast"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Sizes at which files and functions of production code stop, in lines.
const (
	maxFile     = 500
	maxFunction = 80
)

func TestSizes(t *testing.T) {
	for _, f := range repository(t).goFiles() {
		if f.test || ast.IsGenerated(f.ast) {
			continue
		}
		if f.lines > maxFile {
			t.Errorf("%s has %d lines, more than %d: split it by idea", f.path, f.lines, maxFile)
		}
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := f.fset.Position(fn.End()).Line - f.line(fn) + 1; n > maxFunction {
				t.Errorf("%s:%d: %s has %d lines, more than %d", f.path, f.line(fn), fn.Name.Name, n, maxFunction)
			}
		}
	}
}

func TestFileNames(t *testing.T) {
	valid := regexp.MustCompile(`^[a-z0-9_]+\.go$`)
	for _, f := range repository(t).goFiles() {
		if base := strings.TrimPrefix(f.path, f.dir+"/"); !valid.MatchString(base) {
			t.Errorf("%s: Go file names are lower case with underscores", f.path)
		}
	}
}

// TestPackageDocs wants one doc comment per package, which begins as godoc expects.
func TestPackageDocs(t *testing.T) {
	docs := map[string][]string{} // package folder: files with a doc comment
	for _, f := range repository(t).goFiles() {
		if f.test {
			continue
		}
		if _, ok := docs[f.dir]; !ok {
			docs[f.dir] = nil
		}
		if f.ast.Doc.Text() == "" {
			continue
		}
		docs[f.dir] = append(docs[f.dir], f.path)
		want := "Package " + f.ast.Name.Name + " "
		if f.ast.Name.Name == "main" {
			want = "Command "
		}
		if !strings.HasPrefix(f.ast.Doc.Text(), want) {
			t.Errorf("%s: the package comment must begin with %q", f.path, want)
		}
	}
	for dir, files := range docs {
		if len(files) != 1 {
			t.Errorf("package %s has %d doc comments, want 1: %s", dir, len(files), strings.Join(files, ", "))
		}
	}
}

// pluginHeadings are the sections of every plugin's README, in this order.
var pluginHeadings = []string{
	"What it prefers and why", "Formula", "Inputs", "Parameters", "Failure behaviour", "Example",
}

// TestPlugins wants in each folder that exports a plugin's Spec a README with the same sections, and in the registry a line
// for it.
func TestPlugins(t *testing.T) {
	tr := repository(t)
	var plugins, registered []string
	for _, f := range tr.goFiles() {
		switch {
		case f.test || !within(f.dir, "scorers"):
		case f.dir == "scorers/registry":
			registered = append(registered, f.imports()...)
		case declaresSpec(f.ast):
			plugins = append(plugins, f.dir)
		}
	}
	if len(plugins) == 0 {
		t.Fatal("no plugin found: which folder of scorers/ exports Spec?")
	}
	for _, dir := range plugins {
		t.Run(dir, func(t *testing.T) {
			if !slices.Contains(registered, module+"/"+dir) {
				t.Errorf("scorers/registry does not import %s", dir)
			}
			text, ok := tr.text[dir+"/README.md"]
			if !ok {
				t.Fatalf("%s has no README.md", dir)
			}
			var got []string
			for line := range strings.Lines(string(text)) {
				if heading, ok := strings.CutPrefix(line, "## "); ok {
					got = append(got, strings.TrimSpace(heading))
				}
			}
			if diff := cmp.Diff(pluginHeadings, got); diff != "" {
				t.Errorf("headings of level two (-want +got):\n%s", diff)
			}
		})
	}
}

// declaresSpec reports whether the file has the exported variable Spec.
func declaresSpec(f *ast.File) bool {
	for _, d := range f.Decls {
		gen, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, s := range gen.Specs {
			v, ok := s.(*ast.ValueSpec)
			if ok && slices.ContainsFunc(v.Names, func(n *ast.Ident) bool { return n.Name == "Spec" }) {
				return true
			}
		}
	}
	return false
}

// TestNoMachineNames keeps paths of one machine, package registries, unfinished work and gaps out of the repository. The patterns
// are written in pieces, so that this file does not match itself.
func TestNoMachineNames(t *testing.T) {
	patterns := []struct {
		name string
		re   *regexp.Regexp
	}{
		{"a path of one machine", regexp.MustCompile(`(^|[^\w.$})-])/(` + `work|root|Users|home/\w+` + `)/`)},
		{"a package registry", regexp.MustCompile(`(proxy|sum)\.golang` + `\.org|registry\.npm` + `js\.org|pypi` + `\.org|pythonhosted` + `\.org|deb\.debian` + `\.org|snapshot\.debian` + `\.org`)},
		{"unfinished work", regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`)},
		{"a place to fill in", regexp.MustCompile(`@` + `@`)},
	}
	tr := repository(t)
	for _, name := range slices.Sorted(maps.Keys(tr.text)) {
		text := tr.text[name]
		if name == "go.sum" || strings.HasSuffix(name, "/go.sum") {
			continue
		}
		for i, line := range bytes.Split(text, []byte("\n")) {
			for _, p := range patterns {
				if m := p.re.Find(line); m != nil {
					t.Errorf("%s:%d: %q is %s", name, i+1, m, p.name)
				}
			}
		}
	}
}
