//go:build !linux

package harness

import "syscall"

// childAttr puts a child into its own process group, so that an interrupt typed at the terminal reaches only this
// process, which then stops its children in order.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
