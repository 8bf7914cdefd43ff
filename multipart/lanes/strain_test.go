package lanes_test

import (
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/chunkup/chunkup/multipart/lanes"
)

// What is refused once in thirteen times or less often moves no limit of four lanes
// or more. When one in four is refused it falls before two rounds and a dozen parts
// are over; when all are, before a quarter of a round and four.
func TestStrainProperties(t *testing.T) {
	cases(t, 300)
	rapid.Check(t, func(rt *rapid.T) {
		limit := rapid.IntRange(1, 64).Draw(rt, "limit")
		calm := rapid.IntRange(0, 4*limit).Draw(rt, "successes before")
		every := rapid.SampledFrom([]int{1, 2, 3, 4, 13, 20, 50}).Draw(rt, "one in")
		which := rapid.IntRange(0, every-1).Draw(rt, "which")
		most := 2*limit + 12
		if every == 1 {
			most = limit/4 + 4
		}
		var got, ends int
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, lanes.Options{Start: limit})
			r.end(calm, lanes.Success)
			for ; ends < most && r.Limit() == limit; ends++ {
				if ends%every == which {
					r.end(1, lanes.Throttled)
				} else {
					r.end(1, lanes.Success)
				}
			}
			got = r.Limit()
		})
		if chance := every >= 13; chance && limit >= 4 && got < limit || !chance && limit > 1 && got == limit {
			rt.Fatalf("limit %d after %d ends", got, ends)
		}
	})
}
