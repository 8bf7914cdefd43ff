package chunker

import (
	"io/fs"
	"time"
)

// Identity tells one state of one file from another. Two are the same state if
// they are ==, even when one of them went through JSON in between. The zero
// Identity is no file's. Times are UTC.
type Identity struct {
	Size          int64     // bytes
	ModTime       time.Time // of the content; can be set at will
	ChangeTime    time.Time // of content or metadata; cannot. Zero where the system has none
	Device, Inode uint64    // which file. Zero where the system has none
}

// identify returns the identity of a file. What the system says beyond the size
// and the modification time is filled in by [systemIdentity].
func identify(info fs.FileInfo) Identity {
	id := Identity{Size: info.Size(), ModTime: plainTime(info.ModTime())}
	systemIdentity(&id, info)
	return id
}

// plainTime makes times comparable with ==: in UTC, which also drops a monotonic
// clock. A year that JSON cannot hold, which some file systems do, becomes the
// zero time, so that a file with a nonsensical date can be uploaded and resumed.
func plainTime(t time.Time) time.Time {
	t = t.UTC()
	if y := t.Year(); y < 1 || y > 9999 {
		return time.Time{}
	}
	return t
}
