package budget

import (
	"math"
	"time"
)

// pump starts every parked attempt that may start now, and sees to it that it
// runs again when the next one can. It follows every change of the state.
func (b *Budget) pump() {
	b.refill(time.Now())
	for !b.doubt && b.firsts.head() != nil {
		b.grant(&b.firsts, amount{})
	}
	for {
		// While operations that have failed try again, first attempts wait for their
		// verdict. When none does, there is no retry in the queue either, and one
		// first attempt becomes the one that tries.
		q := &b.retries
		if b.trying == 0 {
			q = &b.firsts
		}
		next := q.head()
		if next == nil {
			b.disarm()
			return
		}
		price := next.price()
		if short := b.short(price); short > 0 {
			b.arm(short)
			return
		}
		b.grant(q, price)
	}
}

// grant starts the attempt whose turn it is.
func (b *Budget) grant(q *queue, price amount) {
	o := q.pop()
	b.level.requests -= price.requests
	b.level.parts -= price.parts
	o.charge = price
	if b.doubt {
		o.tries(true)
	}
	o.state = begun
	close(o.ready)
}

// longestWait keeps waits within what a time.Duration can hold: the timer that
// fires too early is set again.
const longestWait = float64(time.Hour)

// arm sets the timer for when time will have earned what is short.
func (b *Budget) arm(short float64) {
	if b.floor == 0 {
		return // only another operation can help, and its end pumps
	}
	// Rounded up, so that the price is there when the timer fires.
	wait := time.Duration(math.Ceil(min(short/b.floor*float64(time.Second), longestWait)))
	if b.timer != nil {
		b.timer.Reset(wait)
		return
	}
	b.timer = time.AfterFunc(wait, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.pump()
	})
}

func (b *Budget) disarm() {
	if b.timer != nil {
		b.timer.Stop()
	}
}
