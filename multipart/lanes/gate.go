package lanes

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// What [Options] mean when they say nothing.
const (
	DefaultStart = 8
	DefaultMax   = 64
)

// Options of a [Gate]; the zero value gives the defaults.
type Options struct {
	// Start is the limit at the beginning. 0 or less = [DefaultStart]; more
	// than Max is Max.
	Start int

	// Max is what the limit never exceeds. 0 or less = [DefaultMax].
	Max int
}

// Gate admits up to a limit of holders and moves that limit, see the package's
// comment. It is safe for concurrent use; the zero value is not usable, see
// [New].
type Gate struct {
	moved atomic.Int64 // bytes ever sent, and what answers are worth
	mark  atomic.Int64 // the count of moved at which a window may be full

	mu      sync.Mutex
	held    int
	retries []*waiter
	firsts  []*waiter
	climb   climber
}

// waiter is a place in a queue. Its lane is set before granted is closed.
type waiter struct {
	lane    *Lane
	granted chan struct{}
}

// New returns a gate.
func New(o Options) *Gate {
	if o.Max <= 0 {
		o.Max = DefaultMax
	}
	if o.Start <= 0 {
		o.Start = DefaultStart
	}
	g := &Gate{}
	g.climb = newClimber(min(o.Start, o.Max), o.Max, time.Now())
	g.mark.Store(g.climb.mark())
	return g
}

// Acquire takes a lane, waiting for one if need be, or returns
// context.Cause(ctx) with nothing taken. A retry is served before any first
// attempt, and each kind in the order of its coming.
func (g *Gate) Acquire(ctx context.Context, retry bool) (*Lane, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	queue := &g.firsts
	if retry {
		queue = &g.retries
	}
	g.mu.Lock()
	g.observeLocked()
	if g.held < g.climb.limit { // so nobody waits: whoever could be served has been
		defer g.mu.Unlock()
		return g.takeLocked(), nil
	}
	w := &waiter{granted: make(chan struct{})}
	*queue = append(*queue, w)
	g.mu.Unlock()

	select {
	case <-w.granted:
		return w.lane, nil
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.observeLocked()
	if i := slices.Index(*queue, w); i >= 0 {
		*queue = slices.Delete(*queue, i, i+1)
	} else { // granted in the same instant
		w.lane.released = true
		g.held--
		g.serveLocked()
	}
	return nil, context.Cause(ctx)
}

// takeLocked gives a lane away.
func (g *Gate) takeLocked() *Lane {
	g.held++
	g.climb.took()
	return &Lane{gate: g, epoch: g.climb.epoch}
}

// serveLocked lets in whom there is room for.
func (g *Gate) serveLocked() {
	for g.held < g.climb.limit {
		queue := &g.retries
		if len(*queue) == 0 {
			queue = &g.firsts
		}
		if len(*queue) == 0 {
			return
		}
		w := (*queue)[0]
		(*queue)[0] = nil
		*queue = (*queue)[1:]
		w.lane = g.takeLocked()
		close(w.granted)
	}
}

// observeLocked brings the account of the window up to now. It comes before
// every change of what is held and of who waits.
func (g *Gate) observeLocked() time.Time {
	now := time.Now()
	g.climb.observe(now, g.held, len(g.retries)+len(g.firsts) > 0)
	return now
}

// turnLocked ends the window if it is full, and lets in whom a new limit has
// room for.
func (g *Gate) turnLocked(now time.Time) {
	moved := g.moved.Load()
	g.climb.turn(now, moved)
	// Where there are bytes enough but no second has passed, look again soon,
	// not at every call of Moved.
	mark := g.climb.mark()
	if mark <= moved {
		mark = moved + windowBytes
	}
	g.mark.Store(mark)
	g.serveLocked()
}

// Moved counts n bytes that were sent, by whomever: the goodput on which the
// limit climbs. It costs an atomic addition and a comparison, and the gate's
// mutex once in a mebibyte or less often.
func (g *Gate) Moved(n int) {
	if g.moved.Add(int64(n)) < g.mark.Load() {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.turnLocked(g.observeLocked())
}

// SlowStart sets the limit to 1, for the endpoint has stopped answering: the
// circuit breaker opens. Every success of a lane taken since doubles it, up to
// half of what it was; from there it climbs as usual. Lanes taken before it
// neither raise nor lower the limit.
func (g *Gate) SlowStart() {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.observeLocked()
	g.climb.slowStart(now, g.moved.Load())
	g.turnLocked(now)
}

// Limit is the number of lanes there are now.
func (g *Gate) Limit() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.climb.limit
}

// Held is how many lanes are taken; more than Limit for a while after the
// limit has fallen.
func (g *Gate) Held() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.held
}

// Max is what the limit never exceeds.
func (g *Gate) Max() int { return g.climb.max }
