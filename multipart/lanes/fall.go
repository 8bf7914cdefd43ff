package lanes

import "time"

// ended hears how the use of a lane that was taken in an epoch ended.
func (c *climber) ended(o Outcome, epoch uint64, now time.Time, moved int64) {
	c.window.ended(o)
	c.glance.ended(o)
	c.round.ended(o)
	switch {
	case o == Success && epoch == c.epoch:
		c.passed++
		c.window.successes++
		c.double(now, moved)
	case o == Overload && epoch == c.epoch:
		c.overload(now, moved)
	case o == Ignored && epoch == c.epoch:
		c.strain++ // it says nothing, and what it said when it was taken neither
	case o == Throttled && epoch == c.epoch:
		c.throttled(now, moved)
	case o.isAgainst() && epoch+1 == c.epoch && c.fallen > 0:
		c.struck++
		c.wall()
	}
}

// overload halves the limit.
func (c *climber) overload(now time.Time, moved int64) {
	before := c.limit
	c.fall(max(before/2, 1), now, moved)
	c.fallen, c.struck = before, 1
}

// wall lowers the level to which the way back leads, if most of the lanes that
// there were have failed.
func (c *climber) wall() {
	if c.limit < c.level && 2*c.struck > c.fallen {
		c.level = max(c.limit, min(c.level, c.fallen-1))
		c.settle()
	}
}

// slowStart leaves one lane.
func (c *climber) slowStart(now time.Time, moved int64) {
	target := c.target // if it comes again before the first has got there
	if target == 0 {
		target = min(c.limit, c.level) / 2
	}
	c.fall(1, now, moved)
	c.target = target
}

// double is what a success does in slow start.
func (c *climber) double(now time.Time, moved int64) {
	if c.target == 0 {
		return
	}
	c.limit = min(2*c.limit, c.target)
	if c.limit == c.target {
		c.target = 0
	}
	c.restart(now, moved)
}

// fall sets a lower limit and begins an epoch.
func (c *climber) fall(limit int, now time.Time, moved int64) {
	if c.limit > c.level {
		c.fail(now)
	}
	c.limit = limit
	c.epoch++
	c.fallen, c.struck = 0, 0
	c.strain, c.against = 0, 0
	c.target, c.rounds, c.passed = 0, 0, 0
	c.best = 0
	c.quiet, c.sure = max(c.quiet, 1), 0
	c.restart(now, moved)
	c.settle()
}
