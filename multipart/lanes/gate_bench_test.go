package lanes_test

import (
	"runtime"
	"testing"

	"github.com/chunkup/chunkup/multipart/lanes"
)

// What each part pays for its lane: where there is one free, and where 64 want one of
// the few that there are at first.
func BenchmarkLane(b *testing.B) {
	one := func(b *testing.B, g *lanes.Gate) {
		l, err := g.Acquire(b.Context(), false)
		if err != nil {
			b.Error(err)
			return
		}
		l.Release(lanes.Ignored)
	}
	b.Run("free", func(b *testing.B) {
		g := lanes.New(lanes.Options{})
		b.ReportAllocs()
		for b.Loop() {
			one(b, g)
		}
	})
	b.Run("contended", func(b *testing.B) {
		g := lanes.New(lanes.Options{Start: 4, Max: 4})
		b.ReportAllocs()
		b.SetParallelism(64 / runtime.GOMAXPROCS(0))
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				one(b, g)
			}
		})
	})
}
