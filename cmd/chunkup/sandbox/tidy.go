package sandbox

import (
	"iter"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/versity/versitygw/backend/posix"
)

// inProgress ends the name that the backend gives an upload's folder while it
// completes it: UPLOADID.ETAG.inprogress.
const inProgress = ".inprogress"

// reopen gives the uploads that a killed process was completing their names
// back, so that they can be listed and completed again.
func (s *store) reopen() {
	for bucket, key := range s.keyFolders() {
		for _, name := range names(filepath.Join(bucket, key)) {
			if !strings.HasSuffix(name, inProgress) {
				continue
			}
			id, _, _ := strings.Cut(name, ".")
			from, to := path.Join(key, name), path.Join(key, id)
			_ = s.attributes.RenameObject(bucket, from, to)
			_ = os.Rename(filepath.Join(bucket, from), filepath.Join(bucket, to))
		}
	}
}

// tidy removes the folders that unfinished uploads needed, from every bucket
// that has no unfinished upload left. The gateway has ended, so nothing is
// about to be put there.
func (s *store) tidy() {
	for bucket, key := range s.keyFolders() {
		_ = os.Remove(filepath.Join(bucket, key)) // fails unless empty, as below
	}
	for _, name := range names(s.root) {
		bucket := s.path(name)
		_ = os.Remove(filepath.Join(bucket, posix.MetaTmpMultipartDir))
		if os.Remove(filepath.Join(bucket, posix.MetaTmpDir)) == nil {
			_ = s.attributes.DeleteAttributes(bucket, posix.MetaTmpDir)
		}
	}
}

// keyFolders yields, for each key that has open uploads, the path of its bucket
// and the folder of the uploads in it.
func (s *store) keyFolders() iter.Seq2[string, string] {
	return func(yield func(bucket, key string) bool) {
		for _, name := range names(s.root) {
			bucket := s.path(name)
			for _, key := range names(filepath.Join(bucket, posix.MetaTmpMultipartDir)) {
				if !yield(bucket, path.Join(posix.MetaTmpMultipartDir, key)) {
					return
				}
			}
		}
	}
}

// names lists a folder, and nothing if there is none.
func names(folder string) []string {
	entries, _ := os.ReadDir(folder)
	list := make([]string, len(entries))
	for i, e := range entries {
		list[i] = e.Name()
	}
	return list
}
