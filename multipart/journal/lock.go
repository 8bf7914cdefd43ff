package journal

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// How often a lock is tried. A listing holds the lock for an instant to see
// whether it is free, and that must not look like an upload.
const (
	lockPause = 10 * time.Millisecond
	lockBusy  = 10  // times that somebody else holds it
	lockTries = 100 // all in all
)

// lock is a lock file that this process holds. The lock is the kernel's and ends
// with the process. On Linux and macOS, two of one process exclude each other.
type lock struct {
	path  string
	flock *flock.Flock
}

// take locks. Who waits for a lock file that its holder deletes gets the lock of
// a file that nobody else will ever find; so the file must still be the one at
// the path, or it is done again.
func take(path, journal string) (*lock, error) {
	busy := 0
	for range lockTries {
		// For writing: a network file system locks no other.
		l := &lock{path, flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))}
		ok, err := l.flock.TryLock()
		switch {
		case err != nil:
			return nil, &WriteError{Path: journal, Err: err}
		case ok && l.held():
			l.note()
			return l, nil
		case ok:
			if err := l.flock.Close(); err != nil {
				return nil, &WriteError{Path: journal, Err: err}
			}
		default:
			if busy++; busy == lockBusy {
				return nil, &LockedError{Path: journal, PID: holder(path)}
			}
			time.Sleep(lockPause)
		}
	}
	return nil, &WriteError{Path: journal, Err: errors.New("the lock file is replaced again and again")}
}

// held reports whether the file at the path is the one that is locked.
func (l *lock) held() bool {
	mine, err := l.flock.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(l.path)
	return err == nil && os.SameFile(mine, there)
}

// note writes the number of this process into the lock file, for [LockedError].
// The first byte is left alone: it is the one that Windows locks, for readers
// too. It is a courtesy: on a full disk there is none.
func (l *lock) note() {
	f, err := os.OpenFile(l.path, os.O_WRONLY, 0)
	if err != nil {
		return
	}
	defer f.Close()
	_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 1)
}

// holder returns the process that noted itself, or 0.
func holder(path string) int {
	f, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer f.Close()
	b := make([]byte, 20)
	n, _ := f.ReadAt(b, 1)
	line, _, _ := strings.Cut(string(b[:n]), "\n")
	pid, err := strconv.Atoi(line)
	if err != nil || pid < 0 {
		return 0
	}
	return pid
}

// release deletes the lock file and unlocks. A file that cannot be deleted stays
// and does no harm.
//
// On Unix it is deleted while it is locked, so that nobody can lock what is
// about to vanish without [lock.held] noticing. Windows deletes no open file:
// there it is unlocked first, and the deletion fails if somebody else has it
// open by then, which is as safe.
func (l *lock) release() error {
	if runtime.GOOS != "windows" && l.held() {
		_ = os.Remove(l.path)
	}
	if err := l.flock.Close(); err != nil {
		return &WriteError{Path: l.path, Err: err}
	}
	if runtime.GOOS == "windows" {
		_ = os.Remove(l.path)
	}
	return nil
}

// locked reports whether somebody holds a lock. When there is no telling,
// somebody does: the question is asked before things that must not be done then.
func locked(path string) bool {
	probe := flock.New(path, flock.SetFlag(os.O_RDONLY)) // makes no file
	ok, err := probe.TryRLock()
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	return !ok || probe.Close() != nil
}
