package wire

import (
	"io"
	"os"
)

// sendFileSize is how much the kernel is asked to send at once: little enough that
// progress is told often, and that its last byte speaks for the rest being in memory.
const sendFileSize = 128 << 10

// inFile is a source whose bytes lie in a file.
type inFile interface {
	// File returns the file, the offset of the next byte in it, and how many there
	// are from there on; or nil.
	File() (file *os.File, offset, left int64)
	// Skip passes n bytes over, which were sent from the file.
	Skip(n int64)
}

// sendFile lets the kernel send what comes next in r, which spares two copies, and
// returns how many bytes it sent. With 0 they have to be read and written: they lie
// in no file, or the file not in memory, or something failed, which the read or the
// write will tell of.
func (c *conn) sendFile(r io.Reader) int64 {
	limited, ok := r.(*io.LimitedReader)
	if !ok || c.held > 0 || !c.counts() {
		return 0
	}
	b, ok := limited.R.(*body)
	if !ok {
		return 0
	}
	source, ok := b.source.(inFile)
	if !ok {
		return 0
	}
	n := b.sendTo(c.raw, source, min(limited.N, sendFileSize))
	limited.N -= n
	return n
}

// sent notes that n bytes of the body went to the connection unread. The caller holds
// the lock.
func (b *body) sent(source inFile, n int64) {
	source.Skip(n)
	b.left -= n
	b.watch.sent(n)
	if b.progress != nil {
		b.progress(int(n))
	}
}
