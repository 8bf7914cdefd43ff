package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
)

const (
	// metaDir is the folder beside the buckets; no bucket name starts with a
	// dot.
	metaDir = ".chunkup"
	// metaFile holds the attributes of what its folder is named after. Names
	// of objects never meet it: see escape.
	metaFile = "=attributes"
)

// attributes keeps what a plain file cannot: the ETag, checksums and headers of
// objects, parts and buckets, one JSON file each. The gateway's own choices do
// not do. Extended attributes are missing on Windows and on older tmpfs, and
// ext4 has 4 KiB of them for a file, which the list of part sizes exceeds from
// some 800 parts on: Complete would then fail as if the disk were full. The
// gateway's side files keep the old object's metadata when it is overwritten.
//
// It behaves as extended attributes do: they are there while the file is, and a
// file that takes the place of another starts with none.
type attributes struct {
	root string

	mu    sync.RWMutex      // held while a file is read, since Windows cannot replace an open one
	fresh map[*os.File]bool // files whose first attribute replaces the old object's
}

var _ meta.MetadataStorer = (*attributes)(nil)

func newAttributes(root string) *attributes {
	return &attributes{root: root, fresh: map[*os.File]bool{}}
}

// replacing notes that f will take the place of whatever has its object's name.
// The returned function ends the note.
func (a *attributes) replacing(f *os.File) (forget func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fresh[f] = true
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.fresh, f)
	}
}

// folder is where the attributes of the object are, or of the bucket if object
// is empty. bucket is a path (see store), and for a folder object the gateway
// passes the object's whole path as the bucket.
func (a *attributes) folder(bucket, object string) (string, error) {
	path := filepath.Join(bucket, object)
	rel, err := filepath.Rel(a.root, path)
	if err != nil || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("%q is outside of the sandbox", path)
	}
	return filepath.Join(a.root, metaDir, escape(rel)), nil
}

// escape doubles the = that a component of the path begins with, so that none
// is metaFile.
func escape(path string) string {
	sep := string(filepath.Separator)
	return strings.ReplaceAll(path, sep+"=", sep+"==") // the first one is a bucket
}

// RetrieveAttribute returns one attribute, meta.ErrNoSuchKey if it is not set,
// and fs.ErrNotExist if the file itself is gone (removed by hand, for one). f
// is a file that has no name yet, so that there is nothing to look for.
func (a *attributes) RetrieveAttribute(f *os.File, bucket, object, attribute string) ([]byte, error) {
	if f == nil {
		if _, err := os.Lstat(filepath.Join(bucket, object)); err != nil {
			return nil, err
		}
	}
	a.mu.RLock()
	defer a.mu.RUnlock()
	all, err := a.load(bucket, object)
	if err != nil {
		return nil, err
	}
	value, ok := all[attribute]
	if !ok {
		return nil, meta.ErrNoSuchKey
	}
	return value, nil
}

// StoreAttribute sets one attribute.
func (a *attributes) StoreAttribute(f *os.File, bucket, object, attribute string, value []byte) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := map[string][]byte{}
	if a.fresh[f] {
		delete(a.fresh, f)
	} else {
		var err error
		if all, err = a.load(bucket, object); err != nil {
			return err
		}
	}
	all[attribute] = value
	return a.save(bucket, object, all)
}

// DeleteAttribute removes one attribute, meta.ErrNoSuchKey if it is not set.
func (a *attributes) DeleteAttribute(bucket, object, attribute string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	all, err := a.load(bucket, object)
	if err != nil {
		return err
	}
	if _, ok := all[attribute]; !ok {
		return meta.ErrNoSuchKey
	}
	delete(all, attribute)
	return a.save(bucket, object, all)
}

// ListAttributes returns the names of the attributes that are set.
func (a *attributes) ListAttributes(bucket, object string) ([]string, error) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	all, err := a.load(bucket, object)
	return slices.Collect(maps.Keys(all)), err
}

// DeleteAttributes forgets an object; a bucket, or an upload, goes with all
// that is below it.
func (a *attributes) DeleteAttributes(bucket, object string) error {
	folder, err := a.folder(bucket, object)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if object == "" || strings.HasPrefix(filepath.ToSlash(object)+"/", posix.MetaTmpDir+"/") {
		return os.RemoveAll(folder)
	}
	err = os.Remove(filepath.Join(folder, metaFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// RenameObject follows the gateway, which renames the folder of an upload while
// it completes it.
func (a *attributes) RenameObject(bucket, oldObject, newObject string) error {
	from, err := a.folder(bucket, oldObject)
	if err != nil {
		return err
	}
	to, err := a.folder(bucket, newObject)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	err = os.Rename(from, to)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// load reads all attributes; a.mu is held.
func (a *attributes) load(bucket, object string) (map[string][]byte, error) {
	folder, err := a.folder(bucket, object)
	if err != nil {
		return nil, err
	}
	all := map[string][]byte{}
	text, err := os.ReadFile(filepath.Join(folder, metaFile))
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("read attributes in %s: %w", folder, err)
	}
	return all, nil
}

// save replaces all attributes; a.mu is held for writing.
func (a *attributes) save(bucket, object string, all map[string][]byte) error {
	folder, err := a.folder(bucket, object)
	if err != nil {
		return err
	}
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	beside := filepath.Join(folder, metaFile+".new")
	if err := os.WriteFile(beside, text, 0o644); err != nil {
		return err
	}
	return os.Rename(beside, filepath.Join(folder, metaFile))
}
