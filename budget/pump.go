package budget

import (
	"math"
	"time"
)

// silence is how long first attempts wait for a verdict that does not come. What is
// well says something sooner: 15 s is the cap of the backoff, and the longest that
// an attempt may stand still before it is given up.
const silence = 15 * time.Second

// pump starts every parked attempt that may start now, and sees to it that it
// runs again when the next one can. It follows every change of the state.
func (b *Budget) pump() {
	b.refill(time.Now())
	for !b.doubt && b.firsts.head() != nil {
		b.grant(&b.firsts, amount{})
	}
	for {
		q := &b.retries
		if q.head() == nil {
			q = &b.firsts // there are some only in doubt
		}
		next := q.head()
		if next == nil {
			b.disarm()
			return
		}
		price, short, hush := b.terms(next)
		if short > 0 || hush > 0 {
			b.arm(short, hush)
			return
		}
		b.grant(q, price)
	}
}

// terms returns what the attempt that is next pays in doubt, what of it is short,
// and how long it must wait for a verdict that may come.
func (b *Budget) terms(o *Operation) (price amount, short float64, hush time.Duration) {
	price = o.price()
	short = b.short(price)
	switch {
	case o.failed: // a retry waits for nobody
	case b.trying > 0:
		hush = silence - b.at.Sub(b.quiet)
	case b.floor == 0: // and nobody who tries has a charge that could come back
		price, short = amount{}, 0
	}
	return price, short, hush
}

// grant starts the attempt whose turn it is.
func (b *Budget) grant(q *queue, price amount) {
	o := q.pop()
	b.level.requests -= price.requests
	b.level.parts -= price.parts
	o.charge = price
	if b.doubt {
		o.tries(true)
		if !o.failed {
			b.quiet = b.at
		}
	}
	o.state = begun
	close(o.ready)
}

// longestWait keeps waits within what a time.Duration can hold: the timer that
// fires too early is set again.
const longestWait = float64(time.Hour)

// arm sets the timer for when time will have earned what is short and the hush is
// over.
func (b *Budget) arm(short float64, hush time.Duration) {
	if short > 0 && b.floor == 0 {
		b.disarm() // only another operation can help, and its end pumps
		return
	}
	wait := hush
	if short > 0 {
		// Rounded up, so that the price is there when the timer fires.
		wait = max(wait, time.Duration(math.Ceil(min(short/b.floor*float64(time.Second), longestWait))))
	}
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
