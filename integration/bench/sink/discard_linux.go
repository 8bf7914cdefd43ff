package sink

import (
	"io"
	"net"

	"golang.org/x/sys/unix"
)

// dropper lets the kernel drop up to n bytes of a TCP connection without copying
// them: MSG_TRUNC of tcp(7).
func dropper(tcp *net.TCPConn) func(n int) (int, error) {
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	return func(n int) (int, error) {
		var got uintptr
		var errno unix.Errno
		err := raw.Read(func(fd uintptr) bool {
			for {
				got, _, errno = unix.Syscall6(unix.SYS_RECVFROM, fd, 0, uintptr(n), unix.MSG_TRUNC, 0, 0)
				if errno != unix.EINTR {
					return errno != unix.EAGAIN
				}
			}
		})
		switch {
		case err != nil:
			return 0, err
		case errno != 0:
			return 0, errno
		case got == 0:
			return 0, io.EOF
		}
		return int(got), nil
	}
}
