package chunker

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// Change says how a file is no longer what it was. The zero value is none of
// them and in no error.
type Change uint8

// The changes. Of several, [File.Changed] reports the one that says most about
// the bytes: the size before the modification time before the path before the
// change time.
const (
	// Shrank: the open file has fewer bytes, so not all can be read any more.
	Shrank Change = iota + 1
	// Grew: the open file has more bytes. Those there were may be untouched.
	Grew
	// Modified: the open file has the same size, and another modification or
	// change time. Its bytes, or only its owner, mode or links, are different.
	Modified
	// Gone: nothing is at the path any more. The open file has the same size and
	// modification time.
	Gone
	// Replaced: another file is at the path. The open one has the same size and
	// modification time.
	Replaced
)

// ChangedError says that a file is not what was opened.
type ChangedError struct {
	Path   string
	Change Change
	Was    Identity // when it was opened
	Is     Identity // now: the file at the path if Change is Replaced, zero if Gone, else the open file
}

// Error says what is different.
func (e *ChangedError) Error() string {
	var what string
	switch e.Change {
	case Shrank:
		what = fmt.Sprintf("shrank from %d to %d bytes", e.Was.Size, e.Is.Size)
	case Grew:
		what = fmt.Sprintf("grew from %d to %d bytes", e.Was.Size, e.Is.Size)
	case Gone:
		what = "is gone"
	case Replaced:
		what = "was replaced by another file"
	default:
		at := e.Is.ModTime
		if at.Equal(e.Was.ModTime) {
			at = e.Is.ChangeTime
		}
		what = "was modified at " + at.Format(time.RFC3339Nano)
	}
	return e.Path + " " + what + " (after it was opened)"
}

// Changed returns a [*ChangedError] if the open file, or the file now at its
// path, is not what was opened, nil if nothing tells them apart, and another
// error if the system does not say.
//
// What it compares are size, modification and change time, and which file it is.
// It does not see a write within one tick of the file system's clock (some
// milliseconds, two seconds on FAT) after the last write before opening, nor,
// where there is no change time, one whose author put the modification time
// back. Only the digests prove the bytes.
func (f *File) Changed() error {
	info, err := f.file.Stat()
	if err != nil {
		return err
	}
	was, is := f.Identity(), identify(info)
	changed := func(c Change, is Identity) error {
		return &ChangedError{Path: f.path, Change: c, Was: was, Is: is}
	}
	switch {
	case is.Size < was.Size:
		return changed(Shrank, is)
	case is.Size > was.Size:
		return changed(Grew, is)
	case is.ModTime != was.ModTime:
		return changed(Modified, is)
	}

	// The path comes before the change time, which a deletion or a rename over
	// the file moves as well: those two leave the bytes alone.
	there, err := os.Stat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return changed(Gone, Identity{})
	case err != nil:
		return err
	case !os.SameFile(f.opened, there):
		return changed(Replaced, identify(there))
	case is != was:
		return changed(Modified, is)
	}
	return nil
}
