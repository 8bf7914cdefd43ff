//go:build !windows

package journal

import (
	"errors"
	"os"
	"syscall"
)

// rename replaces the file at to, at once.
func rename(from, to string) error { return os.Rename(from, to) }

// syncDir has the names in a folder put on the disk. A file system that cannot
// (network and user-space ones) says EINVAL or ENOTSUP, and there is nothing
// better to do.
func syncDir(path string) error {
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

// diskFull reports whether an error says that there is no space for a file: on
// the disk, in the user's quota, under the process's limit.
func diskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}
