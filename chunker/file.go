package chunker

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// ErrNotRegular is wrapped by the error of [OpenFile] for what has no size to
// plan with: a directory, a named pipe, a device, a socket.
var ErrNotRegular = errors.New("not a regular file")

// File is a regular file as a [Source]. Its size is the one it had when it was
// opened; bytes appended later are never read. All methods are safe for many
// goroutines at once. Make one with [OpenFile].
type File struct {
	path    string
	file    *os.File
	section *io.SectionReader
	opened  fs.FileInfo
}

// OpenFile opens the file at path, following links. Errors are *fs.PathError;
// errors.Is matches [ErrNotRegular], and fs.ErrNotExist and the like.
//
// A file that has content but claims no size, as those of /proc do, is an empty
// source.
func OpenFile(path string) (*File, error) {
	// Asked before opening, because opening a named pipe waits for its writer and
	// opening a device may do something. O_NONBLOCK is no substitute: with it,
	// Linux refuses a file that a Samba client holds a lease on.
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if err := refuseSpecial(path, info); err != nil {
		return nil, err
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err = file.Stat()
	if err == nil {
		err = refuseSpecial(path, info)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return &File{
		path:    path,
		file:    file,
		section: io.NewSectionReader(file, 0, info.Size()),
		opened:  info,
	}, nil
}

// ReadAt implements [io.ReaderAt] within the size at opening.
func (f *File) ReadAt(b []byte, off int64) (int, error) { return f.section.ReadAt(b, off) }

// Size returns the size in bytes that the file had when it was opened.
func (f *File) Size() int64 { return f.section.Size() }

// Name returns the path as it was given to [OpenFile].
func (f *File) Name() string { return f.path }

// Identity returns what the file was when it was opened.
func (f *File) Identity() Identity { return identify(f.opened) }

// Close closes the file. Reads and Changed fail afterwards.
func (f *File) Close() error { return f.file.Close() }

// refuseSpecial returns the error for what is not a regular file.
func refuseSpecial(path string, info fs.FileInfo) error {
	var what string
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		what = "a directory; name the files in it"
	case mode&fs.ModeNamedPipe != 0:
		what = "a named pipe; read it as a stream"
	case mode&fs.ModeSocket != 0:
		what = "a socket; read it as a stream"
	case mode&fs.ModeDevice != 0:
		what = "a device; read it as a stream"
	default:
		what = "something special (" + mode.Type().String() + ")"
	}
	return &fs.PathError{Op: "open", Path: path, Err: fmt.Errorf("%w but %s", ErrNotRegular, what)}
}
