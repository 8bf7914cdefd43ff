package walk

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// plant makes a tree: a name that ends in a slash is a folder, one with "->" in it a
// link, and any other a file that holds its own name.
func plant(t testing.TB, root string, names ...string) string {
	t.Helper()
	for _, name := range names {
		name, target, isLink := strings.Cut(name, "->")
		path := filepath.Join(root, filepath.FromSlash(name))
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		switch {
		case isLink:
			link(t, filepath.FromSlash(target), path)
		case strings.HasSuffix(name, "/"):
			must(t, os.MkdirAll(path, 0o755))
		default:
			must(t, os.WriteFile(path, []byte(name), 0o644))
		}
	}
	return root
}

func link(t testing.TB, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Skipf("this system lets nobody make links: %v", err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// seen is all that a walk yields, a line each: a key, or "kind: path under the root".
func seen(t testing.TB, root string, o Options) []string {
	t.Helper()
	var lines []string
	for file, err := range Walk(t.Context(), root, o) {
		lines = append(lines, line(t, root, file, err))
	}
	return lines
}

func line(t testing.TB, root string, file File, err error) string {
	t.Helper()
	if err == nil {
		return file.Key
	}
	if file != (File{}) {
		t.Errorf("%+v comes with the error %v", file, err)
	}
	var kind, path string
	if skip, ok := errors.AsType[*SkipError](err); ok {
		kind, path = "skip", skip.Path
	} else if failed, ok := errors.AsType[*Error](err); ok {
		kind, path = "error", failed.Path
	} else {
		t.Fatalf("%T is neither an *Error nor a *SkipError: %v", err, err)
	}
	switch {
	case errors.Is(err, ErrLoop):
		kind = "loop"
	case errors.Is(err, ErrKey):
		kind = "key"
	case errors.Is(err, os.ErrNotExist):
		kind = "gone"
	}
	rel, relErr := filepath.Rel(root, path)
	must(t, relErr)
	return kind + ": " + filepath.ToSlash(rel)
}

// filterOf adds patterns in their order: one that begins with a minus excludes, one that
// begins with a plus includes.
func filterOf(t testing.TB, patterns ...string) Filter {
	t.Helper()
	var f Filter
	for _, p := range patterns {
		if rest, out := strings.CutPrefix(p, "-"); out {
			must(t, f.Exclude(rest))
		} else {
			must(t, f.Include(strings.TrimPrefix(p, "+")))
		}
	}
	return f
}
