package multipart

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chunkup/chunkup/chunker"
)

// Under a bound on the bandwidth a file is read, for the kernel would send it past the
// bound; without one the kernel may.
func TestPacedFileIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, make([]byte, 10), 0o600); err != nil {
		t.Fatal(err)
	}
	src, err := chunker.OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	part := chunker.Part{Number: 1, Size: 10}
	for _, e := range []*Endpoint{{}, {pace: newPace(1)}} {
		r := e.paced(t.Context(), part.Reader(src))
		if _, unread := r.(interface{ Skip(n int64) }); unread != (e.pace == nil) {
			t.Errorf("bound: %v; sent unread: %v", e.pace != nil, unread)
		}
	}
}
