package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The sources of a list are as those of the command line.
func TestFilesFrom(t *testing.T) {
	isolate(t)
	root := tree(t, "a.txt", "sub/b.txt", "sub/deep/c.txt")
	a, sub := filepath.Join(root, "a.txt"), filepath.Join(root, "sub")
	lined := file(t, "list", a+"\n"+filepath.Join(sub, "b.txt")+"\n")
	folders := file(t, "list", a+"\n"+sub+"\n")
	for _, c := range []struct {
		args      []string
		stdin     string
		variables map[string]string
		want      string
	}{
		{[]string{"--files-from", lined}, "", nil, "a.txt b.txt"},
		{[]string{"--files-from", "-"}, a + "\n", nil, "a.txt"},
		{[]string{"--files-from", "-", "--null"}, a + "\x00" + filepath.Join(sub, "b.txt"), nil, "a.txt b.txt"},
		{nil, "", map[string]string{"CHUNKUP_FILES_FROM": lined}, "a.txt b.txt"},
		{nil, a + "\x00", map[string]string{"CHUNKUP_FILES_FROM": "-", "CHUNKUP_NULL": "true"}, "a.txt"},
		{[]string{a}, "", map[string]string{"CHUNKUP_FILES_FROM": lined}, "a.txt"},
		{[]string{"--files-from", folders, "-r"}, "", nil, "a.txt b.txt deep/c.txt"},
		{[]string{"--files-from", folders, "-r", "--exclude", "*"}, "", nil, "a.txt"},
		{[]string{"--files-from", folders}, "", map[string]string{"CHUNKUP_RECURSIVE": "1"}, "a.txt b.txt deep/c.txt"},
		{[]string{a, "--files-from", "-"}, filepath.Join(sub, "b.txt"), nil, "a.txt b.txt"},
		{[]string{"--files-from", "-"}, "", nil, ""},
	} {
		f := newFake(t)
		w := world{variables: c.variables, stdin: strings.NewReader(c.stdin)}
		w.run(t, f.args(append(c.args, "s3://bucket/", "--provider", "minio")...)...).want(t, exitOK)
		if got := strings.ReplaceAll(strings.Join(f.keys(), " "), "/bucket/", ""); got != c.want {
			t.Errorf("%v %v: %q, want %q", c.args, c.variables, got, c.want)
		}
	}
}

// A variable's list is for when no source is given: a printed command goes on with one file.
func TestListOfVariable(t *testing.T) {
	isolate(t)
	f := newFake(t)
	w := world{variables: map[string]string{"CHUNKUP_FILES_FROM": filepath.Join(t.TempDir(), "none")}}
	w.run(t, f.args(file(t, "a", "x"), "s3://bucket/key", "--provider", "minio")...).want(t, exitOK)
	if got := f.keys(); !slices.Equal(got, []string{"/bucket/key"}) {
		t.Errorf("the store has %v", got)
	}
	w.run(t, f.args("s3://bucket/")...).want(t, exitUsage).oneLine(t, "--files-from: open")
}

// A bad entry of a list is a failure, and the others go up.
func TestFilesFromFails(t *testing.T) {
	isolate(t)
	f, root := newFake(t), tree(t, "a", "sub/b")
	list := file(t, "list", strings.Join([]string{filepath.Join(root, "none"), root, "x\x00y", filepath.Join(root, "a")}, "\n"))
	args := []string{"--files-from", list, "s3://bucket/", "--provider", "minio"}
	r := f.cp(t, args...).want(t, exitFailed)
	for _, want := range []string{"none: no such file", root + " is a directory: give -r", "--files-from: " + list + ": line 3: "} {
		if !strings.Contains(r.stderr, want) {
			t.Errorf("standard error %q does not say %q", r.stderr, want)
		}
	}
	if got := f.keys(); !slices.Equal(got, []string{"/bucket/a"}) {
		t.Errorf("the store has %v", got)
	}
	var failed []any
	for _, l := range jsonLines(t, f.cp(t, append(args, "--json")...).want(t, exitFailed).stdout) {
		if l["type"] == "result" && l["ok"] == false {
			failed = append(failed, l["source"])
		}
	}
	if !slices.Equal(failed, []any{filepath.Join(root, "none"), root, list}) {
		t.Errorf("failed: %v", failed)
	}
}

// Of two files with one key the second fails, and the first stays. With the same bytes
// under their hash there is nothing to be lost.
func TestOneKeyForTwo(t *testing.T) {
	isolate(t)
	one, two := tree(t, "a", "sub/a", "sub/b"), tree(t, "a", "x")
	write(t, filepath.Join(two, "a"), "of the second")
	named := file(t, "x", "named")
	list := file(t, "list", filepath.Join(one, "a")+"\n"+filepath.Join(two, "a"))
	for _, c := range []struct {
		args []string
		exit int
		keys string
		a    string // what is under it
		says string
	}{
		{[]string{one, two, "s3://bucket/"}, exitFailed, "a sub/a sub/b x", "a", filepath.Join(two, "a") + " would become s3://bucket/a, which is another source's"},
		{[]string{two, named, "s3://bucket/"}, exitFailed, "a x", "of the second", named + " and " + filepath.Join(two, "x") + " would both become s3://bucket/x"},
		{[]string{one, "s3://bucket/{name}"}, exitFailed, "a b", "a", filepath.Join(one, "sub", "a") + " would become s3://bucket/a, which is"},
		{[]string{"--files-from", list, "s3://bucket/"}, exitFailed, "a", "a", filepath.Join(two, "a") + " would become s3://bucket/a, which is"},
		{[]string{one, two, "s3://bucket/{sha256}/"}, exitOK, "", "", ""},
		{[]string{one, one + "/sub", "s3://bucket/"}, exitFailed, "a b sub/a sub/b", "a", "would become s3://bucket/a, which is"},
	} {
		f := newFake(t)
		r := f.cp(t, append(small, c.args...)...).want(t, c.exit)
		if got := strings.ReplaceAll(strings.Join(f.keys(), " "), "/bucket/", ""); got != c.keys && c.exit != exitOK {
			t.Errorf("%v: %q, want %q", c.args, got, c.keys)
		}
		if !strings.Contains(r.stderr, c.says) || len(f.requests) != len(f.keys()) {
			t.Errorf("%v: %d requests, standard error %q", c.args, len(f.requests), r.stderr)
		}
		if o, _ := f.object("/bucket/a"); string(o.content) != c.a {
			t.Errorf("%v: a is %q", c.args, o.content)
		}
	}
}

func TestSameBytesUnderTheirHash(t *testing.T) {
	isolate(t)
	root := tree(t, "a", "b.txt", "c.txt")
	write(t, filepath.Join(root, "b.txt"), "same")
	write(t, filepath.Join(root, "c.txt"), "same")
	f := newFake(t)
	r := f.cp(t, append(small, root, "s3://bucket/{sha256}.{ext}")...).want(t, exitOK)
	if len(f.keys()) != 2 || len(f.requests) != 2 || strings.Count(r.stderr, "another source has the same bytes and is tried as s3://bucket/") != 1 {
		t.Errorf("%v, standard error %q", f.keys(), r.stderr)
	}
}

// That holds whether the first of them is found or named.
func TestSameBytesNamedAndFound(t *testing.T) {
	isolate(t)
	root, named := tree(t, "a", "b"), file(t, "named", "a")
	for _, args := range [][]string{{named, root}, {root, named}} {
		f := newFake(t)
		r := f.cp(t, slices.Concat(small, args, []string{"s3://bucket/{sha256}"})...).want(t, exitOK)
		if len(f.keys()) != 2 || len(f.requests) != 2 || strings.Count(r.stderr, filepath.Join(root, "a")+": skipped: another source has the same bytes") != 1 {
			t.Errorf("%v: %v, standard error %q", args, f.keys(), r.stderr)
		}
	}
	f := newFake(t)
	f.cp(t, "-n", named, filepath.Join(root, "a"), "s3://bucket/{sha256}").want(t, exitUsage).oneLine(t, "would both become")
}

// What is printed for a file in a folder is the command for that file.
func TestResumeOfFoundFile(t *testing.T) {
	isolate(t)
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	source := sparse(t, "big", 12<<20)
	if err := os.Rename(source, filepath.Join(root, "sub", "big{name}")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ dest, key, spelled string }{
		{"s3://bucket/p/", "/bucket/p/sub/big{name}", "s3://bucket/p/sub/big{lbrace}name}"},
		{"s3://bucket/{sha256}/", "", "s3://bucket/{sha256}/sub/big{lbrace}name}"},
	} {
		f, state := newFake(t), t.TempDir()
		f.on(failing)
		r := f.cp(t, slices.Concat(small, inThree, []string{root, c.dest, "--state-dir", state, "--exclude", "x", "--include", "y", "--follow-symlinks"})...).want(t, exitIncomplete)
		f.on(nil)
		line := r.printed(t, "resume")
		if want := fmt.Sprintf("chunkup cp '%s' '%s' --concurrency 1 --endpoint-url %s --max-attempts 1 --multipart-threshold 0 --part-size 5MiB --provider minio --state-dir %s",
			filepath.Join(root, "sub", "big{name}"), c.spelled, f.URL, state); line != want {
			t.Errorf("printed %s, want %s", line, want)
		}
		if r := shell(t, line).want(t, exitOK); !strings.Contains(r.stdout, "resumed: ") {
			t.Errorf("%s: standard output %q", c.dest, r.stdout)
		}
		if keys := f.keys(); len(keys) != 1 || !strings.HasSuffix(keys[0], "/sub/big{name}") || c.key != "" && keys[0] != c.key {
			t.Errorf("%s: the store has %v", c.dest, keys)
		}
		// The folder as a whole goes on, too.
		f.on(failing)
		f.forget()
		f.cp(t, slices.Concat(small, inThree, []string{root, c.dest, "--state-dir", state})...).want(t, exitIncomplete)
		f.on(nil)
		if r := f.cp(t, slices.Concat(small, inThree, []string{root, c.dest, "--state-dir", state})...).want(t, exitOK); !strings.Contains(r.stdout, "resumed: ") {
			t.Errorf("%s: standard output %q", c.dest, r.stdout)
		}
	}
}
