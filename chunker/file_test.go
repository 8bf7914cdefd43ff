package chunker_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chunkup/chunkup/chunker"
)

var (
	_ chunker.Source = (*chunker.File)(nil)

	// lastYear is a modification time that no write of a test gives.
	lastYear = time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC)
)

// tempFile makes a file with that content and opens it.
func tempFile(t *testing.T, content string) *chunker.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, time.Time{}, lastYear); err != nil {
		t.Fatal(err)
	}
	f, err := chunker.OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// appendTo adds to the end of the file at path.
func appendTo(t *testing.T, path, more string) {
	t.Helper()
	w, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = w.WriteString(more)
	must(t, errors.Join(err, w.Close()))
}

func TestFile(t *testing.T) {
	f := tempFile(t, "0123456789")
	if err := f.Changed(); err != nil || f.Size() != 10 || filepath.Base(f.Name()) != "data" {
		t.Errorf("changed %v, size %d, name %s", err, f.Size(), f.Name())
	}
	got, err := io.ReadAll(chunker.Part{Offset: 2, Size: 3}.Reader(f))
	if string(got) != "234" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	must(t, f.Close())
	if err := f.Changed(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("changed of a closed file: %v", err)
	}
	if _, err := f.ReadAt(make([]byte, 1), 0); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("read of a closed file: %v", err)
	}
}

func TestIdentitySurvivesJSON(t *testing.T) {
	id := tempFile(t, "0123456789").Identity()
	text, err := json.Marshal(id)
	must(t, err)
	var again chunker.Identity
	must(t, json.Unmarshal(text, &again))
	if again != id || id.Size != 10 || !id.ModTime.Equal(lastYear) || id.ModTime.Location() != time.UTC {
		t.Errorf("%+v became %+v", id, again)
	}
	if other := tempFile(t, "0123456789").Identity(); other.Inode != 0 && other == id {
		t.Errorf("two files are the same: %+v", id)
	}
}

func TestOpenFileRefuses(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink(dir, link); err != nil {
		link = dir // Windows asks for a privilege
	}
	for _, path := range []string{dir, link} {
		f, err := chunker.OpenFile(path)
		pe, ok := errors.AsType[*fs.PathError](err)
		if f != nil || !errors.Is(err, chunker.ErrNotRegular) || !ok || pe.Path != path {
			t.Fatalf("got %v, %v", f, err)
		}
		if want := "open " + path + ": not a regular file but a directory; name the files in it"; err.Error() != want {
			t.Errorf("got  %s\nwant %s", err, want)
		}
	}
	if _, err := chunker.OpenFile(filepath.Join(dir, "nothing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// R48 (https://github.com/aws/aws-sdk-java/issues/749): a file that is written
// to while it is uploaded. What is appended is left out.
func TestFileGrowsWhileRead(t *testing.T) {
	f := tempFile(t, "0123456789")
	appendTo(t, f.Name(), "ab")
	if got, err := io.ReadAll(io.NewSectionReader(f, 0, 100)); string(got) != "0123456789" || err != nil || f.Size() != 10 {
		t.Errorf("got %q, %v, size %d", got, err, f.Size())
	}
}

// checkChanged checks what Changed says of a file from tempFile.
func checkChanged(t *testing.T, f *chunker.File, kind chunker.Change, text string) {
	t.Helper()
	err := f.Changed()
	ce, ok := errors.AsType[*chunker.ChangedError](err)
	if !ok {
		t.Fatalf("got %v", err)
	}
	if ce.Change != kind || ce.Path != f.Name() || ce.Was != f.Identity() || ce.Was.Size != 10 || !ce.Was.ModTime.Equal(lastYear) {
		t.Errorf("got %+v", ce)
	}
	if err.Error() != f.Name()+text {
		t.Errorf("got %q", err)
	}
	if gone := kind == chunker.Gone; gone != (ce.Is == chunker.Identity{}) || ce.Is == ce.Was {
		t.Errorf("is %+v", ce.Is)
	}
}

func TestFileReadAtIsConcurrent(t *testing.T) {
	data := noise(100_000)
	f := tempFile(t, string(data))
	p := chunker.Plan{Size: f.Size(), PartSize: 7000}
	got := make([]byte, len(data))
	var wg sync.WaitGroup
	for part := range p.Parts() {
		wg.Go(func() {
			if _, err := io.ReadFull(part.Reader(f), got[part.Offset:part.Offset+part.Size]); err != nil {
				t.Error(err)
			}
			if err := f.Changed(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if !bytes.Equal(got, data) {
		t.Error("the parts are not the file")
	}
}
