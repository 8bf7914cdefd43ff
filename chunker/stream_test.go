package chunker_test

import (
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/chunkup/chunkup/chunker"
)

// A stream of 300 GiB, all at a thousandth but the number of parts: 300 MiB, parts
// of 5 KiB to 5 MiB, 128 KiB of memory. Its parts are sent by eight lanes.
func TestLongStream(t *testing.T) {
	const memory = 128 << 10
	limits := chunker.Limits{MinPart: 5 << 10, MaxPart: 5 << 20, MaxParts: 10_000}
	size := 300 * mib
	if testing.Short() {
		size /= 10
	}
	g, err := chunker.PlanStream(0, 0, memory, limits, false)
	if err != nil {
		t.Fatal(err)
	}
	whole := chunker.CRC64NVME.New()
	stream := io.TeeReader(io.LimitReader(rand.NewChaCha8([32]byte{}), size), whole)
	c := chunker.NewCutter(stream, g, chunker.NewMemory(memory))
	defer c.Close()

	lanes, pieces := new(sync.WaitGroup), make(chan *chunker.Piece)
	var held, highest atomic.Int64
	var sizes [10_001]int64
	var digests [10_001]chunker.Digest
	for range 8 {
		lanes.Go(func() {
			for p := range pieces {
				part := p.Part
				d, err := chunker.Sum(part.Reader(p), chunker.CRC64NVME)
				if err != nil {
					t.Error(err)
				}
				sizes[part.Number], digests[part.Number] = part.Size, d
				held.Add(-part.Size)
				p.Release()
			}
		})
	}
	count := 0
	for last := false; !last; count++ {
		var p *chunker.Piece
		p, last = next(t, c)
		highest.Store(max(highest.Load(), held.Add(p.Part.Size)))
		if p.Part.Number != count+1 || p.Part.Number > limits.MaxParts || p.Part.Size < limits.MinPart && !last || p.Part.Size > limits.MaxPart {
			t.Fatalf("%+v is not legal, last %t", p.Part, last)
		}
		pieces <- p
	}
	close(pieces)
	lanes.Wait()
	if c.Size() != size || highest.Load() > memory {
		t.Errorf("%d bytes, %d of them in memory at once", c.Size(), highest.Load())
	}
	joined, err := chunker.Join(sizes[1:count+1], digests[1:count+1])
	want, _ := chunker.NewDigest(chunker.CRC64NVME, whole.Sum(nil))
	if err != nil || joined != want {
		t.Errorf("%d parts: %v, %v; want %v", count, joined, err, want)
	}
	t.Logf("%d parts up to %d bytes, %d of %d bytes of memory", count, sizes[count-1], highest.Load(), memory)
}

func BenchmarkCutter(b *testing.B) {
	m := chunker.NewMemory(64 * mib)
	b.SetBytes(256 * mib)
	b.ReportAllocs()
	for b.Loop() {
		c := chunker.NewCutter(io.LimitReader(still{}, 256*mib), fixed(16*mib, 16), m)
		for last := false; !last; {
			p, l, err := c.Next(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			last = l
			p.Release()
		}
		c.Close()
	}
}
