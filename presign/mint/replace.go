package mint

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// replaceFile makes data the content of a file: of all of it or, on an error and
// after a crash, of nothing. Only its user can read it.
func replaceFile(path string, data []byte) error {
	draft, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+draftSuffix+"*") // of mode 0600
	if err != nil {
		return err
	}
	if err = fill(draft, data); err == nil {
		err = os.Rename(draft.Name(), path)
	}
	if err != nil {
		_ = os.Remove(draft.Name()) // the next OpenLedger would, too
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// fill has the bytes put on the disk: else a rename could be there after a power cut
// and the bytes not.
func fill(f *os.File, data []byte) error {
	_, err := f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}

// syncFolder has the names in a folder put on the disk. NTFS logs them itself, and a file
// system that cannot (network and user-space ones) says EINVAL or ENOTSUP, and there is
// nothing better to do.
func syncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := dir.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return err
	}
	return nil
}
