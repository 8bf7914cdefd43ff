//go:build linux || darwin

package chunker_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chunkup/chunkup/chunker"
)

// A pipe that nobody writes to must be refused, not waited for.
func TestOpenFileRefusesSpecial(t *testing.T) {
	dir := t.TempDir()
	pipe, socket := filepath.Join(dir, "pipe"), filepath.Join(dir, "s")
	must(t, syscall.Mkfifo(pipe, 0o600))
	listener, err := net.Listen("unix", socket)
	must(t, err)
	defer listener.Close()

	for path, text := range map[string]string{
		pipe:        "a named pipe; read it as a stream",
		socket:      "a socket; read it as a stream",
		"/dev/null": "a device; read it as a stream",
	} {
		f, err := chunker.OpenFile(path)
		if f != nil || !errors.Is(err, chunker.ErrNotRegular) || err.Error() != "open "+path+": not a regular file but "+text {
			t.Errorf("got %v, %v", f, err)
		}
	}
}

// The path may become something else between the look at it and the opening.
func TestOpenFileLooksAgain(t *testing.T) {
	dir := t.TempDir()
	file, path, next := tempFile(t, "0123456789").Name(), filepath.Join(dir, "path"), filepath.Join(dir, "next")
	must(t, os.Symlink(file, path))
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			target := []string{dir, file}[i%2]
			if err := errors.Join(os.Symlink(target, next), os.Rename(next, path)); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for range 2000 {
		f, err := chunker.OpenFile(path)
		if errors.Is(err, chunker.ErrNotRegular) {
			continue
		}
		must(t, err)
		if _, err := f.ReadAt(make([]byte, 1), 0); err != nil {
			t.Errorf("opened what cannot be read: %v", err)
		}
		f.Close()
	}
	stop()
	wg.Wait()
}

func TestOpenFileFollowsLinks(t *testing.T) {
	f := tempFile(t, "0123456789")
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(f.Name(), link))
	linked, err := chunker.OpenFile(link)
	must(t, err)
	defer linked.Close()
	if linked.Name() != link || linked.Identity() != f.Identity() || linked.Changed() != nil {
		t.Errorf("got %+v, changed %v", linked.Identity(), linked.Changed())
	}

	other := tempFile(t, "0123456789")
	must(t, os.Remove(link))
	must(t, os.Symlink(other.Name(), link))
	ce, ok := errors.AsType[*chunker.ChangedError](linked.Changed())
	if !ok || ce.Change != chunker.Replaced || ce.Is != other.Identity() {
		t.Errorf("after the link was moved: %+v", ce)
	}
}

// R23 (https://github.com/abraunegg/onedrive/issues/3861): other bytes, the same
// size, the modification time put back. Only the change time tells.
func TestFileChangedBehindItsModTime(t *testing.T) {
	f := tempFile(t, "0123456789")
	was := f.Identity()
	// The change time is that of a clock that ticks every few milliseconds.
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
		must(t, os.WriteFile(f.Name(), []byte("9876543210"), 0o600))
		must(t, os.Chtimes(f.Name(), time.Time{}, was.ModTime))
		err := f.Changed()
		if err == nil {
			continue
		}
		ce, ok := errors.AsType[*chunker.ChangedError](err)
		if !ok || ce.Change != chunker.Modified || ce.Is.ModTime != was.ModTime || !ce.Is.ChangeTime.After(was.ChangeTime) {
			t.Fatalf("got %v", err)
		}
		if want := f.Name() + " was modified at " + ce.Is.ChangeTime.Format(time.RFC3339Nano) + " (after it was opened)"; err.Error() != want {
			t.Errorf("got %q, want %q", err, want)
		}
		return
	}
	t.Fatal("not noticed")
}

func TestIdentityOfUnix(t *testing.T) {
	f := tempFile(t, "0123456789")
	info, err := os.Stat(f.Name())
	must(t, err)
	id, stat := f.Identity(), info.Sys().(*syscall.Stat_t)
	if id.Inode != stat.Ino || id.Device != uint64(stat.Dev) || time.Since(id.ChangeTime).Abs() > time.Hour {
		t.Errorf("got %+v", id)
	}
}

// Changed cannot see the path: that is neither "unchanged" nor "changed".
func TestFileChangedUnknown(t *testing.T) {
	f := tempFile(t, "0123456789")
	dir := filepath.Dir(f.Name())
	must(t, os.Rename(dir, dir+"2"))
	must(t, os.WriteFile(dir, nil, 0o600))
	defer os.RemoveAll(dir + "2")
	err := f.Changed()
	if _, ok := errors.AsType[*chunker.ChangedError](err); ok || !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("got %v", err)
	}
}
