package chunker_test

import (
	"cmp"
	"errors"
	"math"
	"testing"

	"github.com/chunkup/chunkup/chunker"
	"pgregory.net/rapid"
)

// looked is how many parts of a plan are looked at one by one: all that any store
// takes, and the ends of what no store takes.
const looked = chunker.MaxParts

// checkPlan fails unless the parts of an accepted plan tile the object within
// the limits.
func checkPlan(t interface{ Fatalf(string, ...any) }, p chunker.Plan, size, want, least, most int64, parts int) {
	n := p.Len()
	if p.Size != size || n < 1 || n > parts || p.PartSize < least || p.PartSize > most || p.PartSize < want {
		t.Fatalf("%+v has %d parts; size %d, want %d, parts 1..%d of %d..%d", p, n, size, want, parts, least, most)
	}
	next := int64(0)
	for i := range min(n, looked) {
		next = checkPart(t, p, i+1, next)
	}
	if n > looked {
		next = int64(n-looked) * p.PartSize
		for i := range looked {
			next = checkPart(t, p, n-looked+1+i, next)
		}
	}
	if next != size {
		t.Fatalf("%+v ends at %d", p, next)
	}
}

// checkPart checks part n, which should begin at offset, and returns where the
// one after it should.
func checkPart(t interface{ Fatalf(string, ...any) }, p chunker.Plan, n int, offset int64) int64 {
	part := p.Part(n)
	if part.Number != n || part.Offset != offset || part.Size > p.PartSize || part.Size < 0 ||
		n < p.Len() && part.Size != p.PartSize || part.Size == 0 && p.Size != 0 {
		t.Fatalf("part %d of %+v is %+v, expected offset %d", n, p, part, offset)
	}
	return offset + part.Size
}

// anySize draws sizes of every magnitude, powers of two and their neighbours
// among them.
var anySize = rapid.Custom(func(t *rapid.T) int64 {
	n := int64(1) << rapid.IntRange(0, 62).Draw(t, "magnitude")
	return n + rapid.Int64Range(-3, n-1).Draw(t, "above")
})

// R37 (https://github.com/apache/opendal/issues/2904): R2 refuses parts of
// different sizes.
func TestPlanTiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size, want := anySize.Draw(t, "size"), anySize.Draw(t, "want")
		least, most := anySize.Draw(t, "least"), anySize.Draw(t, "most")
		parts := rapid.IntRange(1, 300).Draw(t, "parts")
		if rapid.Bool().Draw(t, "sensible") {
			least, most = max(1, min(least, most)), max(1, least, most)
			want = min(max(want, least), most)
			if room := most * int64(parts); room/int64(parts) == most {
				size = max(0, size) % (room + 1)
			}
		}
		if least == 0 || most == 0 {
			return // means S3's
		}
		if rapid.Bool().Draw(t, "auto") {
			want = 0
		}
		p, err := chunker.NewPlan(size, want, chunker.Limits{MinPart: least, MaxPart: most, MaxParts: parts})
		possible := size >= 0 && least > 0 && most >= least && pieces(size, most) <= int64(parts) && (want == 0 || want >= least && want <= most)
		if possible != (err == nil) {
			t.Fatalf("size %d, want %d, parts 1..%d of %d..%d: %v", size, want, parts, least, most, err)
		}
		if err == nil {
			checkPlan(t, p, size, want, least, most, parts)
		}
	})
}

// Every object that a store takes has a plan that the store takes.
func TestPlanOfEveryStore(t *testing.T) {
	stores := []chunker.Limits{s3, r2, gcs, few, storj, metric}
	rapid.Check(t, func(t *rapid.T) {
		limits := rapid.SampledFrom(stores).Draw(t, "store")
		least, most := cmp.Or(limits.MinPart, chunker.MinPart), cmp.Or(limits.MaxPart, chunker.MaxPart)
		parts := cmp.Or(limits.MaxParts, chunker.MaxParts)
		largest := cmp.Or(limits.MaxObject, most*int64(parts))
		size := rapid.OneOf(
			rapid.Int64Range(0, largest),
			rapid.Int64Range(0, 100*mib),
			rapid.Custom(func(t *rapid.T) int64 { return largest - rapid.Int64Range(0, 100).Draw(t, "below the largest") }),
		).Draw(t, "size")
		want := rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(least, most)).Draw(t, "want")
		p, err := chunker.NewPlan(size, want, limits)
		if err != nil {
			t.Fatal(err)
		}
		checkPlan(t, p, size, want, least, most, parts)
	})
}

// pieces returns size/piece rounded up, the slow way.
func pieces(size, piece int64) int64 {
	n := size / piece
	if n*piece < size {
		n++
	}
	return n
}

// A size that would need too many parts, asked for or the default, grows no more
// than it must: to the least whole MiB with which the numbers are enough. The
// default leaves a twentieth of them unused, as far as the largest part allows.
func TestNewPlanGrowsJustEnough(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := max(0, anySize.Draw(t, "size")) % (chunker.MaxObject + 1)
		want := min(max(anySize.Draw(t, "want"), chunker.MinPart), chunker.MaxPart)
		numbers := int64(chunker.MaxParts)
		asked := want
		if rapid.Bool().Draw(t, "auto") {
			asked, want, numbers = 0, usual(size), chunker.MaxParts*19/20
		}
		p, err := chunker.NewPlan(size, asked, chunker.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if pieces(size, want) > numbers {
			for want += mib - want%mib; pieces(size, want) > numbers && want < chunker.MaxPart; want += mib {
			}
		}
		if p.PartSize != want {
			t.Fatalf("%d bytes, asked for %d: parts of %d, want %d", size, asked, p.PartSize, want)
		}
	})
}

// usual is the part size that only the object's size decides.
func usual(size int64) int64 {
	switch {
	case size < 512*mib:
		return 8 * mib
	case size < 2048*16*mib:
		return 16 * mib
	}
	return min((pieces(size/2048, mib))*mib, 64*mib)
}

func FuzzPlan(f *testing.F) {
	f.Add(int64(0), int64(0), int64(0), int64(0), 0, int64(0))
	f.Add(chunker.MaxObject, int64(0), int64(0), int64(0), 0, int64(0))
	f.Add(int64(math.MaxInt64), int64(1), int64(1), int64(math.MaxInt64), math.MaxInt, int64(math.MaxInt64))
	f.Add(int64(math.MinInt64), int64(-1), int64(-1), int64(5), -1, int64(7))
	f.Fuzz(func(t *testing.T, size, want, least, most int64, parts int, object int64) {
		p, err := chunker.NewPlan(size, want, chunker.Limits{MinPart: least, MaxPart: most, MaxParts: parts, MaxObject: object})
		if err != nil {
			limit, ok := errors.AsType[*chunker.LimitError](err)
			if !ok || limit.Value == limit.Limit || limit.Error() == "" {
				t.Fatalf("%v", err)
			}
			return
		}
		for _, zero := range []struct {
			field *int64
			s3    int64
		}{{&least, chunker.MinPart}, {&most, chunker.MaxPart}} {
			if *zero.field == 0 {
				*zero.field = zero.s3
			}
		}
		if parts == 0 {
			parts = chunker.MaxParts
		}
		checkPlan(t, p, size, want, least, most, parts)
	})
}
