//go:build !linux

package integration

import "os/exec"

// isolate gives the command a network of its own, and tells whether it can.
func isolate(*exec.Cmd) bool { return false }
