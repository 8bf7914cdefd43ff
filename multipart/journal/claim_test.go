package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestSave(t *testing.T) {
	d := Open(filepath.Join(t.TempDir(), "a", "b"))
	if _, err := os.Stat(d.Path()); !errors.Is(err, fs.ErrNotExist) || d.Exists(endpoint, bucket, key) {
		t.Fatalf("the folder is there before it is needed: %v", err)
	}
	c := mustClaim(t, d)
	if r, ok := c.Record(); ok || !reflect.DeepEqual(r, Record{}) || c.Warning() != nil || d.Exists(endpoint, bucket, key) {
		t.Fatalf("a new claim has %+v, %v", r, c.Warning())
	}
	start := time.Now()
	mustSave(t, c, validRecord(t))
	second := validRecord(t)
	second.Version, second.PID, second.Host, second.Updated = 99, 0, "", time.Time{} // set by Save
	second.UploadID = "second"
	mustSave(t, c, second)
	if c.Path() != filepath.Join(d.Path(), file(".json")) || !d.Exists(endpoint, bucket, key) || d.Exists(endpoint, bucket, key+"x") {
		t.Errorf("path %s", c.Path())
	}
	mustHold(t, d, file(".json"), file(".lock"))
	mustRelease(t, c)
	mustHold(t, d, file(".json"))
	checkModes(t, d)

	again := mustClaim(t, d)
	r, ok := again.Record()
	host, _ := os.Hostname()
	if !ok || r.Version != Version || r.PID != os.Getpid() || r.Host != host || r.Updated.Before(start.Add(-time.Second)) || r.Updated.After(time.Now()) {
		t.Errorf("got %t, %+v", ok, r)
	}
	second.Version, second.PID, second.Host, second.Updated = r.Version, r.PID, r.Host, r.Updated
	mustEqual(t, r, second)
	// What the caller does to its copy does nothing to the next one's.
	r.Parts[0].Number, r.Header["X"], r.Metadata["x"], r.Command[0], r.Leftover[0] = 9, nil, "", "", ""
	r.Header["Content-Type"][0] = ""
	fresh, _ := again.Record()
	mustEqual(t, fresh, second)

	if err := again.Remove(); err != nil {
		t.Fatal(err)
	}
	mustHold(t, d)
	for _, err := range []error{again.Remove(), again.Save(second), c.Save(second)} {
		if !errors.Is(err, ErrReleased) {
			t.Errorf("after the end: %v", err)
		}
	}
	if err := again.Release(); err != nil {
		t.Error(err)
	}
}

// checkModes looks whether others can read.
func checkModes(t *testing.T, d *Dir) {
	t.Helper()
	if runtime.GOOS == "windows" {
		return // has no such modes
	}
	for path, want := range map[string]fs.FileMode{d.Path(): fs.ModeDir | 0o700, filepath.Dir(d.Path()): fs.ModeDir | 0o700, d.journal(file("")): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

// One destination, one file; another destination, another file.
func TestDestinations(t *testing.T) {
	d := Open(t.TempDir())
	seen := map[string]bool{}
	for _, k := range [][3]string{{"", "", "abc"}, {"", "a", "bc"}, {"a", "", "bc"}, {"a", "bc", ""}, {"a", "b", "c"}, {"1:a", "", "bc"}, {"a", "b", "\x00c"}, {"a", "b", "../../c"}} {
		name := destination(k[0], k[1], k[2])
		if _, ok := journalName(name + ".json"); seen[name] || !ok {
			t.Errorf("%q has the name %s", k, name)
		}
		seen[name] = true
		c, err := d.Claim(k[0], k[1], k[2]) // none is locked by the others
		if err != nil {
			t.Fatal(err)
		}
		defer c.Release()
	}
	c := mustClaim(t, d)
	other := validRecord(t)
	other.Key += "x"
	if err := c.Save(other); err == nil || !strings.Contains(err.Error(), "not the destination") {
		t.Errorf("got %v", err)
	}
	secret := validRecord(t)
	secret.Header.Set("X-Amz-Server-Side-Encryption-Customer-Key", "hunter2")
	if _, ok := errors.AsType[*InvalidError](c.Save(secret)); !ok || d.Exists(endpoint, bucket, key) {
		t.Error("a secret was written")
	}
}

// A journal that cannot be trusted is kept under another name, and the upload
// starts afresh.
func TestSetAside(t *testing.T) {
	foreign := validRecord(t)
	foreign.Key = "other"
	good := mustEncode(t, validRecord(t))
	for name, c := range map[string]struct {
		put  func(path string) error
		want error // nil: an *InvalidError
		text string
	}{
		"empty": {put: func(path string) error { return os.WriteFile(path, nil, 0o600) }},
		"cut":   {put: func(path string) error { return os.WriteFile(path, good[:len(good)-1], 0o600) }},
		"flipped": {put: func(path string) error {
			return os.WriteFile(path, bytes.Replace(good, []byte("10"), []byte("11"), 1), 0o600)
		}},
		"foreign": {func(path string) error { return os.WriteFile(path, mustEncode(t, foreign), 0o600) }, ErrForeign, "another destination"},
		"newer":   {func(path string) error { return os.WriteFile(path, []byte(`{"version":2}`), 0o600) }, ErrNewer, "newer version"},
		"huge": {put: func(path string) error {
			return errors.Join(os.WriteFile(path, good, 0o600), os.Truncate(path, maxSize+1))
		}, text: "67108865 bytes, more than 67108864"},
		"folder": {put: func(path string) error { return os.MkdirAll(filepath.Join(path, "full"), 0o700) }},
	} {
		t.Run(name, func(t *testing.T) {
			d := Open(t.TempDir())
			path := d.journal(file(""))
			for n := 1; n <= 3; n++ { // bad ones add up
				if err := c.put(path); err != nil {
					t.Fatal(err)
				}
				before := contents(path)
				claim := mustClaim(t, d)
				aside := fmt.Sprintf("%s.bad-%d", path, n)
				bad, ok := errors.AsType[*BadError](claim.Warning())
				_, invalid := errors.AsType[*InvalidError](claim.Warning())
				if !ok || bad.Path != path || bad.Aside != aside || !strings.Contains(bad.Error(), aside) || !strings.Contains(bad.Error(), c.text) || invalid != (c.want == nil) || c.want != nil && !errors.Is(bad, c.want) {
					t.Fatalf("got %v", claim.Warning())
				}
				if !bytes.Equal(before, contents(aside)) {
					t.Error("its content is another")
				}
				if r, ok := claim.Record(); ok || d.Exists(endpoint, bucket, key) {
					t.Errorf("it was trusted: %+v", r)
				}
				mustSave(t, claim, validRecord(t))
				if err := claim.Remove(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// contents returns the first bytes of a file, none of a folder.
func contents(path string) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	b := make([]byte, 4096)
	n, _ := f.Read(b)
	return b[:n]
}

func TestClaimEntry(t *testing.T) {
	d := Open(t.TempDir())
	c := mustClaim(t, d)
	mustSave(t, c, validRecord(t))
	if _, err := d.ClaimEntry(c.Path()); err == nil {
		t.Error("claimed twice")
	}
	mustRelease(t, c)
	for _, path := range []string{c.Path(), filepath.Base(c.Path())} {
		e, err := d.ClaimEntry(path)
		if err != nil {
			t.Fatal(err)
		}
		if r, ok := e.Record(); !ok || r.Key != key || e.Path() != c.Path() {
			t.Errorf("%s: %t, %+v", path, ok, r)
		}
		mustRelease(t, e)
	}
	// Nothing else is touched, and nothing is left for what is not there.
	for _, name := range []string{"settings.json", ".json", ".tmp-1", strings.Repeat("A", 64) + ".json"} {
		if err := os.WriteFile(filepath.Join(d.Path(), name), []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before, _ := os.ReadDir(d.Path())
	for _, path := range []string{
		"settings.json", ".json", strings.Repeat("A", 64) + ".json", strings.Repeat("a", 64) + ".json", strings.Repeat("a", 64),
		filepath.Join("..", filepath.Base(c.Path())), filepath.Join(t.TempDir(), filepath.Base(c.Path())), "", d.Path(),
	} {
		if c, err := d.ClaimEntry(path); !errors.Is(err, fs.ErrNotExist) || c != nil {
			t.Errorf("%q: %v, %v", path, c, err)
		}
	}
	if after, _ := os.ReadDir(d.Path()); len(after) != len(before) {
		t.Errorf("files before %v, after %v", before, after)
	}
	none := Open(filepath.Join(d.Path(), "none"))
	if _, err := none.ClaimEntry(file(".json")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(none.Path()); err == nil {
		t.Error("a folder was made for nothing")
	}
	// A bad one can be claimed, to be told and removed.
	if err := os.WriteFile(c.Path(), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	e, err := d.ClaimEntry(c.Path())
	if err != nil || e.Warning() == nil {
		t.Fatalf("got %v", err)
	}
	if err := e.Remove(); err != nil {
		t.Fatal(err)
	}
}

func TestList(t *testing.T) {
	d := Open(filepath.Join(t.TempDir(), "new"))
	if list, err := d.List(); list != nil || err != nil {
		t.Fatalf("got %v, %v", list, err)
	}
	var want []string
	for i := range 4 {
		r := validRecord(t)
		r.Key = fmt.Sprint("k", i)
		c, err := d.Claim(endpoint, bucket, r.Key)
		if err != nil {
			t.Fatal(err)
		}
		mustSave(t, c, r)
		if i > 0 {
			mustRelease(t, c)
		} else {
			defer c.Release()
		}
		want = append(want, c.Path())
	}
	if err := os.WriteFile(want[1], []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	// The lock file of a process that was killed locks nothing.
	if err := os.WriteFile(strings.TrimSuffix(want[2], ".json")+".lock", []byte("\x00999\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"settings.json", "x.lock", file(".json.bad-1"), file(".tmp-1")} {
		if err := os.WriteFile(filepath.Join(d.Path(), name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before, _ := os.ReadDir(d.Path())
	list, err := d.List()
	if err != nil || len(list) != len(want) {
		t.Fatalf("got %+v, %v", list, err)
	}
	if !slices.IsSortedFunc(list, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) }) {
		t.Error("not sorted")
	}
	for _, e := range list {
		i := slices.Index(want, e.Path)
		_, bad := errors.AsType[*BadError](e.Err)
		if i < 0 || e.Live != (i == 0) || bad != (i == 1) || !bad && e.Record.Key != fmt.Sprint("k", i) {
			t.Errorf("%d: %+v", i, e)
		}
	}
	if after, _ := os.ReadDir(d.Path()); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("the listing changed %v to %v", before, after)
	}
	if _, err := Open(want[0]).List(); err == nil {
		t.Error("a file was listed")
	}
}

// The path of a folder does not change when the process goes elsewhere.
func TestRelative(t *testing.T) {
	t.Chdir(t.TempDir())
	d := Open("state")
	want := d.Path()
	t.Chdir(t.TempDir())
	c := mustClaim(t, d)
	if filepath.Dir(c.Path()) != want || !filepath.IsAbs(want) {
		t.Errorf("got %s, want it in %s", c.Path(), want)
	}
}

// A record that cannot be read again for its length leaves the old one, and no draft.
func TestTooLongIsNotSaved(t *testing.T) {
	d := Open(t.TempDir())
	c := mustClaim(t, d)
	old := validRecord(t)
	mustSave(t, c, old)
	long := validRecord(t)
	long.UploadID = "long"
	long.Metadata = map[string]string{"m": strings.Repeat("m", maxSize)}
	err := c.Save(long)
	if _, ok := err.(*InvalidError); !ok || !strings.Contains(err.Error(), "more than 67108864 bytes") {
		t.Errorf("err = %.200v", err)
	}
	mustHold(t, d, file(".json"), file(".lock"))
	if got, err := d.read(file("")); err != nil || got.UploadID != old.UploadID {
		t.Errorf("the journal has %q, %v", got.UploadID, err)
	}
}
