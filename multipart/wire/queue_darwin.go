package wire

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// queueOf asks for the bytes in the send buffer; TCP keeps them there until
// they are acknowledged (setsockopt(2), SO_NWRITE).
func queueOf(raw syscall.RawConn) (int64, bool) {
	var n int
	var err error
	if raw.Control(func(fd uintptr) { n, err = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_NWRITE) }) != nil {
		return 0, false
	}
	return int64(n), err == nil
}

// boundUnsent makes a write wait while more than n bytes are queued that have
// not been sent once. Where that fails the queue is only larger.
func boundUnsent(raw syscall.RawConn, n int) {
	raw.Control(func(fd uintptr) {
		unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, n)
	})
}

// setUserTimeout does nothing: the system has no such option, and the stall
// clock does not need it.
func setUserTimeout(syscall.RawConn, time.Duration) {}
