package chunker_test

import (
	"testing"

	"github.com/chunkup/chunkup/chunker"
)

func BenchmarkNewPlan(b *testing.B) {
	for name, size := range map[string]int64{"small": 4 << 10, "1GiB": 1 << 30, "largest": chunker.MaxObject} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := chunker.NewPlan(size, 0, chunker.Limits{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// All parts of the largest object, one after the other.
func BenchmarkParts(b *testing.B) {
	p, err := chunker.NewPlan(chunker.MaxObject, 0, chunker.Limits{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		var sum int64
		for part := range p.Parts() {
			sum += part.Size
		}
		if sum != p.Size {
			b.Fatalf("the parts have %d bytes", sum)
		}
	}
}

func BenchmarkPlanStream(b *testing.B) {
	for name, hint := range map[string]int64{"unknown": 0, "1TiB": 1 << 40} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := chunker.PlanStream(hint, 0, 256<<20, chunker.Limits{}, false); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
