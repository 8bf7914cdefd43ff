package walk

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
)

// ListError is what is wrong with an entry of a list, or with reading it.
type ListError struct {
	Line int // from 1; of a list with NULs, which entry
	Err  error
}

// Error names the line.
func (e *ListError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns what is wrong.
func (e *ListError) Unwrap() error { return e.Err }

// ErrNUL is in the *ListError of a line that holds a NUL byte, which no path does.
var ErrNUL = errors.New("it holds a NUL byte: are the entries separated by NULs, or is the text UTF-16?")

// ErrLong is in the *ListError of an entry longer than any system's paths.
var ErrLong = fmt.Errorf("it has more than %d bytes: are the entries separated otherwise?", maxEntry)

// maxEntry is more than a path can have anywhere: Windows' have up to 32,767 characters
// (https://learn.microsoft.com/windows/win32/fileio/maximum-file-path-limitation), of at
// most three bytes each.
const maxEntry = 128 << 10

// List reads names of sources as they come, one a line, or separated by NUL bytes (as
// "find -print0" writes them) if null is set. The last needs nothing after it; empty ones
// are passed over.
//
// A line may end in CR LF, and the first begin with a byte order mark: Windows writes such
// files. A name that ends in CR, or has a newline in it, thus needs NULs.
//
// An entry that cannot be a path is yielded as a *ListError and the list goes on after it;
// if reading fails, that is the last thing yielded, what was read of the entry is not, and
// the *ListError wraps the reader's error. The sequence can be used once.
func List(r io.Reader, null bool) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		in := bufio.NewReaderSize(r, maxEntry+1)
		for line := 1; ; line++ {
			entry, err := next(in, null)
			last := err != nil && !errors.Is(err, ErrLong)
			if err == nil || errors.Is(err, io.EOF) {
				entry, err = clean(entry, null, line == 1)
			}
			switch {
			case err != nil:
				if !yield("", &ListError{Line: line, Err: err}) {
					return
				}
			case len(entry) > 0 && !yield(string(entry), nil):
				return
			}
			if last {
				return
			}
		}
	}
}

// next reads an entry up to its separator or io.EOF, or past one that is too long.
func next(in *bufio.Reader, null bool) ([]byte, error) {
	separator := byte('\n')
	if null {
		separator = 0
	}
	entry, err := in.ReadSlice(separator)
	if !errors.Is(err, bufio.ErrBufferFull) {
		return bytes.TrimSuffix(entry, []byte{separator}), err
	}
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = in.ReadSlice(separator)
	}
	if err == nil || errors.Is(err, io.EOF) {
		return nil, ErrLong
	}
	return nil, err
}

// clean takes off an entry what Windows puts around a line.
func clean(entry []byte, null, first bool) ([]byte, error) {
	if null {
		return entry, nil
	}
	if first {
		entry = bytes.TrimPrefix(entry, []byte("\xEF\xBB\xBF"))
	}
	if bytes.IndexByte(entry, 0) >= 0 {
		return nil, ErrNUL
	}
	return bytes.TrimSuffix(entry, []byte("\r")), nil
}
