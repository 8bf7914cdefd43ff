package chunker

import "math"

// Growth says how large the parts of a stream are whose length nobody knows: of
// one size at first, and larger the longer it turns out to be, so that a short
// stream takes little memory and a long one does not run out of part numbers.
//
// It is a plain value, safe to copy, compare, use from many goroutines and keep
// in a file. Its methods take any values; the zero Growth holds an empty stream
// and nothing else. Make one with [PlanStream].
type Growth struct {
	First  int64 // bytes of each of the first parts
	Kept   int   // so many parts are of First, however early the others double
	Every  int   // after so many parts the size doubles; 0 for at once, to Max
	Max    int64 // bytes, where the doubling ends
	Parts  int   // how many there may be
	Object int64 // bytes that there may be in all; 0 for as many as the parts hold
}

// PartSize returns the size in bytes of part n, counted from 1 as stores do,
// that the stream has if it does not end before; 0 when n is not in 1..Parts.
func (g Growth) PartSize(n int) int64 {
	if n < 1 || n > g.Parts || g.First < 1 {
		return 0
	}
	size := g.First
	if n <= g.Kept {
		return size
	}
	for every := max(g.Every, 0); n > every && size < g.Max; n -= every {
		size = min(doubled(size), g.Max)
	}
	return size
}

// Capacity returns the most bytes that a stream may have.
func (g Growth) Capacity() int64 {
	if g.First < 1 {
		return 0
	}
	total := int64(0)
	for done := 0; done < g.Parts; {
		size, same := g.PartSize(done+1), g.Parts-done
		switch {
		case done < g.Kept:
			same = min(same, g.Kept-done)
		case g.Every > 0 && size < g.Max:
			same = min(same, g.Every-done%g.Every)
		}
		if size > (math.MaxInt64-total)/int64(same) {
			total = math.MaxInt64
			break
		}
		total += size * int64(same)
		done += same
	}
	if g.Object > 0 {
		return min(total, g.Object)
	}
	return total
}

// PlanStream plans a stream for a store, with bounded memory. All arguments but
// the limits are in bytes.
//
// The hint is the length that the stream is expected to have, 0 if nobody
// knows. With one, the parts are those of [NewPlan] for that length, but those of a
// long stream are larger than [DefaultPart] only where the numbers demand it, since
// they are held in memory; and smaller where memory demands that. A hint is a guess: the parts beyond it are about as
// large as they would be there without one, so a stream that turns out longer has
// what room the numbers left allow. Those are few if the hint takes most of them;
// where that is a risk, say rather too much.
//
// Without a hint the first parts are of [DefaultPart], of an eighth of the memory
// or of the least size that the store takes, and grow as far as that store and
// memory allow, or until they hold the largest object. At least three quarters of
// all parts are of the final size. Where a store takes only few parts, they begin
// larger.
//
// A want other than 0 is the part size, which then does not grow; a hint that
// would need too many such parts makes it larger, as in NewPlan. With equal set,
// for stores that take only parts of one size, they do not grow either; without
// a hint they are of an eighth of the memory.
//
// No part is larger than half of the memory, so that one can be filled while
// another is sent. What cannot be met is a [*LimitError]; if it is about the
// memory, it names how much is needed.
func PlanStream(hint, want, memory int64, lim Limits, equal bool) (Growth, error) {
	plan, err := newPlan(hint, want, min(usual(hint), DefaultPart), lim)
	if err != nil {
		return Growth{}, err
	}
	// NewPlan has accepted the limits.
	lim, err = lim.resolve()
	if err != nil {
		return Growth{}, err
	}
	half, parts := memory/2, int64(lim.MaxParts)
	least := max(lim.MinPart, want, pieces(hint, parts))
	if least > half {
		return Growth{}, &LimitError{What: whatMemory, Value: memory, Limit: doubled(least), Hint: "two parts of " + formatBytes(least) + " must fit"}
	}

	most := min(half, lim.MaxPart)
	share := min(max(memory/8, least), most)
	first := plan.PartSize
	switch {
	case hint != 0 && want == 0 && first > half:
		// Half of the numbers are spared, where memory allows that, for what NewPlan
		// spares does not fit either.
		first = min(max(share, doubled(pieces(hint, parts))), most)
	case want != 0 || hint != 0:
		if first > half {
			first = share
		}
	case equal:
		first = min(share, roundUp(max(lim.MinPart, pieces(lim.MaxObject, parts)), lim.MaxPart))
	default:
		first = max(min(DefaultPart, share), lim.MinPart)
	}
	g := Growth{First: first, Max: first, Parts: lim.MaxParts, Object: lim.MaxObject}
	if want != 0 || equal {
		return g, nil
	}
	return g.grown(most, int(pieces(hint, first))), nil
}

// grown returns g with parts that double until they hold the largest object, or
// are of most bytes. The first kept parts do not grow, nor are their sizes
// touched; those after them are as large as if all had grown.
func (g Growth) grown(most int64, kept int) Growth {
	g.Kept = kept
	steps := 0
	for g.Capacity() < g.Object && g.Max < most {
		g.Max = min(doubled(g.Max), most)
		steps++
		g.Every = max(1, g.Parts/max(10, 4*steps))
	}
	// With few parts there is no time to grow.
	if kept > 0 && 4*steps > g.Parts {
		g.Every = 0
	}
	for ; kept == 0 && 4*steps > g.Parts; steps-- {
		g.First = min(doubled(g.First), g.Max)
	}
	if g.First == g.Max {
		g.Kept, g.Every = 0, 0
	}
	return g
}

// doubled returns twice n, or the largest number if that is less.
func doubled(n int64) int64 {
	if n > math.MaxInt64/2 {
		return math.MaxInt64
	}
	return 2 * n
}
