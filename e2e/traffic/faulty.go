package traffic

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/zerohop/zerohop/e2e/harness"
)

// HeaderFault is the request header on which a faulty module breaks: FaultPanic is recovered, FaultTrap loses the VM, and
// FaultTrapIdle those that have never had a request, such as the main thread's.
const (
	HeaderFault   = "X-Zerohop-Fault"
	FaultPanic    = "panic"
	FaultTrap     = "trap"
	FaultTrapIdle = "trap-idle"
)

// faulty is the module with fault injection, built once per test process.
var faulty struct {
	sync.Once
	dir, module string
	err         error
}

// FaultyModule edits a bootstrap so that it takes the module with fault injection instead of the product.
func FaultyModule(bootstrap []byte) ([]byte, error) {
	tools, err := harness.FindTools()
	if err != nil {
		return nil, err
	}
	faulty.Do(func() { faulty.err = buildFaulty(tools.Root) })
	if faulty.err != nil {
		return nil, faulty.err
	}
	edited := bytes.ReplaceAll(bootstrap, []byte(tools.Module), []byte(faulty.module))
	if bytes.Equal(edited, bootstrap) {
		return nil, fmt.Errorf("the bootstrap does not name %s", tools.Module)
	}
	return edited, nil
}

func buildFaulty(root string) error {
	dir, err := os.MkdirTemp("", "zerohop-faulty-")
	if err != nil {
		return err
	}
	faulty.dir, faulty.module = dir, filepath.Join(dir, "zerohop.wasm")
	if err := harness.BuildModule(root, faulty.module, "./filter/module", "-tags=faultinject"); err != nil {
		return fmt.Errorf("with fault injection: %w", err)
	}
	return nil
}

// Main runs the tests of a package and removes what FaultyModule built.
func Main(m *testing.M) int {
	defer func() {
		if faulty.dir != "" {
			_ = os.RemoveAll(faulty.dir)
		}
	}()
	return m.Run()
}
