package chunker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
)

// maxEmptyReads is how many reads in a row may bring neither data nor an error.
const maxEmptyReads = 1000

var (
	errLeft     = errors.New("left while the reader was at work")
	errBadCount = errors.New("the reader returned a count that is impossible")
)

// PanicError says that a reader panicked, or ended its goroutine, while the
// stream was read. The panic goes no further.
type PanicError struct {
	Value any    // of the panic; nil if there was none and the goroutine ended
	Stack []byte // where it was
}

// Error says what the panic was, without the stack.
func (e *PanicError) Error() string {
	if e.Value == nil {
		return "the reader ended its goroutine"
	}
	return fmt.Sprintf("the reader panicked: %v", e.Value)
}

// Unwrap returns the value of the panic if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// source reads a stream in goroutines of its own, so that a reader that blocks
// can be left.
type source struct {
	r     io.Reader
	reads chan filled       // unbuffered: a read is either taken or left
	alive context.Context   // done once the source is left
	leave func(cause error) // context.CancelCauseFunc of alive
}

// filled is what a goroutine has read.
type filled struct {
	n   int
	err error
}

// newSource returns the source that reads r.
func newSource(r io.Reader) *source {
	s := &source{r: r, reads: make(chan filled)}
	s.alive, s.leave = context.WithCancelCause(context.Background())
	return s
}

// until returns ctx, which ends when the source is left as well.
func (s *source) until(ctx context.Context) (context.Context, func()) {
	if s.alive.Err() != nil {
		return s.alive, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.alive, func() { cancel(context.Cause(s.alive)) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// fill fills buf, unless the reader has an error before, io.EOF included. When
// ctx ends first, the source is left and the error errLeft: buf is then in use
// until done is called, if ever.
func (s *source) fill(ctx context.Context, buf []byte, done func()) (int, error) {
	go s.run(buf, done)
	select {
	case f := <-s.reads:
		return f.n, f.err
	case <-ctx.Done():
		s.leave(context.Cause(ctx))
		return 0, errLeft
	}
}

// run fills buf and hands over the outcome, or calls done if nobody waits.
func (s *source) run(buf []byte, done func()) {
	f, returned := filled{}, false
	// Deferred, because a reader may end the goroutine.
	defer func() {
		if !returned {
			f = filled{err: &PanicError{Value: recover(), Stack: debug.Stack()}}
		}
		select {
		case s.reads <- f:
		case <-s.alive.Done():
			done()
		}
	}()
	f.n, f.err = readFull(s.r, buf)
	returned = true
}

// readFull fills buf from r. Unlike io.ReadFull it returns the error of r as it
// is, io.EOF even after some bytes, and believes no impossible count.
func readFull(r io.Reader, buf []byte) (n int, err error) {
	for empty := 0; n < len(buf) && err == nil; {
		var read int
		read, err = r.Read(buf[n:])
		if read < 0 || read > len(buf)-n {
			return n, fmt.Errorf("%w: %d of %d bytes", errBadCount, read, len(buf)-n)
		}
		n += read
		if empty++; read > 0 {
			empty = 0
		}
		if empty >= maxEmptyReads && err == nil {
			err = io.ErrNoProgress
		}
	}
	return n, err
}
