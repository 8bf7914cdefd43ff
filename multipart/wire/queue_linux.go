package wire

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// queueOf asks for the bytes in the send queue, sent or not, that have not been
// acknowledged: what was written less TCP_INFO's bytes_acked (tcp(7),
// SIOCOUTQ).
func queueOf(raw syscall.RawConn) (int64, bool) {
	var n uint32
	var err error
	if raw.Control(func(fd uintptr) { n, err = unix.IoctlGetUint32(int(fd), unix.SIOCOUTQ) }) != nil {
		return 0, false
	}
	return int64(n), err == nil
}

// boundUnsent makes a write wait while more than n bytes are queued that have
// not been sent once. Without it (before Linux 3.12) the queue is only larger.
func boundUnsent(raw syscall.RawConn, n int) {
	raw.Control(func(fd uintptr) {
		unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, n)
	})
}

// setUserTimeout is the kernel's own bound on unacknowledged bytes: a backstop
// to the stall clock, so its failure is none.
func setUserTimeout(raw syscall.RawConn, d time.Duration) {
	const most = 1 << 30 // milliseconds; the option is an int
	raw.Control(func(fd uintptr) {
		unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(min(d.Milliseconds(), most)))
	})
}
