package main

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart/journal"
)

// Of several journals none is taken by chance.
func TestStateOfAmbiguousName(t *testing.T) {
	isolate(t)
	dir, source := journal.Open(t.TempDir()), file(t, "big", "x")
	for _, r := range []journal.Record{record("http://one.example", "key", "U1", journal.Uploading), record("http://two.example", "key", "U2", journal.Uploading),
		record("http://one.example", "other", "U3", journal.Uploading)} {
		r.Source = journal.Source{Path: source, Identity: chunker.Identity{Size: 1}}
		r.Plan = chunker.Plan{Size: 1, PartSize: 1}
		kept(t, dir, r)
	}
	entries, err := dir.List()
	if err != nil || len(entries) != 3 {
		t.Fatalf("%v, %v", entries, err)
	}
	for name, n := range map[string]int{"s3://bucket/key": 2, source: 3} {
		for _, command := range []string{"rm", "resume"} {
			r := world{}.run(t, "state", command, name, "--state-dir", dir.Path()).want(t, exitUsage)
			if strings.Count(r.stderr, dir.Path()+"/") != n {
				t.Errorf("%s %s: %q does not name %d", command, name, r.stderr, n)
			}
		}
	}
	if left, _ := dir.List(); len(left) != 3 {
		t.Errorf("left: %v", left)
	}
	// A journal that is named twice is one.
	i := slices.IndexFunc(entries, func(x journal.Entry) bool { return x.Record.Key == "other" })
	r := world{}.run(t, "state", "rm", "s3://bucket/other", entries[i].Path, "s3://bucket/other", "--state-dir", dir.Path()).want(t, exitOK)
	if left, _ := dir.List(); r.stdout != "removed "+entries[i].Path+"\n" || len(left) != 2 {
		t.Errorf("%q, left: %v", r.stdout, left)
	}
}

// A folder that takes no file is found before the first byte is sent, by root as well:
// the usual one is done without, one that was named must do.
func TestStateThatTakesNoFile(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs a folder in which nobody can make a file")
	}
	isolate(t)
	const full = "/proc/self/task"
	state := t.TempDir()
	if err := os.Symlink(full, filepath.Join(state, "chunkup")); err != nil {
		t.Fatal(err)
	}
	f := newFake(t)
	w := world{variables: map[string]string{"XDG_STATE_HOME": state}}
	args := f.args(file(t, "big", "x"), "s3://bucket/key", "--multipart-threshold", "0")
	r := w.run(t, args...).want(t, exitOK)
	if !strings.Contains(r.stderr, "warning: ") || !strings.Contains(r.stderr, "--no-resume") {
		t.Errorf("standard error %q", r.stderr)
	}
	sent := len(f.requests)
	w.run(t, append(args, "--state-dir", full)...).want(t, exitUsage).oneLine(t, "--state-dir: ", "--no-resume")
	if len(f.requests) != sent {
		t.Error("something was sent")
	}
	if r := w.run(t, append(args, "--no-resume")...).want(t, exitOK); r.stderr != "" {
		t.Errorf("standard error %q", r.stderr)
	}
}

// The look at the folder leaves nothing there.
func TestStateIsLeftClean(t *testing.T) {
	isolate(t)
	state := t.TempDir()
	newFake(t).cp(t, file(t, "big", "x"), "s3://bucket/key", "--multipart-threshold", "0", "--state-dir", state).want(t, exitOK)
	if left, err := os.ReadDir(state); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// A file is no folder, for none of the commands.
func TestStateDirThatIsAFile(t *testing.T) {
	isolate(t)
	f, source := newFake(t), file(t, "big", "x")
	for _, args := range [][]string{
		{"state", "ls"}, {"state", "rm", "x"}, {"state", "resume", "--all"}, {"cp", source, "s3://bucket/key", "--multipart-threshold", "0"},
		{"uploads", "ls", "s3://bucket"},
	} {
		world{}.run(t, append(args, "--state-dir", source)...).want(t, exitUsage).oneLine(t, "--state-dir: "+source+" is not a folder")
	}
	if len(f.requests) != 0 {
		t.Errorf("the store got %d requests", len(f.requests))
	}
}

// Without a home there is no usual folder, and none is made at the root.
func TestStateWithoutHome(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("has its own variables")
	}
	isolate(t)
	t.Setenv("HOME", "")
	f := newFake(t)
	w := world{variables: map[string]string{"XDG_STATE_HOME": ""}}
	r := w.run(t, f.args(file(t, "big", "x"), "s3://bucket/key", "--multipart-threshold", "0")...).want(t, exitOK)
	if !strings.Contains(r.stderr, "warning: ") || !strings.Contains(r.stderr, "there is no home folder") {
		t.Errorf("standard error %q", r.stderr)
	}
	if r := w.run(t, f.args(file(t, "big", "x"), "s3://bucket/key")...).want(t, exitOK); r.stderr != "" {
		t.Errorf("one PUT needs no journal: %q", r.stderr)
	}
	w.run(t, "state", "ls").want(t, exitUsage).oneLine(t, "there is no home folder", "--state-dir")
	f.begin("/bucket/key", 0)
	if r := w.run(t, "uploads", "ls", "s3://bucket", "--endpoint-url", f.URL, "--provider", "minio").want(t, exitOK); !strings.HasSuffix(r.stdout, "  none\n") {
		t.Errorf("standard output %q", r.stdout)
	}
}

// A usage error that shows late prints nothing on standard output, not even a warning.
func TestWarningBeforeUsageError(t *testing.T) {
	isolate(t)
	f := newFake(t)
	w := world{variables: map[string]string{"XDG_STATE_HOME": file(t, "no-folder", "")}}
	r := w.run(t, f.args(file(t, "big", "x"), "s3://bucket/key", "--multipart-threshold", "0", "--json", "--profile", "nobody")...).want(t, exitUsage)
	if r.stdout != "" {
		t.Errorf("standard output %q", r.stdout)
	}
}
