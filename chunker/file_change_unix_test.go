//go:build unix

package chunker_test

// Other systems keep a file that is open from being cut, renamed or removed.

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chunkup/chunkup/chunker"
)

// R48 b: the file is cut while a part is read.
func TestFileShrinksWhileRead(t *testing.T) {
	f := tempFile(t, strings.Repeat("x", 1000))
	r := chunker.Part{Number: 2, Offset: 500, Size: 500}.Reader(f)
	if _, err := io.ReadFull(r, make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(f.Name(), 700); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	re, ok := errors.AsType[*chunker.ReadError](err)
	if len(got) != 100 || !ok || re.Offset != 700 || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
}

func TestFileChanged(t *testing.T) {
	for name, c := range map[string]struct {
		change func(t *testing.T, path string) error
		kind   chunker.Change
		text   string // after the path
	}{
		"grow": {func(t *testing.T, path string) error {
			appendTo(t, path, "ab")
			return nil
		}, chunker.Grew, " grew from 10 to 12 bytes (after it was opened)"},
		"shrink": {func(t *testing.T, path string) error {
			return os.Truncate(path, 7)
		}, chunker.Shrank, " shrank from 10 to 7 bytes (after it was opened)"},
		"touch": {func(t *testing.T, path string) error {
			return os.Chtimes(path, time.Time{}, lastYear.Add(time.Second))
		}, chunker.Modified, " was modified at 2025-01-02T03:04:06Z (after it was opened)"},
		"touch by a nanosecond": {func(t *testing.T, path string) error {
			return os.Chtimes(path, time.Time{}, lastYear.Add(1))
		}, chunker.Modified, " was modified at 2025-01-02T03:04:05.000000001Z (after it was opened)"},
		"replace": {func(t *testing.T, path string) error {
			other := tempFile(t, "0123456789")
			must(t, other.Close())
			return os.Rename(other.Name(), path)
		}, chunker.Replaced, " was replaced by another file (after it was opened)"},
		"replace by a directory": {func(t *testing.T, path string) error {
			return errors.Join(os.Remove(path), os.Mkdir(path, 0o700))
		}, chunker.Replaced, " was replaced by another file (after it was opened)"},
		"write and delete": {func(t *testing.T, path string) error {
			return errors.Join(os.Chtimes(path, time.Time{}, lastYear.Add(time.Second)), os.Remove(path))
		}, chunker.Modified, " was modified at 2025-01-02T03:04:06Z (after it was opened)"},
		"delete": {func(t *testing.T, path string) error {
			return os.Remove(path)
		}, chunker.Gone, " is gone (after it was opened)"},
		"rename": {func(t *testing.T, path string) error {
			return os.Rename(path, path+"2")
		}, chunker.Gone, " is gone (after it was opened)"},
	} {
		t.Run(name, func(t *testing.T) {
			f := tempFile(t, "0123456789")
			if err := c.change(t, f.Name()); err != nil {
				t.Fatal(err)
			}
			checkChanged(t, f, c.kind, c.text)
		})
	}
}
