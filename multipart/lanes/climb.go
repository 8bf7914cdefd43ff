package lanes

import (
	"math"
	"time"
)

const (
	// fairGain is the share of the linear gain for which a step is kept:
	// fudgeFactor in AzCopy's concurrencyTuner.
	fairGain = 0.2

	// What a trial multiplies the limit by, before and after one has failed.
	// The gain asked of a smaller step would drown in noise.
	firstStep = 2.0
	laterStep = 1.5

	// The wait after a failed trial doubles from the first to the longest.
	firstPause   = 30 * time.Second
	longestPause = 4 * time.Minute

	// A level that carries so many times what it did when the last trial
	// failed is another level: the wait is over.
	changed = 1.5
)

// climber decides on the limit, see the package's comment. It has no clock and
// no lock: the gate gives it the time and the bytes moved so far, and guards it.
// Where the limit stands to the level tells what is going on:
//
//	limit = level  steady: windows measure the level's goodput
//	limit > level  a trial: a window will judge it
//	limit < level  on the way back from a decrease, in rounds
type climber struct {
	limit, max int
	level      int // the last limit that has proved itself

	epoch  uint64 // grows with every decrease
	fallen int    // the limit before the last overload, 0 if something else came since
	struck int    // lanes of the epoch before that ended in that overload, or throttled
	target int    // slow start: successes double the limit up to here; 0 = none
	rounds int    // since the last decrease
	passed int    // successes since then; if throttles led to it, at the level it has come back to

	best  float64 // goodput of this level's best window, bytes per second
	then  float64 // best when the last trial failed
	step  float64 // what the next trial multiplies the limit by
	pause time.Duration
	tryAt time.Time // no trial before
	quiet int       // nor before so many rounds of successes

	sure  int     // the level at which haste set in, until it is proved that it was right; 0 = it is
	once  float64 // best there
	round window  // since the limit is what it is

	strain  int // what the throttles of this epoch weigh against the lanes taken in it
	against int // throttles that are in it

	window window
	glance window // a short one, for haste
}

func newClimber(start, limit int, now time.Time) climber {
	c := climber{limit: start, max: limit, level: start, step: firstStep, pause: firstPause, tryAt: now}
	c.restart(now, 0)
	c.settle()
	return c
}

// observe accounts for the time since the last call.
func (c *climber) observe(now time.Time, held int, waiting bool) {
	c.window.observe(now, held, waiting)
	c.glance.observe(now, held, waiting)
	c.round.observe(now, held, waiting)
}

// turn ends the window if it is full, and decides what follows from it.
func (c *climber) turn(now time.Time, moved int64) {
	c.hurry(now, moved)
	if !c.full(now, moved) {
		return
	}
	w, before := c.window, c.limit
	switch {
	case w.settling:
	case !w.busy(c.limit):
		c.limit = min(c.limit, c.level) // a trial that cannot be judged is undone
	case c.limit < c.level:
		c.rounds++
		c.limit = min(c.limit+c.rounds, c.level)
		if c.quiet > 1 {
			c.passed = 0 // what counts is the level
		}
	case c.limit > c.level:
		c.judge(now, w.rate(moved))
	default:
		// A trial that is lucky with the noise has to beat a window that was.
		c.best = max(c.best, w.rate(moved))
		if c.then > 0 && c.best > changed*c.then {
			c.hope(now)
		}
		c.doubt(now, moved)
		c.try(now)
	}
	c.restart(now, moved)
	if c.limit != before {
		c.settle()
	}
}

func (c *climber) full(now time.Time, moved int64) bool {
	if c.limit < c.level {
		return c.window.successes >= c.limit
	}
	return now.Sub(c.window.start) >= windowTime && moved >= c.mark()
}

// mark is the count of bytes moved without which no window is full.
func (c *climber) mark() int64 {
	if c.limit < c.level {
		return math.MaxInt64 // the end of a part fills it
	}
	return c.window.from + int64(c.limit)*windowBytes
}

func (c *climber) restart(now time.Time, moved int64) {
	c.window = newWindow(now, moved)
	c.glance = c.window
}

// settle keeps a window in which more or fewer lanes were still taken than there
// are now from being judged. Rounds need none.
func (c *climber) settle() {
	c.window.settling = c.limit >= c.level
	c.glance.settling = c.window.settling
}

// try begins a trial, if it is time, and if after a decrease the lanes that are
// left have done some good.
func (c *climber) try(now time.Time) {
	if c.best > 0 && !now.Before(c.tryAt) && c.passed >= c.quiet*c.limit {
		c.limit = min(max(c.limit+1, int(float64(c.limit)*c.step)), c.max)
	}
}

// judge keeps what the trial has reached, or goes back.
func (c *climber) judge(now time.Time, rate float64) {
	if !c.gains(rate, fairGain) {
		c.limit = c.level
		c.fail(now)
		return
	}
	c.keep(now, rate)
}

// gains reports that a trial's goodput has risen by a share of the linear gain.
func (c *climber) gains(rate, share float64) bool {
	linear := float64(c.limit)/float64(c.level) - 1
	return rate >= c.best*(1+share*linear)
}

// keep makes a trial's limit the level, and goes on to the next.
func (c *climber) keep(now time.Time, rate float64) {
	c.level = c.limit
	c.best = rate
	c.hope(now)
	c.try(now)
}

// hope forgets the wait after a failed trial.
func (c *climber) hope(now time.Time) {
	c.pause = firstPause
	c.tryAt = now
	c.quiet = min(c.quiet, 1)
}

// fail makes the next trial later and smaller.
func (c *climber) fail(now time.Time) {
	c.then, c.best = c.best, 0
	c.step = laterStep
	c.tryAt = now.Add(c.pause)
	c.pause = min(2*c.pause, longestPause)
}
