package chunker

import (
	"fmt"
	"iter"
	"math"
)

const mebibyte = 1 << 20

// Plan says how an object is cut: all parts have the same size but the last,
// which has what is left. Some stores accept nothing else.
//
// It is a plain value, safe to copy, compare, use from many goroutines and keep
// in a file. A resumed upload must keep its plan: the parts that a store already
// has fit no other. The zero Plan is that of an empty object.
type Plan struct {
	Size     int64 // bytes of the whole object
	PartSize int64 // bytes of each part but the last
}

// NewPlan plans an object of size bytes for a store.
//
// With want zero the part size is [DefaultPart]; half of it for an object below
// 512 MiB, so that it can use several connections; above 32 GiB a 2048th of the
// object, up to 64 MiB, so that the cost of a part does not add up. It is grown in
// whole MiB as far as needed to leave a twentieth of the store's part numbers unused,
// and always within the limits. Any other want is the part size in bytes, kept as it is
// unless it would need more parts than the store takes; then it grows just
// enough, rounded up to a whole MiB.
//
// An object that is too large, a negative size, a want outside the store's part
// sizes and limits that contradict each other are a [*LimitError]. Every plan
// without an error is one that the store accepts.
func NewPlan(size, want int64, lim Limits) (Plan, error) {
	return newPlan(size, want, usual(size), lim)
}

// newPlan is NewPlan with usual as the part size that nobody asked for.
func newPlan(size, want, usual int64, lim Limits) (Plan, error) {
	lim, err := lim.resolve()
	switch {
	case err != nil:
		return Plan{}, err
	case size < 0:
		return Plan{}, &LimitError{What: whatObject, Value: size, Limit: 0}
	case size > lim.MaxObject:
		return Plan{}, &LimitError{What: whatObject, Value: size, Limit: lim.MaxObject}
	case want != 0 && want < lim.MinPart:
		return Plan{}, &LimitError{What: whatPart, Value: want, Limit: lim.MinPart}
	case want > lim.MaxPart:
		return Plan{}, &LimitError{What: whatPart, Value: want, Limit: lim.MaxPart}
	}

	part, count := want, int64(lim.MaxParts)
	if want == 0 {
		part = min(max(usual, lim.MinPart), lim.MaxPart)
		count -= count / 20
	}
	if pieces(size, part) > count {
		part = roundUp(pieces(size, count), lim.MaxPart)
	}
	return Plan{Size: size, PartSize: part}, nil
}

const (
	smallPart = DefaultPart / 2
	largePart = 4 * DefaultPart

	fewParts  = 64   // with fewer, an object has small ones
	manyParts = 2048 // with more, it has larger ones
)

// usual is the size of the parts if only the object's size decides. Larger parts than
// these are no faster, and on a slow link more is lost with each that fails.
func usual(size int64) int64 {
	if size < fewParts*smallPart {
		return smallPart
	}
	return min(max(DefaultPart, roundUp(size/manyParts, largePart)), largePart)
}

// Len returns the number of parts. An empty object has one, empty part. A plan
// that NewPlan did not make and that cannot be met (a negative field, or
// bytes but no part size) has none.
func (p Plan) Len() int {
	switch {
	case p.Size < 0 || p.PartSize < 0:
		return 0
	case p.Size == 0:
		return 1
	case p.PartSize == 0:
		return 0
	}
	return int(min(pieces(p.Size, p.PartSize), math.MaxInt))
}

// Part returns part n, counted from 1 as stores do. It panics when n is not in
// 1..Len.
func (p Plan) Part(n int) Part {
	if n < 1 || n > p.Len() {
		panic(fmt.Sprintf("chunker: part %d of a plan with parts 1..%d", n, p.Len()))
	}
	offset := int64(n-1) * p.PartSize
	return Part{Number: n, Offset: offset, Size: min(p.PartSize, p.Size-offset)}
}

// Parts returns all parts in order.
func (p Plan) Parts() iter.Seq[Part] {
	return func(yield func(Part) bool) {
		for n := range p.Len() {
			if !yield(p.Part(n + 1)) {
				return
			}
		}
	}
}

// pieces returns size/piece rounded up, for a size that is not negative and a
// piece that is positive. The obvious (size+piece-1)/piece overflows.
func pieces(size, piece int64) int64 {
	n := size / piece
	if size%piece != 0 {
		n++
	}
	return n
}

// roundUp returns n rounded up to a whole MiB, or limit if that is less. A limit
// need not be whole MiB: some stores count in powers of ten.
func roundUp(n, limit int64) int64 {
	pad := (mebibyte - n%mebibyte) % mebibyte
	if limit-n < pad {
		return limit
	}
	return n + pad
}
