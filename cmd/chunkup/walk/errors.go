package walk

import (
	"errors"
	"io/fs"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ErrLoop is in the *Error of a folder that a walk is already in, reached through links.
var ErrLoop = errors.New("a loop of links")

// Error is one file or folder that should be there and is not, in what a walk yields.
// Of a folder it means that nothing in it, or not all of it, was seen.
type Error struct {
	Path string
	Err  error // why: the system's, or one that is ErrLoop or ErrKey
}

// Error names the path, quoted if it cannot be printed.
func (e *Error) Error() string { return show(e.Path) + ": " + e.Err.Error() }

// Unwrap returns why.
func (e *Error) Unwrap() error { return e.Err }

// SkipError is what a walk passed over: what is no regular file, a link if links are not
// followed, one that leads nowhere if they are, and the folder of the store itself.
type SkipError struct {
	Path     string
	Mode     fs.FileMode // the type bits: fs.ModeSymlink, fs.ModeNamedPipe, …
	Dangling bool        // a link that was followed, to what does not exist
}

// Error names the path, quoted if it cannot be printed, and what it is.
func (e *SkipError) Error() string { return show(e.Path) + ": skipped: " + e.what() }

func (e *SkipError) what() string {
	switch {
	case e.Dangling:
		return "it is a link to what does not exist"
	case isLink(e.Mode):
		return "it is a link, and links are not followed"
	case e.Mode&fs.ModeDir != 0:
		return "it is the folder of the store that the files go to"
	case e.Mode&fs.ModeNamedPipe != 0:
		return "it is a named pipe"
	case e.Mode&fs.ModeSocket != 0:
		return "it is a socket"
	case e.Mode&fs.ModeDevice != 0:
		return "it is a device"
	}
	return "it is no regular file"
}

// cause leaves out the path, which an Error names itself.
func cause(err error) error {
	if of, ok := errors.AsType[*fs.PathError](err); ok && of == err {
		return of.Err
	}
	return err
}

// show makes a path fit for a line of text.
func show(path string) string {
	if path == "" || !utf8.ValidString(path) || strings.ContainsFunc(path, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(path)
	}
	return path
}
