package journal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Claim is the journal of one destination, and the right to it. It ends with
// Remove, with Release or with the process. Make one with [Dir.Claim]; its
// methods are safe for many goroutines at once.
type Claim struct {
	dir     *Dir
	name    string
	found   *Record // nil: none
	warning error

	mu   sync.Mutex
	lock *lock // nil: not claimed any more
}

// Claim takes the journal of a destination, whether there is one or not, and
// reads what is in it. What it finds of an interrupted Save is deleted.
//
// The error is a [*LockedError] if another process, or another Claim of this
// one, has the journal (after a wait of less than 0.1 s, for a [Dir.List] that
// passes), and a [*WriteError] if the folder cannot be used. Any other means
// that the journal cannot be read. A journal with bad content is no error: see
// [Claim.Warning].
func (d *Dir) Claim(endpoint, bucket, key string) (*Claim, error) {
	return d.claim(destination(endpoint, bucket, key))
}

// ClaimEntry takes the journal of that path or file name, as [Dir.List] gives
// it. It is as Claim; the error wraps fs.ErrNotExist if there is no such journal
// in the folder.
func (d *Dir) ClaimEntry(path string) (*Claim, error) {
	name, ok := journalName(filepath.Base(path))
	if path != filepath.Base(path) {
		abs, err := filepath.Abs(path)
		ok = ok && err == nil && abs == d.journal(name)
	}
	if !ok {
		return nil, fmt.Errorf("%s is not a journal in %s: %w", path, d.path, fs.ErrNotExist)
	}
	// Before anything is made for a journal that is not there, and again after
	// nobody else can delete it any more.
	if _, err := os.Lstat(d.journal(name)); err != nil {
		return nil, fmt.Errorf("claim a journal: %w", err)
	}
	c, err := d.claim(name)
	if err != nil || c.found != nil || c.warning != nil {
		return c, err
	}
	return nil, errors.Join(fmt.Errorf("claim the journal %s: %w", c.Path(), fs.ErrNotExist), c.Release())
}

func (d *Dir) claim(name string) (*Claim, error) {
	if err := d.create(); err != nil {
		return nil, err
	}
	l, err := take(d.lock(name), d.journal(name))
	if err != nil {
		return nil, err
	}
	c := &Claim{dir: d, name: name, lock: l}
	if err := c.load(); err != nil {
		return nil, errors.Join(err, c.Release())
	}
	return c, nil
}

// load reads the journal, and sets it aside if its content is bad.
func (c *Claim) load() error {
	if err := c.sweep(); err != nil {
		return &WriteError{Path: c.Path(), Err: err}
	}
	r, err := c.dir.read(c.name)
	if bad, ok := errors.AsType[*BadError](err); ok {
		bad.Aside, err = setAside(c.Path())
		if err != nil {
			return &WriteError{Path: c.Path(), Err: fmt.Errorf("%w: setting it aside: %w", bad.Err, err)}
		}
		c.warning = bad
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the journal: %w", err)
	}
	c.found = &r
	return nil
}

// sweep deletes what a Save left that was killed half way. Whoever holds the
// lock is the only one to write such files.
func (c *Claim) sweep() error {
	files, err := os.ReadDir(c.dir.path)
	if err != nil {
		return err
	}
	for _, f := range files {
		if strings.HasPrefix(f.Name(), c.name+tempSuffix) {
			err = errors.Join(err, os.Remove(filepath.Join(c.dir.path, f.Name())))
		}
	}
	return err
}

// setAside renames a bad journal and returns its new path.
func setAside(path string) (string, error) {
	for n := 1; ; n++ {
		aside := fmt.Sprintf("%s%s%d", path, badSuffix, n)
		switch _, err := os.Lstat(aside); {
		case err == nil: // an earlier one
		case errors.Is(err, fs.ErrNotExist):
			return aside, rename(path, aside)
		default:
			return "", err
		}
	}
}

// Record returns a copy of what was in the journal when it was claimed, and
// whether there was anything that can be used.
func (c *Claim) Record() (Record, bool) {
	if c.found == nil {
		return Record{}, false
	}
	return c.found.clone(), true
}

// Warning returns a [*BadError] if there was a journal that could not be used
// and was set aside, else nil.
func (c *Claim) Warning() error { return c.warning }

// Path returns the path of the journal, whether there is one or not.
func (c *Claim) Path() string { return c.dir.journal(c.name) }

// Save replaces the record, after setting its Version, Updated, PID and Host. It
// returns when the record is on the disk; it takes the time of two flushes, and
// writes all parts each time, so do not save after every small part.
//
// The error is an [*InvalidError] for a record that could not be used again (one
// with a secret, one of another destination), a [*WriteError] if it cannot be
// written, and ErrReleased after Remove or Release. After any of them the old
// record is still there, whole; only if the folder could not be flushed it may be
// the new one.
func (c *Claim) Save(r Record) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lock == nil {
		return ErrReleased
	}
	if destination(r.Endpoint, r.Bucket, r.Key) != c.name {
		return invalid("key", "is not the destination that was claimed")
	}
	r.Version, r.Updated, r.PID = Version, time.Now(), os.Getpid()
	r.Host = ""
	if host, err := os.Hostname(); err == nil {
		r.Host = host
	}
	if err := r.normalise(); err != nil {
		return err
	}
	if !c.lock.held() {
		return &WriteError{Path: c.Path(), Err: errLost}
	}
	return c.dir.replace(c.name, func(w io.Writer) error { return seal(w, r, maxSize) })
}

// Remove deletes the journal and ends the claim, even if it returns an error: a
// [*WriteError] if the journal could not be deleted, ErrReleased if the claim
// had ended before.
func (c *Claim) Remove() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lock == nil {
		return ErrReleased
	}
	err := errLost
	if c.lock.held() {
		if err = os.Remove(c.Path()); err == nil {
			err = syncDir(c.dir.path)
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		err = &WriteError{Path: c.Path(), Err: err}
	}
	return errors.Join(err, c.release())
}

// Release ends the claim and keeps the journal. It does nothing if the claim
// has ended before.
func (c *Claim) Release() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.release()
}

func (c *Claim) release() error {
	l := c.lock
	c.lock = nil
	if l == nil {
		return nil
	}
	return l.release()
}
