package journal

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// What the names of files end with. A temporary file has a random number behind
// its suffix, a journal that was set aside a running one.
const (
	journalSuffix = ".json"
	lockSuffix    = ".lock"
	tempSuffix    = ".tmp-"
	badSuffix     = ".bad-"
)

// Dir is a folder of journals. Make one with [Open]. Its methods are safe for
// many goroutines at once, and for many processes with one folder.
type Dir struct {
	path string

	// fault is asked before each step of a write. Only tests set it: no file
	// system fails in fsync when told to.
	fault func(step string) error
}

// Open returns the folder of that path, which need not exist: it is made, for
// its owner only, when a journal is claimed. A relative path is one of the
// current folder now.
func Open(path string) *Dir {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return &Dir{path: path}
}

// Path returns the folder's path, absolute if the system can tell.
func (d *Dir) Path() string { return d.path }

// Exists reports whether there is a journal of the destination. It looks neither
// into it nor at its lock.
func (d *Dir) Exists(endpoint, bucket, key string) bool {
	_, err := os.Lstat(d.journal(destination(endpoint, bucket, key)))
	return err == nil
}

// destination returns the name that the files of a destination begin with. The
// lengths keep "a"+"bc" apart from "ab"+"c".
func destination(endpoint, bucket, key string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d:%s%d:%s%d:%s", len(endpoint), endpoint, len(bucket), bucket, len(key), key))
	return fmt.Sprintf("%x", sum)
}

// journalName returns the name of the destination whose journal a file is, and
// whether it is one. Nothing else in the folder is ever touched.
func journalName(file string) (string, bool) {
	name, ok := strings.CutSuffix(file, journalSuffix)
	return name, ok && len(name) == 2*sha256.Size && strings.Trim(name, "0123456789abcdef") == ""
}

func (d *Dir) journal(name string) string { return filepath.Join(d.path, name+journalSuffix) }
func (d *Dir) lock(name string) string    { return filepath.Join(d.path, name+lockSuffix) }

// create makes the folder if it is not there.
func (d *Dir) create() error {
	if info, err := os.Stat(d.path); err == nil && info.IsDir() {
		return nil
	}
	if err := os.MkdirAll(d.path, 0o700); err != nil {
		return &WriteError{Path: d.path, Err: err}
	}
	// Without this the folder, journals and all, may be gone after a power cut.
	if err := syncDir(filepath.Dir(d.path)); err != nil && !errors.Is(err, fs.ErrPermission) {
		return &WriteError{Path: d.path, Err: err}
	}
	return nil
}

// read returns the record in a journal. The error is fs.ErrNotExist, a
// [*BadError] when the content is at fault, or why there is no telling.
func (d *Dir) read(name string) (Record, error) {
	path := d.journal(name)
	info, err := os.Lstat(path)
	if err != nil {
		return Record{}, err
	}
	bad := func(err error) (Record, error) { return Record{}, &BadError{Path: path, Err: err} }
	switch {
	case !info.Mode().IsRegular(): // reading a pipe would never end
		return bad(&InvalidError{Field: "file", Reason: "is not a regular file"})
	case info.Size() > maxSize:
		return bad(&InvalidError{Field: "file", Reason: fmt.Sprintf("has %d bytes, more than %d", info.Size(), maxSize)})
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return Record{}, err
	}
	r, err := decode(data)
	if err != nil {
		return bad(err)
	}
	if destination(r.Endpoint, r.Bucket, r.Key) != name {
		return bad(ErrForeign)
	}
	return r, nil
}
