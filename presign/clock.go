package presign

import (
	"sync/atomic"
	"time"
)

// Clock is the time by which requests are signed: this machine's, set right by what
// a store's clock has shown. Who shares a Clock learns together. The zero value
// is this machine's clock. It is safe for concurrent use.
type Clock struct {
	// Wall reads this machine's clock. nil = time.Now. It must not be changed
	// once the Clock is in use.
	Wall func() time.Time

	offset atomic.Int64 // nanoseconds that the store's is ahead
}

// hearsay is how exactly a Date header tells the time: it has no fraction of a
// second, and it was some way here. Less is no difference between two clocks, and
// whoever followed it would sign the same request anew for nothing.
const hearsay = time.Second

// Now is the time by the store's clock, as far as that is known. It has no
// monotonic reading: it jumps when this machine's clock does, and the next Learn
// sets it right.
func (c *Clock) Now() time.Time { return c.wall().Add(time.Duration(c.offset.Load())) }

// Learn sets the clock by a Date header, which a store has just sent. A
// difference of up to a second is none.
func (c *Clock) Learn(store time.Time) {
	// A header that says 7 s means anything from 7 to 8.
	ahead := store.Add(hearsay / 2).Sub(c.wall())
	if ahead.Abs() <= hearsay {
		ahead = 0 // this machine's clock is right, or is so again
	}
	if known := time.Duration(c.offset.Load()); ahead != 0 && (ahead-known).Abs() <= hearsay {
		return
	}
	c.offset.Store(int64(ahead))
}

func (c *Clock) wall() time.Time {
	if c.Wall != nil {
		return c.Wall().Round(0)
	}
	return time.Now().Round(0)
}
