//go:build !unix

package main

import (
	"io"
	"os/exec"
)

// apart does nothing: there are no process groups here.
func apart(*exec.Cmd, func(io.Writer) bool) {}

// terminate ends a command: there is no asking.
func terminate(cmd *exec.Cmd) { kill(cmd) }

// kill ends a command.
func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
