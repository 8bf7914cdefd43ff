package walk

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWalkYieldsInTheOrderOfKeys(t *testing.T) {
	root := plant(t, t.TempDir(), "b", "a/z", "a/b/c", "a-b", "a.txt", "a0", "empty/", "Z", "é", "a/b.c")
	want := []string{"Z", "a-b", "a.txt", "a/b.c", "a/b/c", "a/z", "a0", "b", "é"}
	if diff := cmp.Diff(want, seen(t, root, Options{})); diff != "" {
		t.Error(diff)
	}
	if !slices.IsSorted(want) {
		t.Error("the test's own keys are not in order")
	}
}

func TestWalkOrdersLinksToFoldersAsFolders(t *testing.T) {
	other := plant(t, t.TempDir(), "x")
	root := plant(t, t.TempDir(), "a-b", "a.txt", "a0", "a->"+other)
	want := []string{"a-b", "a.txt", "a/x", "a0"}
	if diff := cmp.Diff(want, seen(t, root, Options{FollowSymlinks: true})); diff != "" {
		t.Error(diff)
	}
}

func TestWalkTellsPathAndSize(t *testing.T) {
	root := plant(t, t.TempDir(), "folder/file", "link->folder/file")
	want := []File{
		{Path: filepath.Join(root, "folder", "file"), Key: "folder/file", Size: int64(len("folder/file"))},
		{Path: filepath.Join(root, "link"), Key: "link", Size: int64(len("folder/file"))},
	}
	var got []File
	for file, err := range Walk(t.Context(), root, Options{FollowSymlinks: true}) {
		must(t, err)
		got = append(got, file)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWalkOpensTheRootAsItWasGiven(t *testing.T) {
	base := plant(t, t.TempDir(), "real/sub/f", "real/g", "link->real/sub")
	t.Chdir(base)
	separator := string(filepath.Separator)
	for _, c := range []struct {
		root, path, key string
	}{
		{"real", filepath.Join("real", "g"), "g"},
		{"real" + separator, filepath.Join("real", "g"), "g"},
		{".", "." + separator + filepath.Join("real", "g"), "real/g"},
		{"link", filepath.Join("link", "f"), "f"},
		{base, filepath.Join(base, "real", "g"), "real/g"},
	} {
		var paths, keys []string
		for file, err := range Walk(t.Context(), c.root, Options{}) {
			if err == nil {
				paths, keys = append(paths, file.Path), append(keys, file.Key)
			}
		}
		if !slices.Contains(paths, c.path) || !slices.Contains(keys, c.key) {
			t.Errorf("root %q: got paths %q and keys %q, want %q and %q in them", c.root, paths, keys, c.path, c.key)
		}
	}
}

func TestWalkOfWhatIsNoFolder(t *testing.T) {
	root := plant(t, t.TempDir(), "file", "nowhere->missing")
	for name, want := range map[string]string{"file": "error: .", "missing": "gone: .", "nowhere": "gone: ."} {
		path := filepath.Join(root, name)
		if got := seen(t, path, Options{}); !slices.Equal(got, []string{want}) {
			t.Errorf("a walk of %s yields %q, want %q", name, got, want)
		}
	}
	if got := seen(t, plant(t, filepath.Join(root, "empty"), "sub/"), Options{}); got != nil {
		t.Errorf("a folder without files yields %q", got)
	}
	for _, err := range Walk(t.Context(), "", Options{}) {
		if !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the empty root yields %v", err)
		}
	}
}

func TestWalkGoesOnWhenTheTreeChanges(t *testing.T) {
	for name, c := range map[string]struct {
		change func(t *testing.T, root string)
		want   []string
	}{
		"a folder vanishes": {
			func(t *testing.T, root string) { must(t, os.RemoveAll(filepath.Join(root, "m"))) },
			[]string{"a", "gone: m", "z"},
		},
		"a file vanishes": {
			func(t *testing.T, root string) { must(t, os.Remove(filepath.Join(root, "z"))) },
			[]string{"a", "m/n", "gone: z"},
		},
		"a file where a folder was": {
			func(t *testing.T, root string) {
				must(t, os.RemoveAll(filepath.Join(root, "m")))
				plant(t, root, "m")
			},
			[]string{"a", "m", "z"},
		},
		"a folder where a file was": {
			func(t *testing.T, root string) {
				must(t, os.Remove(filepath.Join(root, "z")))
				plant(t, root, "z/y")
			},
			[]string{"a", "m/n", "z/y"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := plant(t, t.TempDir(), "a", "m/n", "z")
			var got []string
			for file, err := range Walk(t.Context(), root, Options{}) {
				got = append(got, line(t, root, file, err))
				if file.Key == "a" {
					c.change(t, root)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A folder that is there when it is looked at and cannot be opened after that.
func TestWalkGoesOnAfterAFolderThatCannotBeOpened(t *testing.T) {
	root := plant(t, t.TempDir(), "file")
	info, err := os.Stat(root)
	must(t, err)
	for path, want := range map[string]string{"gone": "gone: gone", "file": "error: file"} {
		var got []string
		w := walker{ctx: t.Context(), yield: func(file File, err error) bool {
			got = append(got, line(t, root, file, err))
			return true
		}}
		if !w.walk(&folder{path: filepath.Join(root, path), info: info}) || !slices.Equal(got, []string{want}) {
			t.Errorf("%s: got %q and an end, want %q and to go on", path, got, want)
		}
	}
}

// The same where the filter is about what would be in the folder.
func TestWalkTellsOfAFolderThatWasWanted(t *testing.T) {
	root := plant(t, t.TempDir(), "a.txt", "m/n.txt", "o/p.txt")
	var got []string
	for file, err := range Walk(t.Context(), root, Options{Filter: filterOf(t, "-*", "+*.txt")}) {
		got = append(got, line(t, root, file, err))
		if file.Key == "a.txt" {
			must(t, os.RemoveAll(filepath.Join(root, "m")))
			must(t, os.RemoveAll(filepath.Join(root, "o")))
			plant(t, root, "o") // a file now, and one that the filter leaves out
		}
	}
	if diff := cmp.Diff([]string{"a.txt", "gone: m"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestWalkStopsWhenTheContextIsDone(t *testing.T) {
	root := plant(t, t.TempDir(), "a", "b/c", "b/d/e", "f")
	why := errors.New("the user has had enough")
	for after, want := range []int{1, 2, 3, 4, 4} {
		ctx, cancel := context.WithCancelCause(t.Context())
		if after == 0 {
			cancel(why)
		}
		n, files := 0, 0
		var last error
		for _, err := range Walk(ctx, root, Options{}) {
			n++
			if last = err; err == nil {
				files++
			}
			if n == after {
				cancel(why)
			}
		}
		cancel(nil)
		if after < 4 && (last != why || files != after || n != want) {
			t.Errorf("cancelled after %d: got %d files and %d in all, the last error %v", after, files, n, last)
		}
		if after == 4 && (last != nil || files != 4) {
			t.Errorf("cancelled after the end: got %d files and %v", files, last)
		}
	}
}

func TestWalkStopsInTheMiddleOfReadingAFolder(t *testing.T) {
	root := plant(t, t.TempDir(), "a/b", "a/c")
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	w := walker{ctx: ctx}
	if names, err := w.names(&folder{path: root}); err != why || names != nil {
		t.Errorf("got %q and %v", names, err)
	}
	var got []error
	w.yield = func(_ File, err error) bool { got = append(got, err); return true }
	if w.walk(&folder{path: root}) || len(got) != 1 || got[0] != why {
		t.Errorf("the walk yields %v", got)
	}
	got = nil
	for _, err := range Walk(ctx, filepath.Join(root, "missing"), Options{}) {
		got = append(got, err)
	}
	if len(got) != 1 || got[0] != why {
		t.Errorf("a walk that was never to begin yields %v", got)
	}
}

func TestErrorsNameTheirPathOnce(t *testing.T) {
	for _, path := range []string{filepath.Join(t.TempDir(), "missing"), filepath.Join(t.TempDir(), "a\x01b")} {
		for _, err := range Walk(t.Context(), path, Options{}) {
			if !strings.HasPrefix(err.Error(), show(path)+": ") || strings.Count(err.Error(), filepath.Dir(path)) != 1 {
				t.Errorf("got %q", err)
			}
		}
	}
}

func TestWalkEndsWhenItsCallerDoes(t *testing.T) {
	bad := strings.Repeat("x", 200)
	root := plant(t, t.TempDir(), "a", "b/c", "loop->.", "nowhere->missing", "\x01", bad+"/"+bad+"/"+bad+"/"+bad+"/"+bad+"/"+bad+"/f")
	all := len(seen(t, root, Options{FollowSymlinks: true}))
	if all != 6 {
		t.Fatalf("the test's tree yields %d, want each kind once, that is 6", all)
	}
	for stop := range all {
		n := 0
		for range Walk(t.Context(), root, Options{FollowSymlinks: true}) {
			if n++; n > stop {
				break // a sequence that went on would panic
			}
		}
	}
}

func TestWalkMayBeRepeated(t *testing.T) {
	root := plant(t, t.TempDir(), "a", "b/c")
	files := Walk(t.Context(), root, Options{})
	for _, want := range []int{2, 3} {
		n := 0
		for range files {
			n++
		}
		if n != want {
			t.Errorf("got %d files, want %d", n, want)
		}
		plant(t, root, "b/d")
	}
}
