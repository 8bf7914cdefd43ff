package journal

import "os"

// The steps of a write, as [Dir.fault] is asked about them.
const (
	stepCreate = "create"
	stepWrite  = "write"
	stepSync   = "sync"
	stepClose  = "close"
	stepRename = "rename"
	stepFolder = "sync folder"
)

// replace makes data the content of a journal: of all of it or, on an error and
// after a crash, of nothing. Only an error of the last step leaves the new
// content there, and then it may or may not outlive a power cut.
func (d *Dir) replace(name string, data []byte) error {
	path := d.journal(name)
	var f *os.File
	err := d.step(stepCreate, func() (err error) {
		f, err = os.CreateTemp(d.path, name+tempSuffix+"*") // of mode 0600
		return err
	})
	if err != nil {
		return &WriteError{Path: path, Err: err}
	}
	err = d.fill(f, data)
	if err == nil {
		err = d.step(stepRename, func() error { return rename(f.Name(), path) })
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the next claim would, too
		return &WriteError{Path: path, Err: err}
	}
	if err := d.step(stepFolder, func() error { return syncDir(d.path) }); err != nil {
		return &WriteError{Path: path, Err: err}
	}
	return nil
}

// fill writes a file and has the system put it on the disk: else a rename could
// be there after a power cut and the bytes not.
func (d *Dir) fill(f *os.File, data []byte) error {
	err := d.step(stepWrite, func() error { _, err := f.Write(data); return err })
	if err == nil {
		err = d.step(stepSync, f.Sync)
	}
	if err != nil {
		_ = f.Close()
		return err
	}
	return d.step(stepClose, f.Close)
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
