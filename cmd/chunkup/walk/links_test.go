package walk

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWalkPassesOverLinks(t *testing.T) {
	other := plant(t, t.TempDir(), "x/y")
	root := plant(t, t.TempDir(), "a", "file->a", "folder->"+other, "nowhere->missing", "self->self")
	want := []string{"a", "skip: file", "skip: folder", "skip: nowhere", "skip: self"}
	if diff := cmp.Diff(want, seen(t, root, Options{})); diff != "" {
		t.Error(diff)
	}
	for _, err := range Walk(t.Context(), root, Options{}) {
		skip, ok := errors.AsType[*SkipError](err)
		if ok && (skip.Mode != fs.ModeSymlink || skip.Dangling || !strings.HasSuffix(err.Error(), "it is a link, and links are not followed")) {
			t.Errorf("%+v: %v", skip, err)
		}
	}
}

func TestWalkFollowsLinks(t *testing.T) {
	other := plant(t, t.TempDir(), "x/y")
	root := plant(t, t.TempDir(), "a", "file->a", "folder->"+other, "again->"+other, "nowhere->missing", "chain->file")
	want := []string{"a", "again/x/y", "chain", "file", "folder/x/y", "skip: nowhere"}
	if diff := cmp.Diff(want, seen(t, root, Options{FollowSymlinks: true})); diff != "" {
		t.Error(diff)
	}
	for _, err := range Walk(t.Context(), root, Options{FollowSymlinks: true}) {
		skip, ok := errors.AsType[*SkipError](err)
		if ok && (skip.Mode != fs.ModeSymlink || !skip.Dangling || !strings.HasSuffix(err.Error(), "it is a link to what does not exist")) {
			t.Errorf("%+v: %v", skip, err)
		}
	}
}

func TestWalkFindsLoops(t *testing.T) {
	for name, c := range map[string]struct{ tree, want []string }{
		"to itself":            {[]string{"a", "self->self"}, []string{"a", "error: self"}},
		"to the root":          {[]string{"a", "b/up->.."}, []string{"a", "loop: b/up"}},
		"to its folder":        {[]string{"a", "b/c", "b/here->."}, []string{"a", "b/c", "loop: b/here"}},
		"above the root":       {[]string{"a", "b/up->../.."}, []string{"a", "loop: b/up/root"}},
		"two that hold others": {[]string{"a/to->../b", "b/to->../a"}, []string{"loop: a/to/to", "loop: b/to/to"}},
	} {
		t.Run(name, func(t *testing.T) {
			root := plant(t, t.TempDir()+"/root", c.tree...)
			if diff := cmp.Diff(c.want, seen(t, root, Options{FollowSymlinks: true})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLoopsAreToldInWords(t *testing.T) {
	root := plant(t, t.TempDir(), "b/up->..")
	for _, err := range Walk(t.Context(), root, Options{FollowSymlinks: true}) {
		want := root + "/b/up: a loop of links: it is " + root + " again"
		if got := strings.ReplaceAll(err.Error(), `\`, "/"); got != strings.ReplaceAll(want, `\`, "/") {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
