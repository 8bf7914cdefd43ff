package breaker_test

import (
	"testing"

	"github.com/chunkup/chunkup/breaker"
)

// What each attempt pays at a closed breaker.
func BenchmarkAllowReport(b *testing.B) {
	attempt := func(b *testing.B, br *breaker.Breaker) {
		p, err := br.Allow("op")
		if err != nil {
			b.Error(err)
			return
		}
		p.Report(breaker.Success)
	}
	b.Run("alone", func(b *testing.B) {
		br := breaker.New(breaker.Options{})
		b.ReportAllocs()
		for b.Loop() {
			attempt(b, br)
		}
	})
	b.Run("contended", func(b *testing.B) {
		br := breaker.New(breaker.Options{})
		b.ReportAllocs()
		b.SetParallelism(64)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				attempt(b, br)
			}
		})
	})
}
