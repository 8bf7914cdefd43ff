//go:build !race

package chunker_test

import (
	"bytes"
	"io"
	"runtime/debug"
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

// However long a stream is, its buffers are those that fit in memory at once.
func TestLongStreamUsesItsBlocksAgain(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which forgets blocks, too
	g := chunker.Growth{First: 100_000, Every: 500, Max: 700_000, Parts: 2000}
	m := chunker.NewMemory(2 * mib)
	made := m.CountBlocks()
	c := chunker.NewCutter(io.LimitReader(still{}, g.Capacity()), g, m)
	var kept []*chunker.Piece
	held, most := int64(0), 0
	for n, last := 1, false; !last; n++ {
		for held+g.PartSize(n) > m.Limit() {
			held -= kept[0].Part.Size
			kept[0].Release()
			kept = kept[1:]
		}
		var p *chunker.Piece
		p, last = next(t, c)
		kept, held = append(kept, p), held+p.Part.Size
		most = max(most, len(kept))
	}
	if limit := m.Limit()/m.Block() + int64(most); made.Load() > limit || c.Size() != g.Capacity() {
		t.Errorf("%d blocks for %d bytes, want at most %d", made.Load(), c.Size(), limit)
	}
}
