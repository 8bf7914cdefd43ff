package multipart_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/storetest"
	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign"
)

// uploadFile uploads a file of that many bytes, each part of which takes a
// second, and changes it meanwhile.
func (l *lab) uploadFile(t *testing.T, body []byte, change func(path string)) (multipart.Result, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, body, 0o600); err != nil {
		t.Fatal(err)
	}
	l.Script(storetest.Fault{Op: wire.PutPart, Times: -1, Delay: time.Second})
	u, err := multipart.New(l.Mem, l.Mem, &l.options)
	if err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(1500*time.Millisecond, func() { change(path) })
	defer timer.Stop()
	return u.UploadFile(t.Context(), object, path)
}

func TestFileChanges(t *testing.T) {
	body := randomBytes(20 * 64 * kib) // three rounds of 8 lanes
	cases := map[string]struct {
		change  func(path string)
		changed bool // the upload fails
		warned  bool
	}{
		"nothing": {func(string) {}, false, false},
		"grew": {func(path string) {
			f, _ := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			f.Write([]byte("more"))
			f.Close()
		}, false, true},
		"was deleted": {func(path string) { os.Remove(path) }, false, true},
		"was replaced": {func(path string) {
			os.WriteFile(path+"2", []byte("another"), 0o600)
			os.Rename(path+"2", path)
		}, false, true},
		"sent bytes were written to": {func(path string) {
			f, _ := os.OpenFile(path, os.O_WRONLY, 0)
			f.WriteAt([]byte("changed"), 5)
			f.Close()
		}, true, false},
		"bytes to come were written to": {func(path string) {
			f, _ := os.OpenFile(path, os.O_WRONLY, 0)
			f.WriteAt([]byte("changed"), 19*64*kib)
			f.Close()
		}, false, true}, // as if the upload had begun later
		"shrank": {func(path string) { os.Truncate(path, 10) }, true, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, func(_ *lab, e *multipart.EndpointOptions) { e.Lanes = 8 })
				_, err := l.uploadFile(t, body, tc.change)
				if tc.changed {
					var c *chunker.ChangedError
					if !errors.Is(err, multipart.ErrSourceChanged) || !errors.As(err, &c) {
						t.Fatalf("err = %v", err)
					}
					l.nothing(t)
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if l.Uploads() != 0 {
					t.Error("an upload is left")
				}
				warned := false
				for _, e := range l.events {
					warned = warned || e.Kind == multipart.Warned
				}
				if warned != tc.warned {
					t.Errorf("warned: %v, want %v", warned, tc.warned)
				}
			})
		})
	}
}

func TestMissingFile(t *testing.T) {
	l := newLab(t, nil)
	u, err := multipart.New(l.Mem, l.Mem, &l.options)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := u.UploadFile(t.Context(), object, filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("err = %v", err)
	}
	if len(l.Requests()) != 0 {
		t.Error("something was sent")
	}
}

// brokenAt is a source whose disk has a bad sector.
type brokenAt struct {
	chunker.Source
	off int64
}

var errBadSector = errors.New("input/output error")

func (b brokenAt) ReadAt(p []byte, off int64) (int, error) {
	if off <= b.off && b.off < off+int64(len(p)) {
		return 0, errBadSector
	}
	return b.Source.ReadAt(p, off)
}

func TestUnreadableSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		u, err := multipart.New(l.Mem, l.Mem, &l.options)
		if err != nil {
			t.Fatal(err)
		}
		_, err = u.Upload(context.Background(), object, brokenAt{l.source(10 * 64 * kib), 5 * 64 * kib})
		var e *multipart.Error
		if !errors.Is(err, errBadSector) || !errors.As(err, &e) || e.Part != 6 || e.Attempts != 1 {
			t.Fatalf("err = %v", err)
		}
		l.nothing(t)
		l.wantFullBudget(t)
	})
}

func presignPart(u multipart.Upload) presign.Part {
	return presign.Part{Bucket: u.Bucket, Key: u.Key, UploadID: u.ID, Number: 1, Size: 1}
}
