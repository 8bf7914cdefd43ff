package main

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chunkup/chunkup/multipart/journal"
)

// A store has many names. An upload that a journal protects by its id, or by its key
// while its id is not known, is left alone under each of them; what a journal has given
// up goes only under the name that the journal has.
func TestStoreOfManyNames(t *testing.T) {
	isolate(t)
	const ago = 99 * time.Hour
	for _, c := range []struct {
		name   string
		id     string // in the journal
		state  journal.State
		live   bool
		owner  string
		spared bool // by cleanup
		abort  int
	}{
		{"live", "U1", journal.Uploading, true, "live", true, exitFailed},
		{"live, id not known", "", journal.Creating, true, "live", true, exitFailed},
		{"resumable", "U1", journal.Uploading, false, "resumable", true, exitOK},
		{"live, another upload", "U9", journal.Uploading, true, "none", false, exitOK},
		{"given up", "U1", journal.Aborting, false, "none", false, exitOK},
	} {
		for _, endpoint := range []string{"localhost", "sandbox:///folder"} {
			f, dir := newFake(t), journal.Open(t.TempDir())
			if endpoint == "localhost" {
				endpoint = strings.Replace(f.URL, "127.0.0.1", "localhost", 1)
			}
			f.begin("/bucket/key", ago, "part")
			claim := writeJournal(t, dir, record(endpoint, "key", c.id, c.state))
			if !c.live {
				_ = claim.Release()
			}
			if r := f.uploadsOf(t, dir, "ls", "s3://bucket").want(t, exitOK); !strings.HasSuffix(r.stdout, "  "+c.owner+"\n") {
				t.Errorf("%s at %s: %q", c.name, endpoint, r.stdout)
			}
			f.uploadsOf(t, dir, "cleanup", "s3://bucket").want(t, exitOK)
			if n := len(f.unfinished()); (n == 1) != c.spared {
				t.Errorf("%s at %s: %d uploads after the cleanup", c.name, endpoint, n)
			}
			if left, _ := dir.List(); len(left) != 1 {
				t.Errorf("%s at %s: another store's journal is gone", c.name, endpoint)
			}
			if !c.spared {
				continue
			}
			f.uploadsOf(t, dir, "abort", "s3://bucket/key", "--upload-id", "U1").want(t, c.abort)
			if n := len(f.unfinished()); (n == 1) != (c.abort != exitOK) {
				t.Errorf("%s at %s: %d uploads after the abort", c.name, endpoint, n)
			}
		}
	}
}

// A journal of another bucket says nothing.
func TestJournalOfAnotherBucket(t *testing.T) {
	isolate(t)
	f, dir := newFake(t), journal.Open(t.TempDir())
	f.begin("/other/key", time.Hour)
	writeJournal(t, dir, record(f.URL, "key", "U1", journal.Uploading))
	if r := f.uploadsOf(t, dir, "ls", "s3://other").want(t, exitOK); !strings.HasSuffix(r.stdout, "  none\n") {
		t.Errorf("%q", r.stdout)
	}
}

// An upload to a key does not hold up the end of another one to it.
func TestAbortBesideLiveUpload(t *testing.T) {
	isolate(t)
	f, dir := newFake(t), journal.Open(t.TempDir())
	for range 3 {
		f.begin("/bucket/key", 99*time.Hour)
	}
	writeJournal(t, dir, record(f.URL, "key", "U2", journal.Uploading))
	f.uploadsOf(t, dir, "abort", "s3://bucket/key", "--upload-id", "U1").want(t, exitOK)
	f.uploadsOf(t, dir, "abort", "s3://bucket/key", "--upload-id", "U2").want(t, exitFailed).oneLine(t, "is running in this process")
	f.uploadsOf(t, dir, "cleanup", "s3://bucket").want(t, exitOK)
	if ids := f.unfinished(); !slices.Equal(ids, []string{"U2"}) {
		t.Errorf("open: %v", ids)
	}
	if left, _ := dir.List(); len(left) != 1 || !left[0].Live {
		t.Errorf("journals: %v", left)
	}
}

// A live journal that a newer version has written protects the uploads to its key.
func TestLiveJournalOfNewerVersion(t *testing.T) {
	isolate(t)
	f, dir := newFake(t), journal.Open(t.TempDir())
	f.begin("/bucket/key", 99*time.Hour)
	f.begin("/bucket/other", 99*time.Hour)
	f.begin("/bucket/third", 99*time.Hour)
	kept(t, dir, record(f.URL, "third", "U9", journal.Uploading))
	claim := writeJournal(t, dir, record(f.URL, "key", "U1", journal.Uploading))
	write(t, claim.Path(), `{"version":99}`)
	lines := jsonLines(t, f.uploadsOf(t, dir, "ls", "s3://bucket", "--json").want(t, exitOK).stdout)
	if len(lines) != 3 || lines[0]["owner"] != "live" || lines[0]["journal"] != claim.Path() || lines[1]["owner"] != "none" || lines[2]["owner"] != "none" {
		t.Errorf("%v", lines)
	}
	f.uploadsOf(t, dir, "abort", "s3://bucket/key", "--upload-id", "U1").want(t, exitFailed).oneLine(t, "is running in another process")
	f.uploadsOf(t, dir, "cleanup", "s3://bucket").want(t, exitOK)
	if ids := f.unfinished(); !slices.Equal(ids, []string{"U1"}) {
		t.Errorf("open: %v", ids)
	}
	if text, err := os.ReadFile(claim.Path()); err != nil || string(text) != `{"version":99}` {
		t.Errorf("the journal has %q, %v", text, err)
	}
}

// Nothing is said to have been aborted that was not there.
func TestAbortOfNothing(t *testing.T) {
	isolate(t)
	f, dir := newFake(t), journal.Open(t.TempDir())
	f.begin("/bucket/key", 0, "part")
	for _, c := range [][2]string{{"s3://bucket/other", "U1"}, {"s3://bucket/key", "rubbish"}} {
		r := f.uploadsOf(t, dir, "abort", c[0], "--upload-id", c[1]).want(t, exitOK)
		if r.stdout != "not there (any more): "+c[0]+"  "+c[1]+"\n" {
			t.Errorf("%q", r.stdout)
		}
		if l := jsonLines(t, f.uploadsOf(t, dir, "abort", c[0], "--upload-id", c[1], "--json").want(t, exitOK).stdout)[0]; l["type"] != "aborted" || l["gone"] != true {
			t.Errorf("%v", l)
		}
	}
	f.on(func(w http.ResponseWriter, _ *http.Request, op string) bool {
		return op == "list" && refuse(w, 404, "NoSuchBucket")
	})
	if r := f.uploadsOf(t, dir, "abort", "s3://none/key", "--upload-id", "U1").want(t, exitFailed); r.stdout != "" || !strings.Contains(r.stderr, "NoSuchBucket") {
		t.Errorf("%q, %q", r.stdout, r.stderr)
	}
	// Who may abort need not be allowed to look.
	f.on(func(w http.ResponseWriter, _ *http.Request, op string) bool {
		return op == "list" && refuse(w, 403, "AccessDenied")
	})
	if l := jsonLines(t, f.uploadsOf(t, dir, "abort", "s3://bucket/key", "--upload-id", "U1", "--json").want(t, exitOK).stdout)[0]; l["gone"] != false || l["upload_id"] != "U1" {
		t.Errorf("%v", l)
	}
	f.empty(t)
}

// A minting service may have given an upload another key than its journal is about.
func TestOwnerOfChosenKey(t *testing.T) {
	isolate(t)
	f, dir := newFake(t), journal.Open(t.TempDir())
	f.begin("/bucket/chosen", 99*time.Hour, "part")
	r := record(f.URL, "asked", "U1", journal.Uploading)
	r.Keys = map[string]string{"U1": "chosen"}
	claim := writeJournal(t, dir, r)
	f.uploadsOf(t, dir, "abort", "s3://bucket/chosen", "--upload-id", "U1").want(t, exitFailed)
	f.uploadsOf(t, dir, "cleanup", "s3://bucket").want(t, exitOK)
	if len(f.unfinished()) != 1 {
		t.Error("an upload at which a process is at work was dropped")
	}
	if err := claim.Release(); err != nil {
		t.Fatal(err)
	}
	if ls := f.uploadsOf(t, dir, "ls", "s3://bucket").want(t, exitOK).stdout; !strings.HasSuffix(ls, "  resumable\n") {
		t.Errorf("%s", ls)
	}
	f.uploadsOf(t, dir, "abort", "s3://bucket/chosen", "--upload-id", "U1").want(t, exitOK)
	if left, _ := dir.List(); len(left) != 0 || len(f.unfinished()) != 0 {
		t.Errorf("left: %v, %v", left, f.unfinished())
	}
}
