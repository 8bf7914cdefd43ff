package wire

import (
	"math"
	"syscall"

	"golang.org/x/sys/unix"
)

// sendTo sends at most so many bytes of the body from its file over raw, as soon as
// there is room for any, and returns how many it sent.
func (b *body) sendTo(raw syscall.RawConn, source inFile, most int64) (n int64) {
	raw.Write(func(socket uintptr) (done bool) {
		n, done = b.trySendTo(int(socket), source, most)
		return done
	})
	return n
}

// trySendTo does not wait for room: done is false if there was none. So end, which
// waits for it, does not wait for the other side.
func (b *body) trySendTo(socket int, source inFile, most int64) (n int64, done bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return 0, true
	}
	file, offset, left := source.File()
	size := int(min(most, b.left, left))
	if file == nil || size == 0 || offset < b.readTo {
		return 0, true
	}
	from, err := file.SyscallConn()
	if err != nil {
		return 0, true
	}
	from.Control(func(fd uintptr) {
		if b.readTo = firstToSend(int(fd), offset, offset+int64(size)); b.readTo == offset {
			var sent int
			sent, err = unix.Sendfile(socket, int(fd), &offset, size)
			n = int64(max(sent, 0))
		}
	})
	if n > 0 {
		b.sent(source, n)
	}
	return n, err != unix.EAGAIN
}

// firstToSend returns the offset from which on a file may be sent unread: from, when
// the byte before to can be had at once, which then speaks for those between; else to,
// for the question makes the kernel fetch that byte, and to ask for it again would
// prove nothing. What has to come from a disk is read, since the clocks of an attempt
// stand still meanwhile: nobody could tell a slow disk from a slow link while the
// kernel waits for both.
//
// RWF_NOWAIT asks without waiting (preadv2(2), Linux 4.14). Where it is not known, as
// on overlayfs and NFS, all is read; but tmpfs is in memory.
func firstToSend(fd int, from, to int64) int64 {
	var one [1]byte
	n, err := unix.Preadv2(fd, [][]byte{one[:]}, to-1, unix.RWF_NOWAIT)
	var of unix.Statfs_t
	switch {
	case n == 1:
		return from
	case err != unix.EOPNOTSUPP:
		return to
	case unix.Fstatfs(fd, &of) == nil && of.Type == unix.TMPFS_MAGIC:
		return from
	}
	return math.MaxInt64
}
