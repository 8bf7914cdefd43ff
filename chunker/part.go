package chunker

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// Part is one piece of an object. The zero Part is empty.
type Part struct {
	Number int   // from 1, as stores count
	Offset int64 // of its first byte in the object
	Size   int64 // bytes
}

// Reader returns a reader of exactly this part of src, from its first byte.
// Every attempt to send a part takes a new one, so that none sends the rest of
// what another left.
func (p Part) Reader(src io.ReaderAt) *Reader {
	return &Reader{src: src, offset: p.Offset, left: p.Size}
}

// Reader reads one part. It buffers nothing: each Read is one ReadAt of the
// source. It is for one goroutine; readers of one source do not disturb each
// other. Make one with [Part.Reader].
type Reader struct {
	src    io.ReaderAt
	offset int64 // of the next byte, in the source
	left   int64 // bytes
}

// Read implements [io.Reader]. It returns io.EOF only after the whole part; when
// the source fails or ends before that, the error is a [*ReadError].
func (r *Reader) Read(b []byte) (int, error) {
	if r.left <= 0 {
		return 0, io.EOF
	}
	b = b[:min(int64(len(b)), r.left)]
	n, err := r.src.ReadAt(b, r.offset)
	r.offset += int64(n)
	r.left -= int64(n)
	if n == len(b) {
		// The source may say io.EOF together with its last bytes.
		return n, nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return n, &ReadError{Offset: r.offset, Err: err}
}

// File tells where the rest of the part lies, for a sender that lets the kernel send
// from a file without reading it, and then calls Skip: the file, the offset of the
// next byte in it, and the number of bytes from there to the end of the part. The file
// is nil when the source is not a [*File]. It belongs to the source: do not close it, and
// read it at offsets only.
func (r *Reader) File() (file *os.File, offset, left int64) {
	if source, ok := r.src.(*File); ok {
		return source.file, r.offset, r.left
	}
	return nil, 0, 0
}

// Skip passes over the next n bytes, or over what is left if that is less.
func (r *Reader) Skip(n int64) {
	n = min(max(n, 0), r.left)
	r.offset += n
	r.left -= n
}

// ReadError says that the bytes of a part could not be read from its source. It
// tells a failure of the local disk from one of the network, which no retry over
// the network would mend.
type ReadError struct {
	Offset int64 // of the first byte that was not read, in the source
	Err    error // io.ErrUnexpectedEOF when the source ended there, or the stream broke off

	stream bool // the source has no size that it could fall short of
}

// Error says where the source failed, and why.
func (e *ReadError) Error() string {
	if errors.Is(e.Err, io.ErrUnexpectedEOF) && !e.stream {
		return fmt.Sprintf("the source ended at byte %d, before its size at the start was reached: %v", e.Offset, e.Err)
	}
	return fmt.Sprintf("read the source at byte %d: %v", e.Offset, e.Err)
}

// Unwrap returns the cause.
func (e *ReadError) Unwrap() error { return e.Err }
