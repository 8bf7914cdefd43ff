package walk

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
)

// batch is how many names are read at once: what a cancelled walk still waits for.
const batch = 1024

// names are those in a folder that the walk wants, in order, with a slash at the end of
// each folder's. Sorted like that, names are in the order of the keys they lead to. With
// an error they are those that could be read before it.
func (w *walker) names(f *folder) ([]string, error) {
	dir, err := os.Open(f.path)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	inside := inside(f.path)
	var names []string
	for err == nil {
		if w.ctx.Err() != nil {
			return nil, context.Cause(w.ctx)
		}
		var entries []fs.DirEntry
		entries, err = dir.ReadDir(batch)
		for _, e := range entries {
			if name, wanted := w.wants(f.prefix, inside, e); wanted {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	if errors.Is(err, io.EOF) {
		return names, nil
	}
	return names, err
}

// wants tells what to call an entry, and whether there is any use in visiting it.
func (w *walker) wants(prefix, inside string, e fs.DirEntry) (name string, wanted bool) {
	name = e.Name()
	if e.IsDir() {
		return name + "/", !w.filter.misses(prefix + name + "/")
	}
	match := w.filter.Match(prefix + name)
	if !isLink(e.Type()) || match && !w.follow {
		return name, match
	}
	// What a link leads to may be slow to ask for, so it is left in peace if it can.
	hold := !w.filter.misses(prefix + name + "/")
	if match || hold {
		if info, err := os.Stat(inside + name); err == nil && info.IsDir() {
			return name + "/", hold
		}
	}
	return name, match
}
