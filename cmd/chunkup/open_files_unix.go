//go:build unix

package main

import "syscall"

// openFiles is how many files and connections the process may have open.
func openFiles() int {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return enoughFiles // who is not told has no bound
	}
	return int(min(limit.Cur, enoughFiles))
}
