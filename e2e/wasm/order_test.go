package wasm

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/zerohop/zerohop/shared/plan"
)

// orderEnv has TestOrder write the file anew.
const orderEnv = "ZEROHOP_WRITE_ORDER"

const orderHead = `# The functions of the module that requests call, in the order in which they do, and then those of what comes now and then.
# build/postlink puts them side by side, so that a request finds them in few pages of memory. "make order" writes this file.
`

// TestOrder makes sure that filter/module/order.txt has what requests call. A few of the functions may have come later.
func TestOrder(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	each, some := called(t, root)
	path := filepath.Join(root, "filter", "module", "order.txt")
	if os.Getenv(orderEnv) != "" {
		text := orderHead + strings.Join(append(each, some...), "\n") + "\n"
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	listed := strings.Fields(string(text))
	missing := slices.DeleteFunc(each, func(name string) bool { return slices.Contains(listed, name) })
	if len(missing)*10 > len(each) {
		t.Errorf("%s lacks %d of %d functions, run make order: %q", path, len(missing), len(each), missing)
	}
	t.Logf("%d functions are called at least once for two requests, %d less often; %d are not in the file", len(each), len(some), len(missing))
}

// called returns the names of the functions of the module that are called at least once for every two requests, and of those that are
// called less often, ticks and requests to other workers included. Both are in the order of the first call.
func called(t *testing.T, root string) (each, some []string) {
	t.Helper()
	path, err := Build(root, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile(path + ".linked") // with the names
	if err != nil {
		t.Fatal(err)
	}
	calls := &calls{count: make(map[string]int)}
	b, err := compile(experimental.WithFunctionListenerFactory(context.Background(), calls), code)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	p := sharers(t, b.New, plan.SharingProcess)
	const rounds = 10
	for i := range 2 * rounds {
		calls.on = i >= rounds // the first ones start things
		sharingRound(t, p, i, 500*time.Microsecond)
	}
	calls.on = false
	if len(p.Faults) > 0 {
		t.Fatalf("faults: %q", p.Faults)
	}
	for _, name := range calls.names {
		if calls.count[name] >= rounds*sharingRequests/2 {
			each = append(each, name)
		} else {
			some = append(some, name)
		}
	}
	return each, some
}

// calls counts the calls of functions of a module.
type calls struct {
	on    bool
	names []string // of functions that were called, in the order of their first calls
	count map[string]int
}

// NewFunctionListener implements experimental.FunctionListenerFactory.
func (c *calls) NewFunctionListener(f api.FunctionDefinition) experimental.FunctionListener {
	if _, _, imported := f.Import(); imported || f.GoFunction() != nil {
		return nil
	}
	return experimental.FunctionListenerFunc(func(_ context.Context, _ api.Module, f api.FunctionDefinition, _ []uint64, _ experimental.StackIterator) {
		if !c.on {
			return
		}
		if c.count[f.Name()]++; c.count[f.Name()] == 1 {
			c.names = append(c.names, f.Name())
		}
	})
}

// TestOrdered makes sure that the functions are where the file has them.
func TestOrdered(t *testing.T) {
	first := module.compiled.ExportedFunctions()["proxy_on_context_create"]
	last := module.compiled.ExportedFunctions()["_initialize"] // of no request
	if n := bytes.Count(orderFile(t), []byte("\n")); int(first.Index()) > n || int(last.Index()) < n {
		t.Errorf("of the %d functions that the file names, one is number %d; one that it does not name is number %d", n, first.Index(), last.Index())
	}
}

func orderFile(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "filter", "module", "order.txt"))
	if err != nil {
		t.Fatal(err)
	}
	return text
}
