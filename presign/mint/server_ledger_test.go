package mint

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func mustOpen(t *testing.T, dir string) Ledger {
	t.Helper()
	l, err := OpenLedger(dir)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func testEntry(id string) Entry {
	size, now := int64(5), time.Now().UTC().Round(0)
	return Entry{ID: id, Bucket: "b", Caller: "c", Key: "k", UploadID: "u", Asked: "a", Named: true, Begun: now,
		Closed: &now, Size: &size, Algorithm: "crc32c", FullObject: true}
}

// Both ledgers keep what they are given, replace, and forget.
func TestLedger(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	for name, l := range map[string]Ledger{"memory": NewLedger(), "folder": mustOpen(t, dir)} {
		t.Run(name, func(t *testing.T) {
			one, two := testEntry("01"), testEntry("02")
			two.Size, two.Closed, two.UploadID = nil, nil, ""
			changed := one
			changed.UploadID = "v"
			for _, e := range []Entry{one, two, changed} {
				if err := l.Put(e); err != nil {
					t.Fatal(err)
				}
			}
			if name == "folder" {
				l = mustOpen(t, dir)
			}
			got, err := l.Entries()
			sorted := cmpopts.SortSlices(func(a, b Entry) bool { return a.ID < b.ID })
			if diff := cmp.Diff([]Entry{changed, two}, got, sorted); diff != "" || err != nil {
				t.Errorf("%v %s", err, diff)
			}
			for range 2 {
				if err := l.Delete("01"); err != nil {
					t.Error(err)
				}
			}
			if got, err := l.Entries(); err != nil || len(got) != 1 || got[0].ID != "02" {
				t.Errorf("%v %v", got, err)
			}
		})
	}
}

// Nobody else can read the files, what a dead process has left is removed, and what is
// no entry stops the start, and says which file it is.
func TestLedgerFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ledger")
	l := mustOpen(t, dir)
	if err := l.Put(testEntry("ab")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]fs.FileMode{dir: 0o700, filepath.Join(dir, "ab.json"): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want && runtime.GOOS != "windows" {
			t.Errorf("%s: %v %v", path, info.Mode(), err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "ab.json.new123"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	l = mustOpen(t, dir)
	files, _ := os.ReadDir(dir)
	if got, err := l.Entries(); err != nil || len(got) != 1 || len(files) != 1 {
		t.Errorf("%v %v %v", got, err, files)
	}
	for _, id := range []string{"", "../x", "xyz"} {
		if l.Put(Entry{ID: id}) == nil || l.Delete(id) == nil {
			t.Errorf("%q is taken for an id", id)
		}
	}
	for _, junk := range []string{"", "{", `{"id":"ff"}`} {
		if err := os.WriteFile(filepath.Join(dir, "cd.json"), []byte(junk), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Entries(); err == nil || !strings.Contains(err.Error(), "cd.json") {
			t.Errorf("%q: %v", junk, err)
		}
		if _, err := NewHandler(Options{Ledger: l, Control: &countControl{}, Provider: &countControl{}, Bucket: "b", Authenticate: Anyone(Caller{})}); err == nil {
			t.Errorf("%q: it has started", junk)
		}
	}
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenLedger(path); err == nil {
		t.Error("a file is taken for a folder")
	}
}

// A write that fails leaves the entry of before, and no draft.
func TestLedgerWriteFails(t *testing.T) {
	dir := t.TempDir()
	l := mustOpen(t, dir)
	if err := os.MkdirAll(filepath.Join(dir, "ab.json", "x"), 0o700); err != nil { // cannot be replaced
		t.Fatal(err)
	}
	err := l.Put(testEntry("ab"))
	if _, ok := errors.AsType[*os.LinkError](err); !ok {
		t.Errorf("%v", err)
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("%v", files)
	}
}
