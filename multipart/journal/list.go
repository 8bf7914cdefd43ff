package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Entry is a journal in a folder.
type Entry struct {
	Path   string
	Record Record // zero if Err is not nil

	// Live says that somebody has claimed it, or that there is no telling.
	Live bool

	// Err is why there is no record: a [*BadError], or why it cannot be read.
	Err error
}

// List returns all journals in the folder, sorted by path, good and bad, as they
// are at the moment. It changes nothing and waits for nobody. Journals that were
// set aside are not among them, and neither are files with other names. A folder
// that does not exist has none; the error is for one that cannot be read.
func (d *Dir) List() ([]Entry, error) {
	files, err := os.ReadDir(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the journals: %w", err)
	}
	var entries []Entry
	for _, f := range files {
		name, ok := journalName(f.Name())
		if !ok {
			continue
		}
		e := Entry{Path: d.journal(name), Live: locked(d.lock(name))}
		if e.Record, e.Err = d.read(name); errors.Is(e.Err, fs.ErrNotExist) {
			continue // its upload ended just now
		}
		entries = append(entries, e)
	}
	return entries, nil
}
