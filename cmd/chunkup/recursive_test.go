package main

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// tree makes a folder of files: each has its path in it.
func tree(t *testing.T, paths ...string) string {
	t.Helper()
	root := t.TempDir()
	for _, p := range paths {
		path := filepath.Join(root, filepath.FromSlash(p))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, path, p)
	}
	return root
}

// small are the flags for a store that need not be asked what it is.
var small = []string{"--provider", "minio", "-r"}

func TestRecursive(t *testing.T) {
	isolate(t)
	root := tree(t, "a.txt", "sub/b.txt", "sub/deep/c d", "z")
	for _, c := range []struct{ root, dest, prefix string }{
		{root, "s3://bucket/p/", "/bucket/p/"},
		{root + string(filepath.Separator), "s3://bucket/p/", "/bucket/p/"},
		{root, "s3://bucket", "/bucket/"},
		{root, "s3://bucket/", "/bucket/"},
	} {
		f := newFake(t)
		r := f.cp(t, append(small, c.root, c.dest)...).want(t, exitOK)
		want := []string{c.prefix + "a.txt", c.prefix + "sub/b.txt", c.prefix + "sub/deep/c d", c.prefix + "z"}
		if got := f.keys(); !slices.Equal(got, want) {
			t.Errorf("%s → %s: %v", c.root, c.dest, got)
		}
		if o, _ := f.object(c.prefix + "sub/b.txt"); string(o.content) != "sub/b.txt" {
			t.Errorf("%s → %s: the object is %q", c.root, c.dest, o.content)
		}
		if len(f.requests) != 4 { // one for each file
			t.Errorf("%d requests", len(f.requests))
		}
		if n := strings.Count(r.stdout, "uploaded "); n != 4 || r.stderr != "" {
			t.Errorf("%d results, standard error %q", n, r.stderr)
		}
	}
}

// Of many files garbage is collected less often: it is a quarter of what they cost.
func TestGarbageOfManyFiles(t *testing.T) {
	isolate(t)
	var names, named []string
	for n := range 33 {
		names = append(names, fmt.Sprintf("%02d", n))
	}
	root := tree(t, names...)
	for _, name := range names {
		named = append(named, filepath.Join(root, name))
	}
	for _, c := range []struct {
		sources []string
		want    int
	}{
		{[]string{root}, 100},
		{named, 100},
		{named[1:], 25},
		{named[:1], 25},
	} {
		var got []int
		w := world{collect: func(percent int) { got = append(got, percent) }}
		w.run(t, newFake(t).args(slices.Concat(small, c.sources, []string{"s3://bucket/p/", "--dry-run"})...)...).want(t, exitOK)
		if !slices.Equal(got, []int{c.want}) {
			t.Errorf("%d sources: %v", len(c.sources), got)
		}
	}
}

// Files and folders can stand side by side; what is named goes up whatever the patterns
// say.
func TestFilesAndFolders(t *testing.T) {
	isolate(t)
	f := newFake(t)
	f.cp(t, append(small, file(t, "named.txt", "x"), tree(t, "a.txt", "b.go"), tree(t, "c.txt"), "s3://bucket/", "--exclude", "*.txt")...).want(t, exitOK)
	if got := f.keys(); !slices.Equal(got, []string{"/bucket/b.go", "/bucket/named.txt"}) {
		t.Errorf("the store has %v", got)
	}
	f.cp(t, append(small, file(t, "one", "x"), "s3://bucket/key")...).want(t, exitOK) // -r asks for nothing of a file
}

// The last pattern that matches counts, in the order of the command line; those of the
// environment come before.
func TestPatterns(t *testing.T) {
	isolate(t)
	root := tree(t, "a.txt", "b.go", "sub/c.txt", "sub/d.go")
	for _, c := range []struct {
		args      []string
		variables map[string]string
		want      string
	}{
		{nil, nil, "a.txt b.go sub/c.txt sub/d.go"},
		{[]string{"--exclude", "*.go"}, nil, "a.txt sub/c.txt"},
		{[]string{"--include", "*.go"}, nil, "a.txt b.go sub/c.txt sub/d.go"},
		{[]string{"--exclude", "*", "--include", "*.go"}, nil, "b.go sub/d.go"},
		{[]string{"--include", "*.go", "--exclude", "*"}, nil, ""},
		{[]string{"--exclude", "*", "--include", "*.go", "--exclude", "sub/*"}, nil, "b.go"},
		{[]string{"--exclude", "*", "--include", "sub/*", "--include", "a*"}, nil, "a.txt sub/c.txt sub/d.go"},
		{nil, map[string]string{"CHUNKUP_EXCLUDE": "*", "CHUNKUP_INCLUDE": "*.go"}, "b.go sub/d.go"},
		{[]string{"--exclude", "sub/*"}, map[string]string{"CHUNKUP_EXCLUDE": "*", "CHUNKUP_INCLUDE": "*.go"}, "a.txt b.go"},
		{[]string{"--exclude", "*"}, map[string]string{"CHUNKUP_INCLUDE": "*.go"}, ""},
	} {
		f := newFake(t)
		w := world{variables: c.variables}
		r := w.run(t, f.args(append(append(small, root, "s3://bucket/"), c.args...)...)...).want(t, exitOK)
		if got := strings.ReplaceAll(strings.Join(f.keys(), " "), "/bucket/", ""); got != c.want {
			t.Errorf("%v %v: %q, want %q", c.args, c.variables, got, c.want)
		}
		if said := strings.Contains(r.stderr, "chunkup: nothing to upload\n"); said != (c.want == "") {
			t.Errorf("%v %v: standard error %q", c.args, c.variables, r.stderr)
		}
	}
}

// Folders are the same whatever they are called, and other ones where a link makes them so.
func TestFoldersByLinks(t *testing.T) {
	isolate(t)
	f, root := newFake(t), tree(t, "a/x", "deep/a/y", "deep/b/z")
	t.Chdir(root)
	if err := os.Symlink(filepath.Join("deep", "b"), "link"); err != nil {
		t.Fatal(err)
	}
	f.cp(t, append(small, "link", "deep/b", "s3://bucket/")...).want(t, exitUsage).oneLine(t, "link and deep/b are the same folder")
	f.cp(t, append(small, "a", "link/../a", "s3://bucket/")...).want(t, exitOK)
	if got := f.keys(); !slices.Equal(got, []string{"/bucket/x", "/bucket/y"}) {
		t.Errorf("the store has %v", got)
	}
	for _, path := range []string{"link/../a/y", root + "/link/../a/y", "./a/../a/x", "a/x", "a"} {
		want, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		path = fromAnywhere(path)
		if got, err := os.Stat(path); err != nil || !filepath.IsAbs(path) || !os.SameFile(got, want) {
			t.Errorf("%s is another file: %v", path, err)
		}
	}
}

// A name has to be a key only where it is in one.
func TestNamesThatAreNoKeys(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the system has no such names")
	}
	isolate(t)
	root := tree(t, "bell\x07", "x\x01/a")
	for _, c := range []struct {
		dest string
		exit int
		keys int
	}{{"s3://bucket/{sha256}", exitOK, 2}, {"s3://bucket/{sha256}.{name}", exitFailed, 1}, {"s3://bucket/{sha256}/", exitFailed, 0}} {
		f := newFake(t)
		r := f.cp(t, append(small, root, c.dest)...).want(t, c.exit)
		if len(f.keys()) != c.keys || strings.Contains(r.stderr, `bell\a": it cannot be a key`) != (c.exit != exitOK) {
			t.Errorf("%s: %q, standard error %q", c.dest, f.keys(), r.stderr)
		}
	}
	list := filepath.Join(root, "bell\x07") // of what somebody has named the store decides
	newFake(t).cp(t, append(small, "--files-from", file(t, "list", list), "s3://bucket/{name}")...).want(t, exitOK)
}

// What cannot work is refused before anything is sent.
func TestRefusedFolders(t *testing.T) {
	isolate(t)
	f, root, a := newFake(t), tree(t, "x"), file(t, "a", "x")
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{root, "s3://bucket/"}, "is a directory: give -r (--recursive)"},
		{[]string{"-r", root, "s3://bucket/photos"}, "for a folder it has to end with a slash: s3://bucket/photos/"},
		{[]string{"-r", root, "s3://bucket/all.{ext}"}, "for a folder it has to end with a slash"},
		{[]string{"-r", root, filepath.Join(root, "none"), "s3://bucket/"}, "none: no such file"},
		{[]string{"-r", root, root + "/.", "s3://bucket/"}, "are the same folder"},
		{[]string{"-r", root, "-", "s3://bucket/"}, "standard input has no name"},
		{[]string{"-r", root, "s3://bucket/", "--exclude", "[a"}, "exclude"},
		{[]string{"-r", root, "s3://bucket/", "--include", ""}, "include"},
		{[]string{"-r", root, "s3://bucket/", "--expected-size", "1MiB"}, "--expected-size is for standard input"},
		{[]string{"-r", root, "s3://bucket/", "--no-overwrite", "--provider", "generic"}, "--no-overwrite"},
		{[]string{"-r", root, "s3://bucket/", "--state-dir", "/dev/null/x"}, "--state-dir: "},
		{[]string{a, "s3://bucket/", "--include", "*"}, "--include makes no sense without -r"},
		{[]string{a, "s3://bucket/", "--exclude", "*"}, "--exclude makes no sense without -r"},
		{[]string{a, "s3://bucket/", "--follow-symlinks"}, "--follow-symlinks makes no sense without -r"},
		{[]string{a, "s3://bucket/", "--null"}, "--null makes no sense without --files-from"},
		{[]string{"--files-from", filepath.Join(root, "none"), "s3://bucket/"}, "--files-from: open"},
		{[]string{"--files-from", root, "s3://bucket/"}, "is a directory"},
		{[]string{"--files-from", "", "s3://bucket/"}, "--files-from"},
		{[]string{"--files-from", a, "s3://bucket/key"}, "several sources need one that ends with a slash"},
		{[]string{"--files-from", a, root}, "use s3://bucket/key"},
		{[]string{"s3://bucket/"}, "at least one SOURCE and a DEST"},
		{nil, "at least one SOURCE and a DEST"},
	} {
		f.cp(t, c.args...).want(t, exitUsage).oneLine(t, c.says)
	}
	if len(f.requests) != 0 {
		t.Errorf("the store got %d requests", len(f.requests))
	}
	// What a variable has set may be for another day.
	w := world{variables: map[string]string{"CHUNKUP_INCLUDE": "*", "CHUNKUP_FOLLOW_SYMLINKS": "1", "CHUNKUP_NULL": "1"}}
	w.run(t, f.args(a, "s3://bucket/", "--provider", "minio")...).want(t, exitOK)
}

// A file that cannot be read is a failure, and the others go up; what is no file is
// skipped.
func TestUnreadable(t *testing.T) {
	isolate(t)
	root := tree(t, "a", "b", "c")
	if err := os.Symlink(".", filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	f := newFake(t)
	f.on(func(_ http.ResponseWriter, r *http.Request, op string) bool {
		if strings.HasSuffix(r.URL.Path, "/a") {
			_ = os.Remove(filepath.Join(root, "c")) // it has been found already
		}
		return false
	})
	args := append(small, root, "s3://bucket/", "--workers", "1")
	r := f.cp(t, args...).want(t, exitFailed)
	if !strings.Contains(r.stderr, filepath.Join(root, "c")+": no such file") || !strings.Contains(r.stderr, "chunkup: warning: "+filepath.Join(root, "link")+": skipped: it is a link") {
		t.Errorf("standard error %q", r.stderr)
	}
	r = f.cp(t, append(args, "--follow-symlinks", "--json")...).want(t, exitFailed)
	lines := jsonLines(t, r.stdout)
	i := slices.IndexFunc(lines, func(l map[string]any) bool { return l["type"] == "result" && l["ok"] == false })
	if i < 0 || lines[i]["source"] != filepath.Join(root, "link") || lines[i]["dest"] != "" || lines[i]["exit"] != 1. {
		t.Errorf("the link that leads back: %v", lines)
	}
	if s := lines[len(lines)-1]; s["files"] != 3. || s["failed"] != 1. || s["exit"] != 1. {
		t.Errorf("the summary is %v", s)
	}
	if got := f.keys(); !slices.Equal(got, []string{"/bucket/a", "/bucket/b"}) {
		t.Errorf("the store has %v", got)
	}
	r = f.cp(t, append(args, "--json")...).want(t, exitOK)
	if !slices.ContainsFunc(jsonLines(t, r.stdout), func(l map[string]any) bool { return l["type"] == "warning" && l["dest"] == "" }) {
		t.Errorf("the link that was skipped: %s", r.stdout)
	}
	if r := f.cp(t, append(args, "--quiet")...).want(t, exitOK); r.stderr != "" {
		t.Errorf("not quiet: %q", r.stderr)
	}
}

// Links are followed if that was asked for.
func TestFollowSymlinks(t *testing.T) {
	isolate(t)
	root, other := tree(t, "a"), tree(t, "b")
	if err := os.Symlink(other, filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args      []string
		variables map[string]string
		want      []string
	}{
		{nil, nil, []string{"/bucket/a"}},
		{[]string{"--follow-symlinks"}, nil, []string{"/bucket/a", "/bucket/link/b"}},
		{nil, map[string]string{"CHUNKUP_FOLLOW_SYMLINKS": "1"}, []string{"/bucket/a", "/bucket/link/b"}},
	} {
		f := newFake(t)
		world{variables: c.variables}.run(t, f.args(append(append(small, root, "s3://bucket/"), c.args...)...)...).want(t, exitOK)
		if got := f.keys(); !slices.Equal(got, c.want) {
			t.Errorf("%v %v: the store has %v", c.args, c.variables, got)
		}
	}
}

// A folder without a file is a success, and that is said.
func TestNothingToUpload(t *testing.T) {
	isolate(t)
	f := newFake(t)
	args := append(small, t.TempDir(), "s3://bucket/")
	if r := f.cp(t, args...).want(t, exitOK); r.stderr != "chunkup: nothing to upload\n" || r.stdout != "" {
		t.Errorf("standard output %q, standard error %q", r.stdout, r.stderr)
	}
	if r := f.cp(t, append(args, "--quiet")...).want(t, exitOK); r.stderr != "" {
		t.Errorf("not quiet: %q", r.stderr)
	}
	lines := jsonLines(t, f.cp(t, append(args, "--json")...).want(t, exitOK).stdout)
	if len(lines) != 1 || lines[0]["type"] != "summary" || lines[0]["files"] != 0. {
		t.Errorf("%v", lines)
	}
}

func TestRecursiveDryRun(t *testing.T) {
	isolate(t)
	f, root := newFake(t), tree(t, "a.txt", "sub/b.txt", "sub/c.go")
	r := f.cp(t, append(small, "-n", root, "s3://bucket/p/", "--exclude", "*.go")...).want(t, exitOK)
	want := fmt.Sprintf("would upload %s → s3://bucket/p/a.txt  5 B in one PUT\nwould upload %s → s3://bucket/p/sub/b.txt  9 B in one PUT\n",
		filepath.Join(root, "a.txt"), filepath.Join(root, "sub", "b.txt"))
	if r.stdout != want || len(f.requests) != 0 {
		t.Errorf("%d requests, standard output %q, want %q", len(f.requests), r.stdout, want)
	}
	lines := jsonLines(t, f.cp(t, append(small, "-n", "--json", root, tree(t, "a.txt"), "s3://bucket/")...).want(t, exitFailed).stdout)
	kinds := map[any]int{}
	for _, l := range lines {
		kinds[l["type"]]++
	}
	if !maps.Equal(kinds, map[any]int{"plan": 3, "result": 1, "summary": 1}) || lines[len(lines)-1]["files"] != 4. || lines[len(lines)-1]["failed"] != 1. {
		t.Errorf("%v", lines)
	}
}
