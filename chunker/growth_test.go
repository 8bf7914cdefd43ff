package chunker_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/chunkup/chunkup/chunker"
	"pgregory.net/rapid"
)

func TestPlanStream(t *testing.T) {
	for name, c := range map[string]struct {
		hint, want, memory int64
		limits             chunker.Limits
		equal              bool
		growth             chunker.Growth
		capacity           int64
	}{
		"default": {0, 0, 256 * mib, s3, false,
			chunker.Growth{First: 16 * mib, Every: 833, Max: 128 * mib, Parts: 10_000, Object: chunker.MaxObject}, (833*(16+32+64) + 7501*128) * mib},
		"little memory": {0, 0, 10 * mib, s3, false,
			chunker.Growth{First: 5 * mib, Max: 5 * mib, Parts: 10_000, Object: chunker.MaxObject}, 50_000 * mib},
		"half way": {0, 0, 30 * mib, s3, false,
			chunker.Growth{First: 5 * mib, Every: 1000, Max: 15 * mib, Parts: 10_000, Object: chunker.MaxObject}, (1000*(5+10) + 8000*15) * mib},
		"no more than the largest object needs": {0, 0, 64 * gib, chunker.Limits{MaxObject: 200 * gib}, false,
			chunker.Growth{First: 16 * mib, Every: 1000, Max: 32 * mib, Parts: 10_000, Object: 200 * gib}, 200 * gib},
		"no growth needed": {0, 0, 64 * gib, chunker.Limits{MaxObject: 100 * gib}, false,
			chunker.Growth{First: 16 * mib, Max: 16 * mib, Parts: 10_000, Object: 100 * gib}, 100 * gib},
		"few parts": {0, 0, 256 * mib, chunker.Limits{MaxParts: 3}, false,
			chunker.Growth{First: 128 * mib, Max: 128 * mib, Parts: 3, Object: 15 * gib}, 3 * 128 * mib},
		"equal": {0, 0, 256 * mib, r2, true,
			chunker.Growth{First: 32 * mib, Max: 32 * mib, Parts: 10_000, Object: 5*tib - 5*gib}, 320_000 * mib},
		"equal, no more than needed": {0, 0, 256 * mib, chunker.Limits{MaxObject: 100 * gib}, true,
			chunker.Growth{First: 11 * mib, Max: 11 * mib, Parts: 10_000, Object: 100 * gib}, 100 * gib},
		"equal, hint": {200 * gib, 0, 256 * mib, r2, true,
			chunker.Growth{First: 22 * mib, Max: 22 * mib, Parts: 10_000, Object: 5*tib - 5*gib}, 220_000 * mib},
		"hint": {gib, 0, 256 * mib, s3, false,
			chunker.Growth{First: 16 * mib, Kept: 64, Every: 833, Max: 128 * mib, Parts: 10_000, Object: chunker.MaxObject}, (833*(16+32+64) + 7501*128) * mib},
		"hint, beyond the first doubling": {20 * gib, 0, 256 * mib, s3, false,
			chunker.Growth{First: 16 * mib, Kept: 1280, Every: 833, Max: 128 * mib, Parts: 10_000, Object: chunker.MaxObject}, (1280*16 + 386*32 + 833*64 + 7501*128) * mib},
		"hint, few parts": {400 * mib, 0, 256 * mib, chunker.Limits{MaxParts: 20}, false,
			chunker.Growth{First: 22 * mib, Kept: 19, Every: 1, Max: 128 * mib, Parts: 20, Object: 100 * gib}, (19*22 + 128) * mib},
		"hint, parts less than the plan's, with room": {60_000 * mib, 0, 20 * mib, s3, false,
			chunker.Growth{First: 10 * mib, Max: 10 * mib, Parts: 10_000, Object: chunker.MaxObject}, 100_000 * mib},
		"hint, half of the numbers left": {30_000 * mib, 0, 20 * mib, s3, false,
			chunker.Growth{First: 6 * mib, Kept: 5000, Every: 1000, Max: 10 * mib, Parts: 10_000, Object: chunker.MaxObject}, 80_000 * mib},
		"hint, no time to grow": {mib, 0, 256 * mib, chunker.Limits{MaxParts: 3}, false,
			chunker.Growth{First: 8 * mib, Kept: 1, Max: 128 * mib, Parts: 3, Object: 15 * gib}, (8 + 2*128) * mib},
		"hint, kept as it is": {100 * gib, 0, 256 * mib, s3, false,
			chunker.Growth{First: 16 * mib, Kept: 6400, Every: 833, Max: 128 * mib, Parts: 10_000, Object: chunker.MaxObject}, (6400*16 + 3600*128) * mib},
		"hint, parts less than the plan's": {gib, 0, 20 * mib, s3, true,
			chunker.Growth{First: 5 * mib, Max: 5 * mib, Parts: 10_000, Object: chunker.MaxObject}, 50_000 * mib},
		"pinned": {0, 5 * mib, 256 * mib, s3, false,
			chunker.Growth{First: 5 * mib, Max: 5 * mib, Parts: 10_000, Object: chunker.MaxObject}, 50_000 * mib},
		"pinned and hint, as NewPlan has it": {60_000 * mib, 5 * mib, 256 * mib, s3, false,
			chunker.Growth{First: 6 * mib, Max: 6 * mib, Parts: 10_000, Object: chunker.MaxObject}, 60_000 * mib},
		"pinned and hint, no room to round": {50_001 * mib, 5 * mib, 11 * mib, s3, false,
			chunker.Growth{First: 5*mib + 105, Max: 5*mib + 105, Parts: 10_000, Object: chunker.MaxObject}, 10_000 * (5*mib + 105)},
	} {
		t.Run(name, func(t *testing.T) {
			g, err := chunker.PlanStream(c.hint, c.want, c.memory, c.limits, c.equal)
			if g != c.growth || err != nil || g.Capacity() != c.capacity {
				t.Errorf("got %+v, capacity %d, %v\nwant %+v, capacity %d", g, g.Capacity(), err, c.growth, c.capacity)
			}
		})
	}
}

func TestPlanStreamRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		hint, want, memory int64
		limits             chunker.Limits
		err                string
	}{
		"no memory":       {0, 0, 0, s3, "memory of 0 bytes is below the minimum of 10485760 bytes (10 MiB): two parts of 5242880 bytes (5 MiB) must fit"},
		"negative memory": {0, 0, -1, s3, "memory of -1 bytes is below the minimum of 10485760 bytes (10 MiB): two parts of 5242880 bytes (5 MiB) must fit"},
		"pinned":          {0, 100 * mib, 199 * mib, s3, "memory of 208666624 bytes (199 MiB) is below the minimum of 209715200 bytes (200 MiB): two parts of 104857600 bytes (100 MiB) must fit"},
		"hint":            {10_000 * 100 * mib, 0, 199 * mib, s3, "memory of 208666624 bytes (199 MiB) is below the minimum of 209715200 bytes (200 MiB): two parts of 104857600 bytes (100 MiB) must fit"},
		"hint too large":  {6 * tib, 0, gib, gcs, "object size of 6597069766656 bytes (6 TiB) is above the maximum of 5497558138880 bytes (5 TiB)"},
		"hint negative":   {-1, 0, gib, s3, "object size of -1 bytes is below the minimum of 0 bytes"},
		"want too small":  {0, mib, gib, s3, "part size of 1048576 bytes (1 MiB) is below the minimum of 5242880 bytes (5 MiB)"},
		"limits":          {0, 0, gib, chunker.Limits{MaxParts: -1}, "largest number of parts of the store of -1 is below the minimum of 1"},
		"overflow": {0, 0, gib, chunker.Limits{MinPart: math.MaxInt64, MaxPart: math.MaxInt64},
			"memory of 1073741824 bytes (1 GiB) is below the minimum of 9223372036854775807 bytes (8 EiB): two parts of 9223372036854775807 bytes (8 EiB) must fit"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, equal := range []bool{false, true} {
				g, err := chunker.PlanStream(c.hint, c.want, c.memory, c.limits, equal)
				if _, ok := errors.AsType[*chunker.LimitError](err); !ok || g != (chunker.Growth{}) || err.Error() != c.err {
					t.Errorf("got %+v, %v\nwant %s", g, err, c.err)
				}
			}
		})
	}
}

// R11 (https://github.com/aws/aws-cli/issues/6120): a pipe fails after hours
// because part 10,001 is illegal.
func TestR11StreamsGrow(t *testing.T) {
	limits := chunker.Limits{MaxParts: 20}
	for _, equal := range []bool{false, true} {
		for _, hint := range []int64{0, 400 * mib} {
			g, err := chunker.PlanStream(hint, 0, 256*mib, limits, equal)
			if err != nil || g.Capacity() < 400*mib {
				t.Errorf("equal %t, hint %d: %+v holds %d, %v", equal, hint, g, g.Capacity(), err)
			}
		}
	}
}

func TestGrowthKeeps(t *testing.T) {
	g, err := chunker.PlanStream(0, 0, 256*mib, s3, false)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(g)
	if err != nil {
		t.Fatal(err)
	}
	var again chunker.Growth
	if err := json.Unmarshal(text, &again); err != nil || again != g {
		t.Errorf("%s became %+v, %v", text, again, err)
	}
}

// Whatever is in a file that a Growth was kept in, its methods return.
func TestGrowthOfAnything(t *testing.T) {
	for _, g := range []chunker.Growth{
		{},
		{First: -5, Max: 5, Parts: 5},
		{First: 0, Every: 1, Max: 5, Parts: math.MaxInt},
		{First: 5, Every: -1, Max: 50, Parts: -1},
		{First: 0, Kept: 5, Max: 5, Parts: 5},
	} {
		if g.Capacity() != 0 || g.PartSize(1) != 0 {
			t.Errorf("%+v: capacity %d, part %d", g, g.Capacity(), g.PartSize(1))
		}
	}
	g := chunker.Growth{First: 5, Every: 1, Max: 1, Parts: 3}
	if g.Capacity() != 15 || g.PartSize(3) != 5 || g.PartSize(4) != 0 || g.PartSize(0) != 0 || g.PartSize(-1) != 0 {
		t.Errorf("%+v: capacity %d, parts %d, %d", g, g.Capacity(), g.PartSize(3), g.PartSize(4))
	}
	for _, every := range []int{0, math.MinInt} {
		g = chunker.Growth{First: 5, Kept: 2, Every: every, Max: 50, Parts: 3}
		if g.Capacity() != 60 || g.PartSize(2) != 5 || g.PartSize(3) != 50 {
			t.Errorf("%+v: capacity %d, parts %d, %d", g, g.Capacity(), g.PartSize(2), g.PartSize(3))
		}
	}
	g = chunker.Growth{First: 5, Every: -5, Max: 50, Parts: math.MaxInt}
	if g.PartSize(math.MaxInt) != 50 {
		t.Errorf("%+v: last part %d", g, g.PartSize(math.MaxInt))
	}
	g = chunker.Growth{First: 5, Kept: math.MaxInt, Every: 1, Max: 50, Parts: 3}
	if g.Capacity() != 15 || g.PartSize(3) != 5 {
		t.Errorf("%+v: capacity %d, part %d", g, g.Capacity(), g.PartSize(3))
	}
	g = chunker.Growth{First: 5, Every: 1, Max: math.MaxInt64, Parts: math.MaxInt}
	if g.Capacity() != math.MaxInt64 || g.PartSize(math.MaxInt) != math.MaxInt64 {
		t.Errorf("%+v: capacity %d, last part %d", g, g.Capacity(), g.PartSize(math.MaxInt))
	}
}

// Every plan is legal and within memory, and there is one whenever there can be.
func TestPlanStreamIsLegal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := chunker.Limits{
			MinPart:  rapid.Int64Range(1, 100).Draw(t, "least"),
			MaxPart:  rapid.Int64Range(1, 2000).Draw(t, "most"),
			MaxParts: rapid.IntRange(1, 100).Draw(t, "parts"),
		}
		largest := limits.MaxPart * int64(limits.MaxParts)
		if rapid.Bool().Draw(t, "bounded") {
			limits.MaxObject = rapid.Int64Range(1, largest).Draw(t, "largest")
			largest = limits.MaxObject
		}
		hint := rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(-1, largest+1)).Draw(t, "hint")
		want := rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, limits.MaxPart+1)).Draw(t, "want")
		memory, equal := rapid.Int64Range(-1, 5000).Draw(t, "memory"), rapid.Bool().Draw(t, "equal")

		g, err := chunker.PlanStream(hint, want, memory, limits, equal)
		least := max(limits.MinPart, want, pieces(max(hint, 0), int64(limits.MaxParts)))
		possible := limits.MinPart <= limits.MaxPart && hint >= 0 && hint <= largest &&
			(want == 0 || want >= limits.MinPart && want <= limits.MaxPart) && least <= memory/2
		if _, ok := errors.AsType[*chunker.LimitError](err); possible != (err == nil) || !possible && !ok {
			t.Fatalf("%+v, %v", g, err)
		}
		if err != nil {
			return
		}
		var total int64
		for n := range limits.MaxParts {
			size := g.PartSize(n + 1)
			fixed := equal || want != 0 || int64(n)*g.First < hint
			if size < limits.MinPart || size > limits.MaxPart || size > memory/2 || size < g.PartSize(n) || fixed && size != g.First {
				t.Fatalf("%+v: part %d of %d bytes", g, n+1, size)
			}
			total += size
		}
		if total = min(total, largest); g.Capacity() != total || total < hint || g.Parts != limits.MaxParts || g.PartSize(limits.MaxParts+1) != 0 {
			t.Fatalf("%+v: capacity %d, want %d", g, g.Capacity(), total)
		}
		if most := min(memory/2, limits.MaxPart); hint == 0 && want == 0 && !equal && total < min(largest, most*int64(limits.MaxParts)*3/4) {
			t.Fatalf("%+v: capacity %d of %d", g, total, largest)
		}
	})
}

// A hint is a guess: its parts are those of NewPlan, and of those that are left
// only the ones in the first quarter of all may be smaller than they can be.
func TestHintLeavesRoom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := chunker.Limits{
			MinPart:  rapid.Int64Range(1, 100).Draw(t, "least"),
			MaxPart:  rapid.Int64Range(200, 20_000).Draw(t, "most") * mib,
			MaxParts: rapid.IntRange(1, 100).Draw(t, "parts"),
		}
		parts := int64(limits.MaxParts)
		limits.MaxObject = rapid.Int64Range(1, limits.MaxPart*parts).Draw(t, "object")
		memory := rapid.Int64Range(1, 20_000).Draw(t, "memory") * mib
		most := min(memory/2, limits.MaxPart)
		hint := rapid.Int64Range(1, min(most*parts, limits.MaxObject)).Draw(t, "hint")

		g, err := chunker.PlanStream(hint, 0, memory, limits, false)
		if err != nil {
			t.Skip(err) // no room to round
		}
		kept := pieces(hint, g.First)
		room := min(kept*g.First+min(parts-kept, parts-parts/4)*most, limits.MaxObject)
		if g.Capacity() < room {
			t.Fatalf("hint %d: %+v holds %d, want %d", hint, g, g.Capacity(), room)
		}
	})
}

// A stream that is longer than its hint does not end sooner than one of which
// nothing was said, unless the hint's own parts leave too few numbers.
func TestHintDoesNotShortenTheStream(t *testing.T) {
	for _, memory := range []int64{20 * mib, 256 * mib, gib} {
		free, err := chunker.PlanStream(0, 0, memory, s3, false)
		if err != nil {
			t.Fatal(err)
		}
		most := memory / 2
		for hint := 5 * mib; hint < free.Capacity(); hint += hint / 10 {
			g, err := chunker.PlanStream(hint, 0, memory, s3, false)
			if err != nil {
				t.Fatal(err)
			}
			left := 10_000 - pieces(hint, g.First)
			if want := min(free.Capacity()/100*95, hint+left*most); g.Capacity() < want {
				t.Errorf("memory %d MiB, hint %d GiB: %+v holds %d GiB, want %d", memory/mib, hint/gib, g, g.Capacity()/gib, want/gib)
			}
		}
	}
}

// With a hint, a store that wants equal parts gets the plan of a file, but for the
// larger parts of one that is long without need.
func TestPlanStreamIsNewPlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hint := rapid.Int64Range(1, 10_000*128*mib).Draw(t, "hint")
		want := rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(5*mib, 128*mib)).Draw(t, "want")
		plan, err := chunker.NewPlan(hint, want, s3)
		if err != nil {
			t.Fatal(err)
		}
		if want == 0 && pieces(hint, 16*mib) <= 9500 {
			plan.PartSize = min(plan.PartSize, 16*mib)
		} else if want == 0 {
			plan.PartSize = pieces(pieces(hint, 9500), mib) * mib
		}
		if plan.PartSize > 128*mib {
			t.Skip("does not fit in memory")
		}
		for _, equal := range []bool{false, true} {
			g, err := chunker.PlanStream(hint, want, 256*mib, s3, equal)
			if err != nil || g.PartSize(1) != plan.PartSize || g.PartSize(plan.Len()) != plan.PartSize {
				t.Fatalf("%+v, %v; want %+v", g, err, plan)
			}
		}
	})
}

func FuzzPlanStream(f *testing.F) {
	f.Add(int64(0), int64(0), 256*mib, int64(0), int64(0), 0, int64(0), false)
	f.Add(int64(1), int64(math.MaxInt64), int64(math.MaxInt64), int64(1), int64(math.MaxInt64), math.MaxInt, int64(math.MaxInt64), false)
	f.Fuzz(func(t *testing.T, hint, want, memory, least, most int64, parts int, object int64, equal bool) {
		g, err := chunker.PlanStream(hint, want, memory, chunker.Limits{MinPart: least, MaxPart: most, MaxParts: parts, MaxObject: object}, equal)
		if err != nil {
			if _, ok := errors.AsType[*chunker.LimitError](err); !ok || strings.TrimSpace(err.Error()) == "" {
				t.Fatalf("%v", err)
			}
			return
		}
		if g.First < 1 || g.Max < g.First || g.Max > memory/2 || g.Every < 0 || g.Capacity() < hint || g.PartSize(g.Parts) > g.Max || g.PartSize(1) != g.First {
			t.Fatalf("%+v holds %d", g, g.Capacity())
		}
	})
}
