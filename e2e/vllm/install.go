package vllm

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/zerohop/zerohop/e2e/harness"
)

// Installation is a folder with a Python environment that has vLLM, and the model that the servers load.
type Installation struct {
	scripts string // e2e/vllm of the repository
	folder  string // build/out/vllm of the repository
}

// Install makes sure that vLLM and the model are installed. It takes about 20 s and the network the first time, a
// third of a second and no network when nothing changed. Parallel calls wait for each other.
func Install(ctx context.Context) (Installation, error) {
	root, err := harness.Root()
	if err != nil {
		return Installation{}, err
	}
	in := Installation{
		scripts: filepath.Join(root, "e2e", "vllm"),
		folder:  filepath.Join(root, "build", "out", "vllm"),
	}
	var output bytes.Buffer
	cmd := exec.CommandContext(ctx, "bash", filepath.Join(in.scripts, "install.sh"), in.folder)
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that what the script has started ends with it
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	if err := cmd.Run(); err != nil {
		return Installation{}, fmt.Errorf("install vLLM: %w\n%s", err, output.Bytes())
	}
	return in, nil
}

// Python returns a command that runs one of the scripts beside this package in the environment. It sees nothing of
// the caller's environment but PATH, so that neither proxies nor a home directory play a part.
func (in Installation) Python(script string, args ...string) *exec.Cmd {
	argv := append([]string{filepath.Join(in.scripts, script)}, args...)
	cmd := exec.Command(filepath.Join(in.folder, "venv", "bin", "python"), argv...)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + filepath.Join(in.folder, "home"), // vLLM keeps a cache there
		"PYTHONUNBUFFERED=1",
		"PYTHONFAULTHANDLER=1", // a crash in a kernel leaves a stack
	}
	return cmd
}
