package journal

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// The steps of a write, as [Dir.fault] is asked about them.
const (
	stepCreate = "create"
	stepWrite  = "write"
	stepSync   = "sync"
	stepClose  = "close"
	stepRename = "rename"
	stepFolder = "sync folder"
)

// Replace makes data the content of the file at path, which only its user can read: of
// all of it or, on an error and after a crash, of nothing. It is written under a name
// that begins with draft, in the same folder; that of a process which died stays there.
// Only an error of the last step, which makes the folder outlive a power cut, leaves the
// new content. Errors are the file system's.
func Replace(path, draft string, data []byte) error {
	content := func(w io.Writer) error { _, err := w.Write(data); return err }
	return replace(path, draft, content, func(_ string, do func() error) error { return do() })
}

// replace makes what content writes that of a journal.
func (d *Dir) replace(name string, content func(io.Writer) error) error {
	path := d.journal(name)
	err := replace(path, name+tempSuffix, content, d.step)
	if _, invalid := errors.AsType[*InvalidError](err); err == nil || invalid {
		return err
	}
	return &WriteError{Path: path, Err: err}
}

// doer does a step that has a name.
type doer func(name string, do func() error) error

func replace(path, draft string, content func(io.Writer) error, step doer) error {
	var f *os.File
	err := step(stepCreate, func() (err error) {
		f, err = os.CreateTemp(filepath.Dir(path), draft+"*") // of mode 0600
		return err
	})
	if err != nil {
		return err
	}
	err = fill(f, content, step)
	if err == nil {
		err = step(stepRename, func() error { return rename(f.Name(), path) })
	}
	if err != nil {
		_ = os.Remove(f.Name()) // else it is a draft of a process that died
		return err
	}
	return step(stepFolder, func() error { return syncDir(filepath.Dir(path)) })
}

// fill writes a file and has the system put it on the disk: else a rename could
// be there after a power cut and the bytes not.
func fill(f *os.File, content func(io.Writer) error, step doer) error {
	err := step(stepWrite, func() error { return content(f) })
	if err == nil {
		err = step(stepSync, f.Sync)
	}
	if err != nil {
		_ = f.Close()
		return err
	}
	return step(stepClose, f.Close)
}

// step does one step.
func (d *Dir) step(name string, do func() error) error {
	if d.fault != nil {
		if err := d.fault(name); err != nil {
			return err
		}
	}
	return do()
}
