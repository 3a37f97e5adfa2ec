package conventions

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// modulePackage is the main package of the Wasm module.
const modulePackage = "./filter/module"

// linkedAnyway are heavy packages that come with something indispensable.
var linkedAnyway = map[string]string{
	"reflect": "encoding/binary, of which xxhash and the codecs use the byte orders only",
	"syscall": "time, of which the filter uses types only",
}

// TestLinkedPackages lists what the Go linker is given for the Wasm module: nothing heavy, directly or through others.
func TestLinkedPackages(t *testing.T) {
	root, err := findRoot()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "list", "-deps", modulePackage)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("list the packages of %s: %v\n%s", modulePackage, err, stderr.Bytes())
	}
	for pkg := range strings.FieldsSeq(string(out)) {
		if within(pkg, "internal") || within(pkg, "vendor") || strings.HasPrefix(pkg, "runtime/internal") {
			continue
		}
		if _, ok := linkedAnyway[pkg]; !ok && isStd(pkg) && isHeavy(pkg) {
			t.Errorf("the module links %s; see who imports it with: GOOS=wasip1 GOARCH=wasm go list -deps -f '{{.ImportPath}}: {{.Imports}}' %s", pkg, modulePackage)
		}
		if !isStd(pkg) && !within(pkg, module) && pkg != xxhash && pkg != sdkTypes {
			t.Errorf("the module links %s, which is not one of the two allowed foreign packages", pkg)
		}
	}
}
