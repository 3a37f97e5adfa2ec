package conventions

import (
	"go/ast"
	"regexp"
	"testing"
)

// TestSkips wants tests to skip themselves with -short only, and "make test" and CI to run without it: what is skipped otherwise would
// be missed by nobody. In rapid a skip ends an action, not the test.
func TestSkips(t *testing.T) {
	tr := repository(t)
	found := 0
	for _, f := range tr.goFiles() {
		var path []ast.Node // from the file to n
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if n == nil {
				path = path[:len(path)-1]
				return true
			}
			path = append(path, n)
			call, ok := n.(*ast.CallExpr)
			if !ok || !f.test {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || !regexp.MustCompile(`^Skip(f|Now)?$`).MatchString(sel.Sel.Name) || ofRapid(sel.X, path) {
				return true
			}
			if found++; !ifShort(path) {
				t.Errorf("%s:%d: a test skips itself only if testing.Short() is true", f.path, f.line(call))
			}
			return true
		})
	}
	if found == 0 {
		t.Error("no skip was found")
	}
	for _, name := range []string{"Makefile", ".ci/run"} {
		switch text, ok := tr.text[name]; {
		case !ok:
			t.Errorf("there is no %s", name)
		case regexp.MustCompile(`go\)? test.*-(test\.)?short`).Match(text):
			t.Errorf("%s has tests skip themselves", name)
		}
	}
}

// ifShort reports whether the innermost if of path has testing.Short() as its condition, and a body that path goes through.
func ifShort(path []ast.Node) bool {
	for i := len(path) - 1; i >= 0; i-- {
		statement, ok := path[i].(*ast.IfStmt)
		if !ok {
			continue
		}
		call, ok := statement.Cond.(*ast.CallExpr)
		return ok && isSelector(call.Fun, "testing", "Short") && path[i+1] == statement.Body
	}
	return false
}

// ofRapid reports whether x is a parameter of the type *rapid.T.
func ofRapid(x ast.Expr, path []ast.Node) bool {
	id, ok := x.(*ast.Ident)
	if !ok {
		return false
	}
	for i := len(path) - 1; i >= 0; i-- {
		var params *ast.FieldList
		switch fn := path[i].(type) {
		case *ast.FuncLit:
			params = fn.Type.Params
		case *ast.FuncDecl:
			params = fn.Type.Params
		default:
			continue
		}
		for _, p := range params.List {
			for _, name := range p.Names {
				if name.Name == id.Name {
					star, ok := p.Type.(*ast.StarExpr)
					return ok && isSelector(star.X, "rapid", "T")
				}
			}
		}
	}
	return false
}

func isSelector(x ast.Expr, pkg, name string) bool {
	sel, ok := x.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != name {
		return false
	}
	id, ok := sel.X.(*ast.Ident)
	return ok && id.Name == pkg
}
