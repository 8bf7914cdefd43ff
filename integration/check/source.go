package check

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// Source is Size bytes that are computed when they are read: each aligned
// 8-byte word is its own offset XOR a seed, little endian. So every word of up
// to 2^64 bytes tells where it belongs, and data that is missing, repeated,
// swapped or of another source shows. The zero value is empty. It is a value
// and safe for concurrent use.
type Source struct {
	seed uint64
	size int64
}

var _ io.ReaderAt = Source{}

// Pattern returns a source of size bytes that is the same in every run.
func Pattern(size int64) Source {
	// Any number without zero bytes, so that zeroed data never fits.
	return Source{seed: 0x9e3779b97f4a7c15, size: size}
}

// Random returns a source of size bytes that no other source is equal to. The
// seed is logged if the test fails.
func Random(t testing.TB, size int64) Source {
	var b [8]byte
	// Never returns an error.
	_, _ = rand.Read(b[:])
	s := Source{seed: binary.LittleEndian.Uint64(b[:]), size: size}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("check: random source of %d bytes had the seed %#x", s.size, s.seed)
		}
	})
	return s
}

// Size is the number of bytes.
func (s Source) Size() int64 { return s.size }

// ReadAt implements io.ReaderAt.
func (s Source) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, fmt.Errorf("check: read at negative offset %d", off)
	}
	n := int(max(0, min(int64(len(p)), s.size-off)))
	s.fill(p[:n], off)
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// fill writes the words from off on. The race detector would watch every one of
// them, and take most of the time of a test that reads a gigabyte.
//
//go:norace
func (s Source) fill(p []byte, off int64) {
	var word [8]byte
	for i := 0; i < len(p); {
		at := off + int64(i)
		base := at &^ 7
		if at == base && len(p)-i >= 8 {
			binary.LittleEndian.PutUint64(p[i:], uint64(at)^s.seed)
			i += 8
			continue
		}
		binary.LittleEndian.PutUint64(word[:], uint64(base)^s.seed)
		i += copy(p[i:], word[at-base:])
	}
}

// origin tells for an aligned word where in the source it belongs.
func (s Source) origin(word []byte) (int64, bool) {
	off := int64(binary.LittleEndian.Uint64(word) ^ s.seed)
	return off, off >= 0 && off <= s.size-8 && off%8 == 0
}

// TempFile writes the source to a file that is removed with the test and
// returns its path.
func TempFile(t testing.TB, s Source) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "source")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(f, io.NewSectionReader(s, 0, s.size))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		t.Fatalf("check: write %s: %v", path, err)
	}
	return path
}
