//go:build !linux && !darwin

package wire

import (
	"syscall"
	"time"
)

// queueOf knows nothing: on this system a byte counts as sent when the
// connection has taken it.
func queueOf(syscall.RawConn) (int64, bool) { return 0, false }

// Without a queue there is nothing to bound; neither is ever called.
func boundUnsent(syscall.RawConn, int)              {}
func setUserTimeout(syscall.RawConn, time.Duration) {}
