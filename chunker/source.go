package chunker

import "io"

// Source is bytes of a known size. Its methods are safe for many goroutines at
// once.
type Source interface {
	// ReadAt reads at any offset below Size, as io.ReaderAt says.
	io.ReaderAt
	// Size returns the number of bytes. It never changes, even if what is behind
	// the source does.
	Size() int64
	// Changed returns nil if the source still has the bytes that it was opened
	// with, as far as that can be told without reading them, and a *ChangedError
	// if it may not. Any other error means that the question has no answer.
	Changed() error
}

// NewReaderAt returns a source of the first size bytes of r, for memory and for
// what else is known not to change: its Changed is always nil. As many
// goroutines may use it as may use r. A negative size is refused by [NewPlan].
func NewReaderAt(r io.ReaderAt, size int64) Source {
	return fixed{io.NewSectionReader(r, 0, size)}
}

// fixed hides what else a section can do: its Read and Seek have a position that
// goroutines would share.
type fixed struct{ section *io.SectionReader }

func (f fixed) ReadAt(b []byte, off int64) (int, error) { return f.section.ReadAt(b, off) }
func (f fixed) Size() int64                             { return f.section.Size() }
func (f fixed) Changed() error                          { return nil }
