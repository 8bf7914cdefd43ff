//go:build !linux

package child

import (
	"os/exec"
	"time"
)

func isolate(*exec.Cmd) {}

// killGroup kills the process alone. It may have ended already.
func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

func peak(int) int64 { return 0 }

// CPUOf is always 0: the system does not tell.
func CPUOf(int) time.Duration { return 0 }

// NewNetwork does nothing: only Linux has networks of one process.
func NewNetwork(*exec.Cmd) {}
