package chunker

import (
	"cmp"
	"fmt"
	"math"
)

// What Amazon S3 accepts, in bytes where not a count. Source:
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html
const (
	// MinPart is the least size of a part that is not the last, 5 MiB.
	MinPart int64 = 5 << 20
	// MaxPart is the greatest size of a part, 5 GiB.
	MaxPart int64 = 5 << 30
	// MaxParts is how many parts an object may have, numbered from 1.
	MaxParts = 10_000
	// MaxObject is the greatest size of an object, 48.8 TiB.
	MaxObject = MaxPart * MaxParts
)

// DefaultPart is the part size of a plan that was not asked for another one, for an
// object of middle size (see [NewPlan]): 16 MiB, the upper end of the 8 to 16 MB that
// Amazon's guide to S3 performance recommends for a request.
const DefaultPart int64 = 16 << 20

// Limits is what a store accepts. A zero field means S3's value, so the zero
// Limits is S3. The exception is MaxObject, whose zero means MaxPart times
// MaxParts of these limits; one above that product has no effect.
type Limits struct {
	MinPart, MaxPart int64 // bytes; MinPart does not bind the last part
	MaxParts         int
	MaxObject        int64 // bytes
}

// What a [LimitError] can be about.
const (
	whatObject    = "object size"
	whatPart      = "part size"
	whatMinPart   = "smallest part size of the store"
	whatMaxPart   = "largest part size of the store"
	whatMaxParts  = "largest number of parts of the store"
	whatMaxObject = "largest object size of the store"
	whatMemory    = "memory"
	whatParts     = "number of parts"
)

// resolve fills the zero fields and refuses limits that no plan can meet.
func (l Limits) resolve() (Limits, error) {
	l.MinPart = cmp.Or(l.MinPart, MinPart)
	l.MaxPart = cmp.Or(l.MaxPart, MaxPart)
	l.MaxParts = cmp.Or(l.MaxParts, MaxParts)
	switch {
	case l.MinPart < 1:
		return l, &LimitError{What: whatMinPart, Value: l.MinPart, Limit: 1}
	case l.MaxPart < l.MinPart:
		return l, &LimitError{What: whatMaxPart, Value: l.MaxPart, Limit: l.MinPart}
	case l.MaxParts < 1:
		return l, &LimitError{What: whatMaxParts, Value: int64(l.MaxParts), Limit: 1}
	case l.MaxObject < 0:
		return l, &LimitError{What: whatMaxObject, Value: l.MaxObject, Limit: 0}
	}

	product := int64(math.MaxInt64)
	if l.MaxPart <= math.MaxInt64/int64(l.MaxParts) {
		product = l.MaxPart * int64(l.MaxParts)
	}
	l.MaxObject = min(cmp.Or(l.MaxObject, product), product)
	return l, nil
}

// LimitError says that a size is not one the store can take, or that the limits
// given for the store contradict each other. [NewPlan] and [PlanStream] return it
// before anything is sent, [Cutter.Next] when a stream turns out too long.
type LimitError struct {
	What  string // what is out of bounds: "object size", "part size", "number of parts", "memory", …
	Value int64  // what it is
	Limit int64  // what it may be: a maximum if Value is above it, a minimum if below
	Hint  string // how that came about and what would do; often ""
}

// Error names the value and the bound that it breaks, and adds the hint.
func (e *LimitError) Error() string {
	value, limit := formatBytes(e.Value), formatBytes(e.Limit)
	if e.What == whatMaxParts || e.What == whatParts {
		value, limit = fmt.Sprint(e.Value), fmt.Sprint(e.Limit)
	}
	relation, hint := "above the maximum", ""
	if e.Value < e.Limit {
		relation = "below the minimum"
	}
	if e.Hint != "" {
		hint = ": " + e.Hint
	}
	return fmt.Sprintf("%s of %s is %s of %s%s", e.What, value, relation, limit, hint)
}

// formatBytes formats a number of bytes exactly, and in binary units beside it, because
// limits are mostly missed by taking 5 MB for 5 MiB.
func formatBytes(n int64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d bytes", n)
	}
	value, unit := float64(n)/(1<<10), 0
	for ; value >= 1<<10; unit++ {
		value /= 1 << 10
	}
	return fmt.Sprintf("%d bytes (%.4g %ciB)", n, value, "KMGTPE"[unit])
}
