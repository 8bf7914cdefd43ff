package journal

import (
	"errors"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofrs/flock"
)

func TestLocked(t *testing.T) {
	d := Open(t.TempDir())
	first := mustClaim(t, d)
	other, err := d.Claim(endpoint, bucket, key+"2")
	if err != nil {
		t.Fatalf("another destination: %v", err)
	}
	defer other.Release()
	for _, dir := range []*Dir{d, Open(d.Path())} {
		c, err := dir.Claim(endpoint, bucket, key)
		locked, ok := errors.AsType[*LockedError](err)
		if c != nil || !ok || locked.PID != os.Getpid() || locked.Path != first.Path() {
			t.Fatalf("got %v, %v", c, err)
		}
		if !strings.Contains(err.Error(), "this process") || !strings.Contains(err.Error(), first.Path()) {
			t.Error(err)
		}
	}
	mustRelease(t, first)
	mustClaim(t, d)
}

func TestLockedText(t *testing.T) {
	for pid, want := range map[int]string{0: "another process", 1 << 30: "process 1073741824"} {
		if text := (&LockedError{Path: "p", PID: pid}).Error(); !strings.Contains(text, want) {
			t.Error(text)
		}
	}
	path := t.TempDir() + "/l"
	for text, want := range map[string]int{"": 0, "\x0012\n": 12, "\x0012\n34\n": 12, "\x00-5\n": 0, "\x00x\n": 0, "\x00" + strings.Repeat("9", 99): 0} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if pid := holder(path); pid != want {
			t.Errorf("%q is process %d, not %d", text, pid, want)
		}
	}
}

// Of many who want one destination, one has it at a time, although its lock file
// comes and goes; and whoever only looks disturbs nobody.
func TestOneAtATime(t *testing.T) {
	d := Open(t.TempDir())
	var inside, claims atomic.Int32
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 150 {
				c, err := d.Claim(endpoint, bucket, key)
				if _, ok := errors.AsType[*LockedError](err); ok {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				claims.Add(1)
				if inside.Add(1) != 1 {
					t.Error("two have it at once")
				}
				runtime.Gosched()
				inside.Add(-1)
				if err := c.Release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if claims.Load() < 150 {
		t.Errorf("%d claims succeeded", claims.Load())
	}
	mustHold(t, d)
}

func TestListDisturbsNobody(t *testing.T) {
	d := Open(t.TempDir())
	c := mustClaim(t, d)
	mustSave(t, c, validRecord(t))
	mustRelease(t, c)
	var wg sync.WaitGroup
	var done atomic.Bool
	for range 2 {
		wg.Go(func() {
			for !done.Load() {
				if _, err := d.List(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 300 {
		c, err := d.Claim(endpoint, bucket, key)
		if err != nil {
			t.Error(err)
			break
		}
		mustRelease(t, c)
	}
	done.Store(true)
	wg.Wait()
}

// A look at the lock that happens to be long is waited for.
func TestLookIsNoUpload(t *testing.T) {
	d := Open(t.TempDir())
	look := flock.New(d.lock(file("")))
	if ok, err := look.TryRLock(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	timer := time.AfterFunc(5*time.Millisecond, func() { _ = look.Close() })
	defer timer.Stop()
	mustClaim(t, d)
}

// Whoever deletes lock files, by hand or to clean up, lets two in. The first one
// notices, and does not write over the second's journal or delete it.
func TestLockFileDeleted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows deletes no open file")
	}
	d := Open(t.TempDir())
	first := mustClaim(t, d)
	mustSave(t, first, validRecord(t))
	if err := os.Remove(d.lock(file(""))); err != nil {
		t.Fatal(err)
	}
	if _, ok := errors.AsType[*WriteError](first.Save(validRecord(t))); !ok {
		t.Error("saved without a lock")
	}
	second := mustClaim(t, d)
	r := validRecord(t)
	r.UploadID = "second"
	mustSave(t, second, r)
	for _, err := range []error{first.Save(validRecord(t)), first.Remove()} {
		if e, ok := errors.AsType[*WriteError](err); !ok || !strings.Contains(err.Error(), "lock file was deleted") {
			t.Errorf("got %v", e)
		}
	}
	if _, err := d.Claim(endpoint, bucket, key); err == nil {
		t.Error("the first one's end took the second one's lock")
	}
	if got, err := d.read(file("")); err != nil || got.UploadID != "second" {
		t.Errorf("the second one's journal has %q, %v", got.UploadID, err)
	}
}

// A lock file that a killed process left is taken over.
func TestLockFileLeft(t *testing.T) {
	d := Open(t.TempDir())
	for _, name := range []string{file(".lock"), file(".tmp-1"), file(".tmp-123456"), "x.tmp-1"} {
		if err := os.WriteFile(d.Path()+"/"+name, []byte("\x00123456\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := mustClaim(t, d)
	mustHold(t, d, file(".lock"), "x.tmp-1") // others' half-written files are theirs
	if pid := holder(d.lock(file(""))); pid != os.Getpid() {
		t.Errorf("the lock file names process %d", pid)
	}
	mustRelease(t, c)
	mustHold(t, d, "x.tmp-1")
}
