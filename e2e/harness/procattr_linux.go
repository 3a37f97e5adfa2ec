package harness

import "syscall"

// childAttr puts a child into its own process group, so that an interrupt typed at the terminal reaches only this
// process, which then stops its children in order; and ties the child's life to this process.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
