//go:build unix

package main

import (
	"io"
	"os/exec"
	"syscall"
)

// apart puts a command into a process group of its own, so that all that it
// starts ends with it. Not at a terminal: a group that is not the terminal's own
// cannot ask there for a password, and an interrupt from the keyboard reaches
// the whole pipeline anyway.
func apart(cmd *exec.Cmd, terminal func(io.Writer) bool) {
	if w, ok := cmd.Stdin.(io.Writer); ok && terminal(w) { // a file is one
		return
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// terminate asks a command, and its group if it has one, to end.
func terminate(cmd *exec.Cmd) { signalTo(cmd, syscall.SIGTERM) }

// kill ends them.
func kill(cmd *exec.Cmd) { signalTo(cmd, syscall.SIGKILL) }

func signalTo(cmd *exec.Cmd, s syscall.Signal) {
	if cmd.SysProcAttr != nil {
		_ = syscall.Kill(-cmd.Process.Pid, s) // all may have ended
		return
	}
	_ = cmd.Process.Signal(s)
}
