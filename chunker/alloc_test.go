//go:build !race

package chunker_test

import (
	"bytes"
	"testing"

	"github.com/chunkup/chunkup/chunker"
)

// Not under the race detector, which makes pools forget at random.
func TestSumDoesNotAllocate(t *testing.T) {
	data := noise(1000)
	for _, a := range algorithms {
		r := bytes.NewReader(data)
		if n := testing.AllocsPerRun(100, func() {
			r.Reset(data)
			if _, err := chunker.Sum(r, a); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", a, n)
		}
	}
}
