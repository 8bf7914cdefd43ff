package multipart

import (
	"context"
	"errors"
	"time"

	"github.com/chunkup/chunkup/breaker"
	"github.com/chunkup/chunkup/budget"
	"github.com/chunkup/chunkup/multipart/wire"
)

// maxRemints is how many new requests in a row a part may ask for: one that was
// refused as expired when it was fresh will not be better a fourth time.
const maxRemints = 3

// maxRereads is how often a part's bytes are read and hashed again after the
// store received others.
const maxRereads = 2

// ambiguity ends a loop whose operation may have been applied: the caller has
// to look before it goes on.
type ambiguity struct{ stopped, err error }

func (a *ambiguity) Error() string { return a.err.Error() }
func (a *ambiguity) Unwrap() error { return a.err }

// do is the one retry loop of the program. It makes attempts until one is done
// or trying again is no use, and returns an *[Error], or an *ambiguity with
// which it may be called again.
//
// The order of one attempt: wait → breaker → budget → lane → breaker again →
// send → settle. Sleep before the token, token before the lane; the other
// orders starve.
func (r *run) do(ctx context.Context, c *call, attempt func(context.Context) result) error {
	for {
		permit, err := r.admit(ctx, c)
		if err != nil {
			return r.stopped(ctx, c, err)
		}
		c.attempts++
		start := time.Now()
		res := attempt(ctx)
		if res.answer.Elapsed == 0 {
			res.answer.Elapsed = time.Since(start)
		}
		class := r.settle(ctx, c, permit, res)
		if class == wire.Done {
			return nil
		}
		c.last = res.err
		if canceled(ctx) {
			return r.ended(ctx, c)
		}
		again, stopped := r.again(c, class, res, permit.Probe())
		if class == wire.Ambiguous {
			return &ambiguity{stopped: stopped, err: res.err}
		}
		if !again {
			return r.fail(c, res.err, stopped)
		}
	}
}

// admit waits for everything that an attempt needs and takes it.
func (r *run) admit(ctx context.Context, c *call) (*breaker.Permit, error) {
	if c.wait > 0 {
		r.tell(c, Event{Kind: Waited, Wait: c.wait, Reason: c.reason})
		until := time.Now().Add(c.wait)
		c.wait = 0
		err := r.bounded(ctx, func(ctx context.Context) error { return sleep(ctx, time.Until(until)) })
		if err != nil {
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
	err := r.bounded(ctx, func(ctx context.Context) error { return sleep(ctx, r.endpoint.held()) })
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
	if c.lane {
		if err := r.takeLane(ctx, c.attempts > 0 || permit.Probe()); err != nil {
			r.release(c, permit, false)
			return nil, err
		}
	}
	if !permit.Current() || !permit.Probe() && !c.pay.Current() || r.endpoint.held() > 0 {
		r.release(c, permit, c.lane)
		return nil, nil
	}
	return permit, nil
}

// release gives back what an attempt that will not be made has taken.
func (r *run) release(c *call, permit *breaker.Permit, lane bool) {
	if lane {
		r.endpoint.lanes.Release()
	}
	c.pay.Settle(budget.Void, 0)
	permit.Report(breaker.Ignored)
}

// takeLane waits for a lane. That is no sign of trouble, only of other uploads:
// the time does not count as time without progress.
func (r *run) takeLane(ctx context.Context, retry bool) error {
	start := time.Now()
	err := r.endpoint.lanes.Acquire(ctx, retry)
	r.progress.excuse(time.Since(start))
	return err
}

// passBreaker waits at an open breaker, holding and paying nothing. The first
// call of an upload is refused instead, unless the caller asked to wait.
func (r *run) passBreaker(ctx context.Context, c *call) (*breaker.Permit, error) {
	b := r.endpoint.breaker
	if c.first && c.attempts == 0 && !r.options.WaitOpen {
		return b.Allow(c.name)
	}
	var permit *breaker.Permit
	err := r.waited(ctx, c, "breaker", func(ctx context.Context) (err error) {
		permit, err = b.Wait(ctx, c.name, c.bytes)
		return err
	})
	return permit, err
}

// payFor pays for a retry, waiting while the budget is empty; a first attempt
// is free, but waits while the endpoint is in doubt. A probe does neither.
func (r *run) payFor(ctx context.Context, c *call, permit *breaker.Permit) error {
	if permit.Probe() {
		c.pay.Probe()
		return nil
	}
	return r.waited(ctx, c, "budget", c.pay.Begin)
}

// waited runs a wait whose end nobody knows before, and tells how long it was.
func (r *run) waited(ctx context.Context, c *call, reason string, wait func(context.Context) error) error {
	start := time.Now()
	err := r.bounded(ctx, wait)
	if d := time.Since(start); d >= time.Millisecond {
		r.tell(c, Event{Kind: Waited, Wait: d, Reason: reason})
	}
	return err
}

// bounded runs a wait that ends with ErrElapsed when the upload has gone too
// long without an acknowledged byte.
func (r *run) bounded(ctx context.Context, wait func(context.Context) error) error {
	if r.options.MaxElapsed < 0 {
		return wait(ctx)
	}
	for {
		deadline := r.progress.lastSeen().Add(r.options.MaxElapsed)
		bound, cancel := context.WithDeadlineCause(ctx, deadline, ErrElapsed)
		err := wait(bound)
		cancel()
		overtaken := r.progress.lastSeen().Add(r.options.MaxElapsed).After(deadline)
		if !errors.Is(err, ErrElapsed) || !overtaken {
			return err
		}
	}
}

// settle tells budget, breaker, lanes and observers how an attempt ended.
func (r *run) settle(ctx context.Context, c *call, permit *breaker.Permit, res result) wire.Class {
	if c.lane {
		r.endpoint.lanes.Release()
	}
	var class wire.Class
	switch {
	case canceled(ctx) && res.err != nil:
		res.local = true // our own doing: no evidence of anything
	case res.local:
		class = wire.Fatal
	default:
		class = r.classify(c, res)
	}
	counts := evidenceOf(class, res)
	c.pay.Settle(counts.budget, res.answer.Sent)
	permit.Report(counts.breaker)
	if res.err == nil || res.answer.Status != 0 {
		r.endpoint.contacted.Store(true)
	}
	if class == wire.Done {
		r.successes.Add(1)
		r.progress.seen()
	}
	r.count(c, res)
	r.tellAttempt(c, class, res)
	return class
}

// again decides whether there is another attempt and after which wait.
func (r *run) again(c *call, class wire.Class, res result, probe bool) (again bool, stopped error) {
	c.expect, c.expired = hidesRefusal(res), class == wire.Remint
	switch class {
	case wire.Remint:
		c.remints++
		if c.remints > maxRemints {
			return false, ErrExpired
		}
		return true, nil
	case wire.Reread:
		c.rereads++
		if c.rereads > maxRereads || !c.lane {
			return false, nil
		}
	case wire.Retry, wire.Throttle, wire.Ambiguous:
	default:
		return false, nil
	}
	c.remints = 0
	if !probe && !r.isAway(res.err) {
		if stopped := r.countFailure(c); stopped != nil {
			return false, stopped
		}
	}
	r.planWait(c, res)
	return true, nil
}

// countFailure applies the bound on attempts: so many in a row with nothing
// else of the upload succeeding in between, four times that whatever happens.
func (r *run) countFailure(c *call) error {
	if now := r.successes.Load(); now > c.successes {
		c.successes, c.failures = now, 0
		c.waits.reset()
	}
	c.failures++
	c.counted++
	if c.failures >= r.options.MaxAttempts || c.counted >= 4*r.options.MaxAttempts {
		return ErrAttempts
	}
	return nil
}

// isAway reports that there is no way to a host which has answered before: a
// laptop on a train. That is no failed attempt at anything, however often it
// happens; the time without progress bounds it.
func (r *run) isAway(err error) bool {
	return r.endpoint.contacted.Load() && neverConnected(err)
}

// planWait draws the wait before the next attempt: the backoff, or what the
// store asked for if that is longer. The store's word holds for the whole
// endpoint, with a spread so that a crowd does not come back as one.
func (r *run) planWait(c *call, res result) {
	c.wait, c.reason = c.waits.next(), "backoff"
	e, ok := errors.AsType[*wire.StoreError](res.err)
	if !ok || e.RetryAfter == 0 {
		return
	}
	after := min(e.RetryAfter, r.options.RetryAfterCap)
	after += time.Duration(r.options.Rand() * float64(min(10*time.Second, after/4)))
	r.endpoint.hold(after)
	if after > c.wait {
		c.wait, c.reason = after, "retry-after"
	}
}
