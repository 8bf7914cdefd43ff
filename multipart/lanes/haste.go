package lanes

import "time"

const (
	// hasteTime is a window of those in haste, answerTime the least one of answers.
	hasteTime  = 200 * time.Millisecond
	answerTime = 50 * time.Millisecond

	// hasteGain is the share of the linear gain with which a trial has plainly
	// come off: so much is not the noise of a short window.
	hasteGain = 0.5

	// A lane that carries so many bytes per second needs no company in haste. It
	// is what the AWS common runtime plans for a connection (0.4 Gbit/s, awslabs/
	// aws-c-s3, s3_client.c).
	fastLane = 50e6
)

// hurry decides on short windows until a trial has failed or the limit fallen for
// the first time, as long as there is no doubt: it begins trials and keeps what
// they have reached. Who has met with trouble knows nothing before answers come.
// That one has failed only a whole window can tell, for new connections take
// their time to get going.
func (c *climber) hurry(now time.Time, moved int64) {
	g, before := c.glance, c.limit
	if !c.glanced(now, moved) {
		return
	}
	c.glance = newWindow(now, moved)
	if g.settling || !g.busy(c.limit) || !c.inHaste(g.rate(moved)) {
		return
	}
	if c.limit == c.level {
		c.best = g.rate(moved)
		c.try(now)
	} else if c.gains(g.rate(moved), hasteGain) {
		c.trust(g.rate(moved))
		c.round = newWindow(now, moved)
		c.passed = 0
		c.keep(now, g.rate(moved))
	}
	if c.limit != before {
		c.restart(now, moved)
		c.settle()
	}
}

// glanced reports that the short window is full, of bytes or of answers: as many as
// there are lanes come in the time that each takes for one.
func (c *climber) glanced(now time.Time, moved int64) bool {
	g := &c.glance
	switch spent := now.Sub(g.start); {
	case g.settling && g.arrived >= c.limit:
		return true
	case g.arrived >= c.limit && spent >= answerTime:
		return true
	default:
		return spent >= hasteTime && moved >= g.from+int64(c.limit)*windowBytes
	}
}

func (c *climber) inHaste(rate float64) bool {
	return c.epoch == 0 && c.step == firstStep && rate < fastLane*float64(c.limit)
}

// trust remembers where haste set in, and what the lanes there can carry: no less
// than as many of those that there are now.
func (c *climber) trust(rate float64) {
	if c.sure == 0 {
		c.sure, c.once = c.level, c.best
	}
	c.once = max(c.once, rate*float64(c.sure)/float64(c.limit))
}

// doubt takes haste for a trial that has failed, if the goodput of a whole round is
// no better than where it set in: that bytes move does not say that the store keeps
// up with them.
func (c *climber) doubt(now time.Time, moved int64) {
	if c.sure == 0 || c.passed < c.limit {
		return
	}
	linear := float64(c.limit)/float64(c.sure) - 1
	if c.round.rate(moved) < c.once*(1+fairGain*linear) {
		c.limit, c.level = c.sure, c.sure
		c.fail(now)
	}
	c.sure = 0
}
