package walk

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// sow makes n empty files in a folder.
func sow(t testing.TB, folder string, n int) {
	t.Helper()
	must(t, os.MkdirAll(folder, 0o755))
	for i := range n {
		file, err := os.Create(filepath.Join(folder, fmt.Sprintf("%06d", i)))
		must(t, err)
		must(t, file.Close())
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// 64 bytes for each name is room for the name, what refers to it, and a slice that grew;
// to keep what lstat says takes more than 200.
func TestWalkOfABigFolderKeepsItsNamesAndNoMore(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes 100,000 files")
	}
	const files = 100_000
	root := t.TempDir()
	sow(t, root, files)
	before, most, n := heap(), int64(0), 0
	last := ""
	for file, err := range Walk(t.Context(), root, Options{}) {
		must(t, err)
		if file.Key <= last {
			t.Fatalf("%s comes after %s", file.Key, last)
		}
		last = file.Key
		if n++; n%(files/4) == 1 {
			most = max(most, heap()-before)
		}
	}
	if n != files || most > 64*files {
		t.Errorf("got %d files and %d bytes of memory, want %d and at most %d", n, most, files, 64*files)
	}
}

// The memory is that of one folder, however many of them there have been.
func TestWalkForgetsFoldersThatItHasLeft(t *testing.T) {
	root := t.TempDir()
	const folders, files = 20, 1000
	for i := range folders {
		sow(t, filepath.Join(root, fmt.Sprintf("%02d", i)), files)
	}
	before, most, n := heap(), int64(0), 0
	for _, err := range Walk(t.Context(), root, Options{}) {
		must(t, err)
		if n++; n%files == files/2 {
			most = max(most, heap()-before)
		}
	}
	if limit := int64(4 * 64 * files); n != folders*files || most > limit {
		t.Errorf("got %d files and %d bytes of memory, want %d and at most %d", n, most, folders*files, limit)
	}
}

func BenchmarkWalk(b *testing.B) {
	root := b.TempDir()
	const folders, files = 100, 100
	for i := range folders {
		sow(b, filepath.Join(root, fmt.Sprintf("%02d", i)), files)
	}
	var chosen Filter
	must(b, chosen.Exclude("*.tmp"))
	for name, o := range map[string]Options{"plain": {}, "filtered": {Filter: chosen}, "followed": {FollowSymlinks: true}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				n := 0
				for range Walk(b.Context(), root, o) {
					n++
				}
				if n != folders*files {
					b.Fatalf("got %d files", n)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(folders*files), "ns/file")
		})
	}
}

func BenchmarkMatch(b *testing.B) {
	const key = "src/github.com/someone/something/internal/package/file_name_test.go"
	for _, patterns := range [][]string{{"-*.tmp"}, {"-*/node_modules/*", "-*.git/*", "-*~"}, {"-*", "+src/*.go"}, {"-[!a-z]*"}} {
		b.Run(fmt.Sprint(patterns), func(b *testing.B) {
			f := filterOf(b, patterns...)
			b.ReportAllocs()
			for b.Loop() {
				if !f.Match(key) {
					b.Fatal("it is out")
				}
			}
		})
	}
}
