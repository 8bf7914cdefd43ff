package journal

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// renameTries bounds the wait for readers of the file that is replaced: a
// listing, a virus scanner. Windows replaces no file that is open.
const renameTries = 100

// rename replaces the file at to, at once.
func rename(from, to string) (err error) {
	for range renameTries {
		err = os.Rename(from, to)
		if !errors.Is(err, windows.ERROR_SHARING_VIOLATION) && !errors.Is(err, windows.ERROR_ACCESS_DENIED) {
			return err
		}
		time.Sleep(lockPause)
	}
	return err
}

// syncDir does nothing: NTFS logs its names itself.
func syncDir(string) error { return nil }

// diskFull reports whether an error says that there is no space for a file.
func diskFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL) ||
		errors.Is(err, windows.ERROR_DISK_QUOTA_EXCEEDED)
}
