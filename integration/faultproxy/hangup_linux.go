package faultproxy

import (
	"context"

	"golang.org/x/sys/unix"
)

// awaitClose returns when the client has closed the connection, or it is
// closed on this side, without reading from it. A FIN that queues behind data
// for which the receive buffer has no room is not seen.
func (c *conn) awaitClose(context.Context) {
	raw, err := c.tcp.SyscallConn()
	if err != nil {
		return
	}
	// The poller wakes this at every arrival; an error means closed here. If
	// the request has been read to the end, the server is reading ahead and
	// this waits for its lock, which it gives up when the client closes.
	_ = raw.Read(func(fd uintptr) bool {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		n, err := unix.Poll(fds, 0)
		return err == nil && n > 0
	})
}
