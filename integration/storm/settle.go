package storm

import (
	"time"

	"github.com/chunkup/chunkup/breaker"
	"github.com/chunkup/chunkup/budget"
	"github.com/chunkup/chunkup/multipart/lanes"
)

// put makes one attempt, and returns how it ended and how many bytes went.
func (u *upload) put(c *call) (outcome, int64) {
	a := attempt{w: u.w, pipe: u.pipe}
	var sent int64
	began := u.w.now()
	a.moved = func(n int) {
		sent += int64(n)
		u.lanes.Moved(n)
		if u.w.now()-began > sustained {
			u.seen()
		}
	}
	var way *passage
	if u.pipe != nil {
		way = &passage{link: &u.link, pipe: u.pipe, size: c.bytes, stretch: c.stretch, inFlight: u.inFlight}
		a.send = way.deadline
	}
	out := a.run()
	if way != nil && out == done {
		way.arrived()
	}
	return out, sent
}

// inFlight is how many parts share the link: those that are on it, or as many as
// there are lanes for.
func (u *upload) inFlight() int {
	return max(u.lanes.Held(), min(u.lanes.Limit(), u.w.scene.Parts))
}

// settle tells budget, breaker and lanes how an attempt ended.
func (u *upload) settle(c *call, permit *breaker.Permit, out outcome, sent int64) {
	counts := u.counts(out)
	c.leave(counts.lanes)
	c.pay.Settle(counts.budget, sent)
	permit.Report(counts.breaker)
	if out == done {
		u.seen()
		u.successes.Add(1)
		u.w.record.done(u.w.now())
	}
}

// evidence is what an attempt's end says to the budget, the breaker and the lanes.
type evidence struct {
	budget  budget.Verdict
	breaker breaker.Outcome
	lanes   lanes.Outcome
}

// evidenceOf is the engine's table of who counts what, as far as the scenes go.
func evidenceOf(o outcome) evidence {
	switch o {
	case done:
		return evidence{budget.Success, breaker.Success, lanes.Success}
	case throttled:
		return evidence{budget.Failure, breaker.Failure, lanes.Throttled}
	case unanswered:
		return evidence{budget.Failure, breaker.Failure, lanes.Overload}
	case slow:
		return evidence{budget.Failure, breaker.Ignored, lanes.Overload}
	}
	return evidence{budget.Failure, breaker.Failure, lanes.Ignored}
}

// fails says that the part is in trouble, over that it no longer is.
func (u *upload) fails(c *call) {
	if !c.troubled {
		c.troubled, c.since = true, u.w.now()
		u.troubled.Add(1)
	}
}

func (u *upload) over(c *call) {
	if c.troubled {
		u.troubled.Add(-1)
	}
}

// again draws the wait before another attempt, or says why there is none: so many
// failures in a row with nothing else at the endpoint succeeding in between, not
// counting a store that asks for less, a slow link, the breaker's probes and
// trouble that others have too; or four times that, whatever they were.
func (u *upload) again(c *call, out outcome, probe bool) error {
	u.fails(c)
	if now := u.successes.Load(); now > c.successes {
		c.successes, c.failures = now, 0
		c.ceiling = backoffBase
	}
	switch {
	case out == slow:
		c.stretch = min(2*c.stretch, longestStretch)
	case out != throttled && !probe && u.troubled.Load() <= 1:
		c.failures++
	}
	c.counted++
	if c.failures >= maxAttempts || c.counted >= 4*maxAttempts {
		return errAttempts
	}
	c.wait = time.Duration(u.w.dice.float() * float64(c.ceiling))
	c.ceiling = min(2*c.ceiling, backoffCap)
	return nil
}
