package multipart

import (
	"context"
	"errors"
	"time"

	"github.com/chunkup/chunkup/breaker"
	"github.com/chunkup/chunkup/budget"
	"github.com/chunkup/chunkup/multipart/lanes"
)

// admit waits for everything that an attempt needs and takes it.
func (r *run) admit(ctx context.Context, c *call) (*breaker.Permit, error) {
	if c.wait > 0 {
		r.tell(c, Event{Kind: Waited, Wait: c.wait, Reason: c.reason})
		until := time.Now().Add(c.wait)
		c.wait = 0
		err := r.bounded(ctx, c, func(ctx context.Context) error { return r.endpoint.awake.sleep(ctx, time.Until(until)) })
		if err != nil {
			return nil, err
		}
	}
	if c.expired && !c.data {
		if err := r.renewForControl(ctx, c); err != nil {
			return nil, err
		}
	}
	for {
		permit, err := r.admitOnce(ctx, c)
		if permit != nil || err != nil {
			return permit, err
		}
	}
}

// admitOnce returns neither permit nor error if the endpoint's state changed
// while it waited.
func (r *run) admitOnce(ctx context.Context, c *call) (*breaker.Permit, error) {
	if r.isRefusable(c) { // at once, whatever else it would have to wait for
		permit, err := r.endpoint.breaker.Allow(c.name)
		if err != nil {
			return nil, err
		}
		permit.Report(breaker.Ignored)
	}
	err := c.excused(func() error { return r.endpoint.awake.sleep(ctx, r.endpoint.held()) })
	if err != nil {
		return nil, err
	}
	permit, err := r.passBreaker(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := r.payFor(ctx, c, permit); err != nil {
		permit.Report(breaker.Ignored)
		return nil, err
	}
	// A probe takes no lane: it is the only one that goes, and those who have the
	// lanes may be hanging at what it is to find out about.
	if c.data && !permit.Probe() {
		err := c.excused(func() (err error) {
			c.lane, err = r.endpoint.lanes.Acquire(ctx, c.attempts > 0)
			return err
		})
		if err != nil {
			r.release(c, permit)
			return nil, err
		}
	}
	if !r.mayStart(c, permit) {
		r.release(c, permit)
		return nil, nil
	}
	return permit, nil
}

// mayStart asks breaker, budget and store again, after a wait for something else.
func (r *run) mayStart(c *call, permit *breaker.Permit) bool {
	return permit.Current() && (c.free || c.pay.Current()) && r.endpoint.held() == 0
}

// release gives back what an attempt that will not be made has taken.
func (r *run) release(c *call, permit *breaker.Permit) {
	c.leave(lanes.Ignored)
	c.pay.Settle(budget.Void, 0)
	permit.Report(breaker.Ignored)
}

// leave gives the lane back, if the call has one, and says how it was there.
func (c *call) leave(o lanes.Outcome) {
	if c.lane != nil {
		c.lane.Release(o)
		c.lane = nil
	}
}

// isRefusable tells the first attempt of an upload that would not wait for an
// endpoint which is down.
func (r *run) isRefusable(c *call) bool {
	return c.first && c.attempts == 0 && !r.options.WaitOpen
}

// passBreaker waits at an open breaker, holding and paying nothing. The first
// call of an upload is refused instead, unless the caller asked to wait.
func (r *run) passBreaker(ctx context.Context, c *call) (*breaker.Permit, error) {
	b := r.endpoint.breaker
	if r.isRefusable(c) {
		return b.Allow(c.name)
	}
	if c.last == nil {
		c.since = time.Now()
	}
	var permit *breaker.Permit
	err := r.waited(c, "breaker", func() error {
		return r.bounded(ctx, c, func(ctx context.Context) (err error) {
			permit, err = b.Wait(ctx, c.name, c.bytes)
			return err
		})
	})
	return permit, err
}

// payFor pays for a retry, waiting while the budget is empty. A first attempt
// is free, but waits while the endpoint is in doubt: others are in trouble, and
// for as long as they are, it is not. A probe does neither, nor does cleaning up: an
// upload that has failed asks for less and not for more.
func (r *run) payFor(ctx context.Context, c *call, permit *breaker.Permit) error {
	if c.free = permit.Probe() || c.cleanup && c.last == nil; c.free {
		c.pay.Probe()
		return nil
	}
	return r.waited(c, "budget", func() error {
		if c.last == nil {
			return c.pay.Begin(ctx)
		}
		return r.bounded(ctx, c, c.pay.Begin)
	})
}

// waited runs a wait whose end nobody knows before, and tells how long it was.
func (r *run) waited(c *call, reason string, wait func() error) error {
	start := time.Now()
	err := wait()
	if d := time.Since(start); d >= time.Millisecond {
		r.tell(c, Event{Kind: Waited, Wait: d, Reason: reason})
	}
	return err
}

// excused runs a wait that is no sign of trouble: for a lane that others have,
// or because the store asked for it.
func (c *call) excused(wait func() error) error {
	start := time.Now()
	err := wait()
	c.excuse(time.Since(start))
	return err
}

// excuse takes d out of the time that the operation has been in trouble.
func (c *call) excuse(d time.Duration) { c.since = c.since.Add(d) }

// bounded runs a wait that ends with ErrElapsed when the operation has been in
// trouble for too long, and no byte of the upload was acknowledged meanwhile. A
// bound that is noticed long after it ran out is none: the process was stopped.
func (r *run) bounded(ctx context.Context, c *call, wait func(context.Context) error) error {
	if r.options.MaxElapsed < 0 {
		return wait(ctx)
	}
	for {
		began, deadline := time.Now(), r.patience(c)
		bound, cancel := context.WithDeadlineCause(ctx, deadline, ErrElapsed)
		err := wait(bound)
		cancel()
		if errors.Is(err, ErrElapsed) && min(time.Since(deadline), time.Since(began)) > overslept {
			r.progress.seen()
		}
		if !errors.Is(err, ErrElapsed) || !r.patience(c).After(deadline) {
			return err
		}
	}
}

// patience is until when the operation may be in trouble.
func (r *run) patience(c *call) time.Time {
	since := c.since
	if seen := r.progress.lastSeen(); seen.After(since) {
		since = seen
	}
	return since.Add(r.options.MaxElapsed)
}
