package wire

import (
	"errors"
	"io"
	"sync"
)

// errBodyEnded ends a read that comes after the attempt it was for. The
// transport goes on sending for a while when an answer overtakes the body.
var errBodyEnded = errors.New("wire: the attempt is over")

// body reads the source for the transport. The transport asks for more once
// the connection has accepted what it had; the last read is not proof that its
// bytes left.
type body struct {
	watch    *watch
	progress func(int)

	mu     sync.Mutex // held while the source is read, or sent unread
	source io.Reader
	left   int64
	readTo int64 // offset in the source's file before which it is not sent unread
	ended  bool
	err    error // what the source failed with
}

func (b *body) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.left == 0:
		return 0, io.EOF
	case b.ended:
		return 0, errBodyEnded
	}
	most := b.watch.reads()
	n, err := b.source.Read(p[:min(int64(len(p)), b.left, most)])
	b.watch.took(n)
	b.left -= int64(n)
	if n > 0 && b.progress != nil {
		b.progress(n)
	}
	if err == io.EOF && b.left > 0 {
		err = io.ErrUnexpectedEOF
	}
	if err != nil && err != io.EOF {
		b.err = err
	}
	return n, err
}

// Close does nothing: the source belongs to the caller.
func (b *body) Close() error { return nil }

// end waits for a read that is under way, lets no other begin, and returns
// what the source failed with.
func (b *body) end() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
	return b.err
}
