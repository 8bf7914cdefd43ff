package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// The order is what makes it safe: the bytes before the name, the name before
// the return.
func TestSteps(t *testing.T) {
	d := Open(t.TempDir())
	c := mustClaim(t, d)
	var steps []string
	d.fault = func(step string) error {
		steps = append(steps, step)
		return nil
	}
	mustSave(t, c, validRecord(t))
	want := []string{"create", "write", "sync", "close", "rename", "sync folder"}
	if !slices.Equal(steps, want) {
		t.Errorf("got %q", steps)
	}
}

// Whichever step fails, the old record is there, whole, and nothing else is.
func TestFaults(t *testing.T) {
	for _, failing := range []string{stepCreate, stepWrite, stepSync, stepClose, stepRename, stepFolder} {
		t.Run(failing, func(t *testing.T) {
			d := Open(t.TempDir())
			c := mustClaim(t, d)
			old, next := validRecord(t), validRecord(t)
			old.UploadID, next.UploadID = "old", "new"
			mustSave(t, c, old)
			cause := &fs.PathError{Op: failing, Path: "f", Err: syscall.EIO}
			d.fault = func(step string) error {
				if step == failing {
					return cause
				}
				return nil
			}
			err := c.Save(next)
			if e, ok := errors.AsType[*WriteError](err); !ok || e.Path != c.Path() || !errors.Is(err, cause) || !strings.Contains(err.Error(), c.Path()) {
				t.Errorf("got %v", err)
			}
			mustHold(t, d, file(".json"), file(".lock"))
			want := "old"
			if failing == stepFolder { // the name is new already, and the caller knows that it may not last
				want = "new"
			}
			if got, err := d.read(file("")); err != nil || got.UploadID != want {
				t.Errorf("the journal has %q, %v", got.UploadID, err)
			}
			d.fault = nil
			mustSave(t, c, next) // the claim is as good as before
			if got, err := d.read(file("")); err != nil || got.UploadID != "new" {
				t.Errorf("the journal has %q, %v", got.UploadID, err)
			}
		})
	}
}

// Real trouble with the folder, as far as every user and system can have it.
func TestFolderTrouble(t *testing.T) {
	base := t.TempDir()
	path := filepath.Join(base, "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{path, filepath.Join(path, "below")} {
		_, err := Open(dir).Claim(endpoint, bucket, key)
		if e, ok := errors.AsType[*WriteError](err); !ok || e.Path != dir || !strings.Contains(err.Error(), "not a folder") {
			t.Errorf("%s: %v", dir, err)
		}
	}

	// What is in the way of the new record cannot be replaced.
	d := Open(filepath.Join(base, "d"))
	c := mustClaim(t, d)
	if err := os.MkdirAll(filepath.Join(c.Path(), "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, ok := errors.AsType[*WriteError](c.Save(validRecord(t))); !ok {
		t.Error("a folder was replaced")
	}
	mustHold(t, d, file(".json"), file(".lock"))

	// The folder is gone.
	if err := os.RemoveAll(d.Path()); err != nil {
		t.Fatal(err)
	}
	if err := c.Save(validRecord(t)); err == nil || d.Exists(endpoint, bucket, key) {
		t.Errorf("got %v", err)
	}
}

// The text says what to do.
func TestWriteErrorText(t *testing.T) {
	for err, want := range map[error]string{
		syscall.EROFS: "make its folder writable", fs.ErrPermission: "make its folder writable",
		syscall.ENOTDIR: "not a folder", fs.ErrNotExist: "not a folder",
	} {
		wrapped := fmt.Errorf("x: %w", err)
		if text := (&WriteError{Path: "/p", Err: wrapped}).Error(); !strings.Contains(text, want) || !strings.Contains(text, "/p") || !strings.Contains(text, wrapped.Error()) {
			t.Error(text)
		}
	}
}
