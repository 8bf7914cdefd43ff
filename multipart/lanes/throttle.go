package lanes

import "time"

const (
	// weight is how many lanes taken make up for one that was throttled: what
	// comes once in thirteen times or less often is chance.
	weight = 12

	// enough is the strain at which there are too many lanes, if there are a
	// dozen of them or more.
	enough = 3 * weight

	// After a trial that was throttled, the level has to do without for so many
	// rounds, the first time and at the most; they double.
	firstQuiet   = 4
	longestQuiet = 64
)

// took hears that a lane was taken. Until it is known how its use ends, it
// speaks for the limit, for refusals come first and successes last.
func (c *climber) took() {
	if c.strain--; c.strain <= -c.limit {
		c.strain, c.against = -c.limit, 0
	}
}

// throttled lowers the limit, if it is one of too many.
func (c *climber) throttled(now time.Time, moved int64) {
	c.strain += weight
	c.against++
	if c.strain < min(3*c.limit, enough) {
		return
	}
	before, struck, half := c.limit, c.against, max(c.limit/2, 1)
	c.limit = half
	switch {
	case before > c.level: // a trial: the level has shown that it works
		c.hush(max(min(2*c.quiet, longestQuiet), firstQuiet), now)
		c.limit = c.level
	case before == c.level, c.rounds > 0 && c.against > 1: // one alone may be chance
		c.hush(firstQuiet, now)
		c.level = max(before-max(before/8, 1), half)
	default: // the fall goes on: how far back the way leads, others will tell
	}
	c.fall(c.limit, now, moved)
	c.fallen, c.struck = before, struck
}

// hush makes the next trial a matter of rounds, and not of time.
func (c *climber) hush(rounds int, now time.Time) {
	if c.best > 0 {
		c.then = c.best
	}
	c.quiet = rounds
	c.step = laterStep
	c.tryAt = now
}
