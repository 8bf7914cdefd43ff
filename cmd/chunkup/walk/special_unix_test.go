//go:build unix

package walk

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// R59, https://github.com/aws/aws-cli/issues/3709: a link to a parent made five million
// objects, until the keys were too long.
func TestR59EveryOddThingInATreeIsPassedOver(t *testing.T) {
	outside := plant(t, t.TempDir(), "far")
	deep := "deep/" + strings.Repeat("d/", 300)
	root := plant(t, t.TempDir(), "a", "folder/b", "folder/up->..", "self->self", "one->folder", "two->folder",
		"out->"+outside, "nowhere->missing", "zero->/dev/zero", "new\nline", deep+"f")
	must(t, syscall.Mkfifo(filepath.Join(root, "fifo"), 0o644))
	listen(t, filepath.Join(root, "s"))
	deepKey := deep + "f"
	for name, c := range map[string]struct {
		o    Options
		want []string
	}{
		"not followed": {Options{}, []string{"a", deepKey, "skip: fifo", "folder/b", "skip: folder/up", "new\nline", "skip: nowhere",
			"skip: one", "skip: out", "skip: s", "skip: self", "skip: two", "skip: zero"}},
		"followed": {Options{FollowSymlinks: true}, []string{"a", deepKey, "skip: fifo", "folder/b", "loop: folder/up", "new\nline",
			"skip: nowhere", "one/b", "loop: one/up", "out/far", "skip: s", "error: self", "two/b", "loop: two/up", "skip: zero"}},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			if diff := cmp.Diff(c.want, seen(t, root, c.o)); diff != "" {
				t.Error(diff)
			}
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// https://github.com/aws/aws-cli/issues/3671 and /7072: warnings of a socket that was
// excluded, and of a link that was.
func TestWhatIsExcludedIsNotWarnedOf(t *testing.T) {
	root := plant(t, t.TempDir(), "package.json", "nowhere->missing", "self->self", "bad\x01name", "bad\xffname/x", "zero->/dev/zero", "sub/up->..")
	must(t, syscall.Mkfifo(filepath.Join(root, "fifo"), 0o644))
	listen(t, filepath.Join(root, "s"))
	for _, patterns := range [][]string{{"-*", "+package*"}, {"-*", "+*.json"}, {"-*", "+package.json"}} {
		for _, follow := range []bool{false, true} {
			got := seen(t, root, Options{Filter: filterOf(t, patterns...), FollowSymlinks: follow})
			// Where any name may end in .json, so may one in a folder that a link leads to.
			got = slices.DeleteFunc(got, func(s string) bool {
				return patterns[1] == "+*.json" && (s == "skip: sub/up" || s == "loop: sub/up" || strings.HasPrefix(s, "key: "))
			})
			if diff := cmp.Diff([]string{"package.json"}, got); diff != "" {
				t.Errorf("%q, followed %v: %s", patterns, follow, diff)
			}
		}
	}
}

func TestSkippedThingsAreToldInWords(t *testing.T) {
	root := t.TempDir()
	must(t, syscall.Mkfifo(filepath.Join(root, "fifo\n"), 0o644))
	listen(t, filepath.Join(root, "s"))
	link(t, "/dev/zero", filepath.Join(root, "zero"))
	want := []string{fmt.Sprintf("%q: skipped: it is a named pipe", root+"/fifo\n"), root + "/s: skipped: it is a socket", root + "/zero: skipped: it is a device"}
	var got []string
	for _, err := range Walk(t.Context(), root, Options{FollowSymlinks: true}) {
		got = append(got, err.Error())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestRootIsAFolderBeforeItIsOpened(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	must(t, syscall.Mkfifo(fifo, 0o644))
	for _, err := range Walk(t.Context(), fifo, Options{}) { // opening it would wait for a writer
		if !errors.Is(err, syscall.ENOTDIR) || !strings.Contains(err.Error(), fifo) {
			t.Errorf("got %v", err)
		}
	}
}

// What ".." means after a link is not what it means in the text of a path.
func TestDotsAfterALinkLeadWhereTheLinkLeads(t *testing.T) {
	base := plant(t, t.TempDir(), "here/link->../there/sub", "here/wrong", "there/sub/", "there/right")
	root := base + "/here/link/.."
	if got := seen(t, root, Options{}); !slices.Equal(got, []string{"right"}) {
		t.Errorf("got %q", got)
	}
	for file, err := range Walk(t.Context(), root, Options{}) {
		must(t, err)
		if _, err := os.Stat(file.Path); err != nil {
			t.Error(err)
		}
	}
}

func TestUnreadableFolder(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	root := plant(t, t.TempDir(), "a", "m/n", "z")
	must(t, os.Chmod(filepath.Join(root, "m"), 0))
	t.Cleanup(func() { os.Chmod(filepath.Join(root, "m"), 0o755) })
	if got := seen(t, root, Options{}); !slices.Equal(got, []string{"a", "error: m", "z"}) {
		t.Errorf("got %q", got)
	}
	for _, err := range Walk(t.Context(), root, Options{}) {
		if err != nil && !errors.Is(err, fs.ErrPermission) {
			t.Errorf("got %v", err)
		}
	}
}

func listen(t *testing.T, path string) {
	t.Helper()
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Skipf("no sockets here: %v", err)
	}
	t.Cleanup(func() { l.Close() })
}
