package main

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chunkup/chunkup/multipart/journal"
)

// uploadsOf runs chunkup uploads against the store of a fake.
func (f *fake) uploadsOf(t *testing.T, dir *journal.Dir, args ...string) ran {
	t.Helper()
	return world{}.run(t, append(append([]string{"uploads"}, args...), "--endpoint-url", f.URL, "--provider", "minio", "--state-dir", dir.Path(), "--backoff-base", "1ms")...)
}

// kept makes a journal that no process has claimed.
func kept(t *testing.T, dir *journal.Dir, r journal.Record) {
	t.Helper()
	if err := writeJournal(t, dir, r).Release(); err != nil {
		t.Fatal(err)
	}
}

func TestUploadsLs(t *testing.T) {
	isolate(t)
	f, dir := newFake(t), journal.Open(t.TempDir())
	f.begin("/bucket/a/1", 3*time.Hour+time.Second, "part")
	f.begin("/bucket/a/2", time.Minute)
	f.begin("/bucket/b", 0)
	kept(t, dir, record(f.URL, "a/1", "U1", journal.Uploading))
	writeJournal(t, dir, record(f.URL, "b", "U3", journal.Uploading))
	r := f.uploadsOf(t, dir, "ls", "s3://bucket").want(t, exitOK)
	for _, want := range []string{"s3://bucket/a/1  U1  ", "(3h0m ago)  resumable\n", "s3://bucket/a/2  U2  ", "ago)  none\n", "s3://bucket/b  U3  ", "ago)  live\n"} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("%q does not say %q", r.stdout, want)
		}
	}
	lines := jsonLines(t, f.uploadsOf(t, dir, "ls", "s3://bucket/a/", "--json").want(t, exitOK).stdout)
	if len(lines) != 2 || lines[0]["dest"] != "s3://bucket/a/1" || lines[0]["upload_id"] != "U1" || lines[0]["owner"] != "resumable" || lines[1]["owner"] != "none" ||
		lines[0]["journal"] == "" || lines[0]["type"] != "upload" || lines[0]["age_ms"].(float64) < 3*3600*1000 {
		t.Errorf("%v", lines)
	}
}

func TestUploadsLsFails(t *testing.T) {
	isolate(t)
	f, dir := newFake(t), journal.Open(t.TempDir())
	f.on(func(w http.ResponseWriter, _ *http.Request, op string) bool {
		return op == "uploads" && len(f.of("uploads")) == 1 && refuse(w, 503, "SlowDown")
	})
	f.uploadsOf(t, dir, "ls", "s3://bucket").want(t, exitOK)
	f.on(func(w http.ResponseWriter, _ *http.Request, op string) bool {
		return op == "uploads" && refuse(w, 500, "InternalError")
	})
	f.uploadsOf(t, dir, "ls", "s3://bucket", "--max-attempts", "3").want(t, exitFailed).oneLine(t, "list uploads of s3://bucket/: ", "InternalError")
	if n := len(f.of("uploads")); n != 2+3 {
		t.Errorf("%d requests", n)
	}
	f.on(func(w http.ResponseWriter, _ *http.Request, op string) bool {
		return op == "uploads" && refuse(w, 403, "AccessDenied")
	})
	f.uploadsOf(t, dir, "ls", "s3://bucket").want(t, exitDenied).oneLine(t, "AccessDenied")
	if n := len(f.of("uploads")); n != 2+3+1 {
		t.Errorf("%d requests: a refusal was asked for again", n)
	}
}

// The command that a failure prints drops what was sent, and the journal.
func TestUploadsAbort(t *testing.T) {
	state := t.TempDir()
	f, _, _ := halfway(t, state)
	dir := journal.Open(state)
	f.begin("/bucket/a b", 0)
	r := f.uploadsOf(t, dir, "abort", "s3://bucket/a b", "--upload-id", "U2").want(t, exitOK)
	if left, _ := dir.List(); len(left) != 1 || r.stdout != "aborted s3://bucket/a b  U2\n" {
		t.Errorf("%v, %q", left, r.stdout)
	}
	f.uploadsOf(t, dir, "abort", "s3://bucket/a b", "--upload-id", "U1").want(t, exitOK)
	f.empty(t)
	if left, _ := dir.List(); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	f.uploadsOf(t, dir, "abort", "s3://bucket/a b", "--upload-id", "U1").want(t, exitOK)
	f.uploadsOf(t, dir, "abort", "s3://bucket/", "--upload-id", "U1").want(t, exitUsage)
	f.begin("/bucket/live", 0)
	writeJournal(t, dir, record(f.URL, "live", "U3", journal.Uploading))
	f.uploadsOf(t, dir, "abort", "s3://bucket/live", "--upload-id", "U3").want(t, exitFailed).oneLine(t, "is running in this process")
	if ids := f.unfinished(); !slices.Equal(ids, []string{"U3"}) {
		t.Errorf("open: %v", ids)
	}
}

func TestUploadsCleanup(t *testing.T) {
	isolate(t)
	now := func(r journal.Record) journal.Record { r.Started = time.Now(); return r }
	for _, c := range []struct {
		name  string
		ago   time.Duration
		parts []string
		args  []string
		keep  *journal.Record
		live  bool
		goes  bool // the upload
		left  int  // journals
	}{
		{name: "old", ago: 25 * time.Hour, parts: []string{"x"}, goes: true},
		{name: "young", ago: 23 * time.Hour},
		{name: "old, resumable", ago: 99 * time.Hour, keep: &journal.Record{UploadID: "U1", State: journal.Uploading}, left: 1},
		{name: "old, live", ago: 99 * time.Hour, keep: &journal.Record{UploadID: "U1", State: journal.Uploading}, live: true, left: 1},
		{name: "old, live, id not known", ago: 99 * time.Hour, keep: &journal.Record{State: journal.Creating}, live: true, left: 1},
		{name: "old, another's id", ago: 99 * time.Hour, keep: &journal.Record{UploadID: "U9", State: journal.Uploading}, goes: true, left: 1},
		{name: "given up", parts: []string{"x"}, keep: &journal.Record{UploadID: "U1", State: journal.Aborting}, goes: true},
		{name: "given up, live", keep: &journal.Record{UploadID: "U1", State: journal.Aborting}, live: true, left: 1},
		{name: "given up, gone", ago: time.Hour, keep: &journal.Record{UploadID: "U9", State: journal.Aborting}},
		{name: "orphaned", keep: &journal.Record{State: journal.Orphaned}, goes: true},
		{name: "orphaned, has parts", parts: []string{"x"}, keep: &journal.Record{State: journal.Orphaned}},
		{name: "orphaned, of another time", ago: time.Hour, keep: &journal.Record{State: journal.Orphaned}},
		{name: "left over", keep: &journal.Record{UploadID: "U9", State: journal.Uploading, Leftover: []string{"U1"}}, goes: true, left: 1},
		{name: "older than was said", ago: 2 * time.Hour, args: []string{"--max-age", "1h"}, goes: true},
		{name: "younger than was said", ago: 40 * time.Hour, args: []string{"--max-age", "41h"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, dir := newFake(t), journal.Open(t.TempDir())
			f.begin("/bucket/a/key", c.ago, c.parts...)
			f.begin("/bucket/b", 0)
			if c.keep != nil {
				r := now(record(f.URL, "a/key", c.keep.UploadID, c.keep.State))
				r.Leftover = c.keep.Leftover
				claim := writeJournal(t, dir, r)
				if !c.live {
					_ = claim.Release()
				}
			}
			for _, dry := range []bool{true, false} {
				args := append([]string{"cleanup", "s3://bucket/a/"}, c.args...)
				if dry {
					args = append(args, "--dry-run")
				}
				r := f.uploadsOf(t, dir, args...).want(t, exitOK)
				want := map[bool]string{true: "would remove s3://bucket/a/key  U1  ", false: "removed s3://bucket/a/key  U1  "}[dry]
				if strings.HasPrefix(r.stdout, want) != c.goes {
					t.Errorf("dry run %v: standard output %q", dry, r.stdout)
				}
				if n := len(f.unfinished()); (n == 1) != (c.goes && !dry) {
					t.Errorf("dry run %v: %d uploads are open", dry, n)
				}
			}
			if left, _ := dir.List(); len(left) != c.left {
				t.Errorf("journals left: %v", left)
			}
		})
	}
}

// What cannot be dropped is a failure, and the others are dropped all the same.
func TestCleanupFails(t *testing.T) {
	isolate(t)
	f, dir := newFake(t), journal.Open(t.TempDir())
	f.begin("/bucket/a", 25*time.Hour)
	f.begin("/bucket/b", 25*time.Hour)
	f.on(func(w http.ResponseWriter, r *http.Request, op string) bool {
		return op == "abort" && r.URL.Path == "/bucket/a" && refuse(w, 403, "AccessDenied")
	})
	r := f.uploadsOf(t, dir, "cleanup", "s3://bucket", "--json").want(t, exitDenied)
	lines := jsonLines(t, r.stdout)
	if len(lines) != 2 || lines[0]["type"] != "kept" || lines[0]["error"] == "" || lines[1]["type"] != "removed" || lines[1]["upload_id"] != "U2" {
		t.Errorf("%v", lines)
	}
	if ids := f.unfinished(); !slices.Equal(ids, []string{"U1"}) {
		t.Errorf("open: %v", ids)
	}
}
