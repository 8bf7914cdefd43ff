package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// ErrNewer means that a newer version wrote the journal. A [*BadError] wraps it.
var ErrNewer = errors.New("a newer version of this program wrote it")

// ErrForeign means that a journal is of another destination than its file name
// says. A [*BadError] wraps it.
var ErrForeign = errors.New("it is of another destination than its name says")

// ErrReleased means that a [Claim] was used after its Remove or Release.
var ErrReleased = errors.New("the journal is not claimed any more")

// errLost is the cause of a [WriteError] when somebody deleted the lock file:
// another process may have claimed the destination since.
var errLost = errors.New("its lock file was deleted while it was in use; leave the folder alone during uploads")

// LockedError says that somebody else has claimed the destination.
type LockedError struct {
	Path string // of the journal
	PID  int    // of the process, 0 if that is not known. On another machine if the folder is shared
}

// Error says who holds the journal, and what to do.
func (e *LockedError) Error() string {
	who := "another process"
	switch e.PID {
	case 0:
	case os.Getpid():
		who = "this process"
	default:
		who = fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("an upload to this destination is running in %s, which holds the journal %s: let it end, or stop it first", who, e.Path)
}

// WriteError says that a journal, its lock or its folder could not be written.
// What is on the disk is whole, and what was there before: see [Claim.Save].
type WriteError struct {
	Path string // of what could not be written
	Err  error  // the cause
}

// Error says what could not be written, why, and what to do.
func (e *WriteError) Error() string {
	s := fmt.Sprintf("the journal %s cannot be written: %v", e.Path, e.Err)
	switch {
	case diskFull(e.Err):
		s += ": free space there, or keep journals in another folder"
	case errors.Is(e.Err, fs.ErrPermission) || errors.Is(e.Err, syscall.EROFS):
		s += ": make its folder writable, or keep journals in another one"
	case errors.Is(e.Err, syscall.ENOTDIR) || errors.Is(e.Err, fs.ErrNotExist):
		s += ": its folder is missing or not a folder: make one, or keep journals in another"
	}
	return s
}

// Unwrap returns the cause.
func (e *WriteError) Unwrap() error { return e.Err }

// BadError says that what is in a journal cannot be used. The upload that it was
// of may still have parts at the store.
type BadError struct {
	Path  string // where the journal was
	Aside string // where it is now; empty if it was not moved
	Err   error  // why: [ErrNewer], [ErrForeign], an [*InvalidError]
}

// Error says what is wrong, and where the journal went.
func (e *BadError) Error() string {
	s := fmt.Sprintf("the journal %s cannot be used: %v", e.Path, e.Err)
	if e.Aside != "" {
		s += ": it was kept as " + e.Aside + ", and the upload starts from the beginning"
	}
	return s
}

// Unwrap returns the cause.
func (e *BadError) Unwrap() error { return e.Err }

// InvalidError says what is wrong with a record.
type InvalidError struct {
	Field  string // "file" if it is not about one
	Reason string
	Err    error // the cause, if there is one
}

// Error says what is wrong.
func (e *InvalidError) Error() string {
	s := e.Field + " " + e.Reason
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return "invalid journal: " + s
}

// Unwrap returns the cause.
func (e *InvalidError) Unwrap() error { return e.Err }
