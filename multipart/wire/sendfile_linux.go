package wire

import (
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
	file, offset := source.File()
	size := int(min(most, b.left))
	if file == nil || b.ended || size == 0 {
		return 0, true
	}
	from, err := file.SyscallConn()
	if err != nil {
		return 0, true
	}
	from.Control(func(fd uintptr) {
		if inMemory(int(fd), offset+int64(size)-1) {
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

// inMemory reports that the byte at offset can be had at once. What has to come from a
// disk is read, since the clocks of an attempt stand still meanwhile: nobody could
// tell a slow disk from a slow link while the kernel waits for both.
//
// RWF_NOWAIT asks without waiting (preadv2(2), Linux 4.14). What lies in tmpfs, which
// does not know the question, is in memory always.
func inMemory(fd int, offset int64) bool {
	var one [1]byte
	n, err := unix.Preadv2(fd, [][]byte{one[:]}, offset, unix.RWF_NOWAIT)
	if err == unix.EOPNOTSUPP {
		var of unix.Statfs_t
		return unix.Fstatfs(fd, &of) == nil && of.Type == unix.TMPFS_MAGIC
	}
	return n == 1
}
