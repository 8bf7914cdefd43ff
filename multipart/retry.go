package multipart

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/chunkup/chunkup/breaker"
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
	defer c.over()
	for {
		permit, err := r.admit(ctx, c)
		if err != nil {
			return r.stopped(ctx, c, err)
		}
		class, res := r.once(ctx, c, permit, attempt)
		ended := canceled(ctx)
		if errors.Is(res.err, errTooLate) && !ended {
			c.attempts-- // it was none
			continue
		}
		if dead, ok := errors.AsType[*deadError](res.err); ok && c.last != nil && !ended {
			c.attempts--
			if c.once { // it was not refused for its age
				return r.fail(c, c.last, nil)
			}
			return r.fail(c, c.last, dead)
		}
		var again bool
		var stopped error
		if class != wire.Done && !ended {
			r.fails(c, res.err)
			again, stopped = r.again(c, class, res, permit.Probe())
		}
		r.tellAttempt(c, class, res, again)
		switch {
		case class == wire.Done:
			return nil
		case ended:
			return r.ended(ctx, c)
		case class == wire.Ambiguous:
			return &ambiguity{stopped: stopped, err: res.err}
		case !again:
			return r.fail(c, res.err, stopped)
		}
	}
}

// once makes one admitted attempt and settles it. A panic of the source, the
// provider or the control plane gives back what the attempt has taken.
func (r *run) once(ctx context.Context, c *call, permit *breaker.Permit, attempt func(context.Context) result) (wire.Class, result) {
	settled := false
	defer func() {
		if !settled {
			r.release(c, permit)
		}
	}()
	c.attempts++
	start := time.Now()
	awake, done := r.endpoint.awake.attempt(ctx)
	defer done()
	c.permit = permit
	res := attempt(awake)
	if res.answer.Elapsed == 0 {
		res.answer.Elapsed = time.Since(start)
	}
	settled = true
	return r.settle(ctx, c, permit, res), res
}

// settle tells budget, breaker and lanes how an attempt ended.
func (r *run) settle(ctx context.Context, c *call, permit *breaker.Permit, res result) wire.Class {
	r.count(c, res)
	var class wire.Class
	switch {
	case canceled(ctx) && res.err != nil:
		res.local = true // our own doing: no evidence of anything
	case res.local && !res.unsent():
		class = wire.Fatal
	case res.other:
		class = wire.Reread
	default:
		class = r.classify(c, res, c.remints > 0)
	}
	counts := evidenceOf(class, res)
	c.pay.Settle(counts.budget, res.answer.Sent)
	permit.Report(counts.breaker)
	_, refused := errors.AsType[*wire.StoreError](res.err)
	if !res.service() && (res.err == nil || refused || res.answer.Status != 0) {
		r.endpoint.contacted.Store(true)
	}
	if res.answer.NoContinue {
		r.endpoint.noContinue.Store(true)
	}
	// Last, for whoever gets the lane goes by what this attempt has shown.
	c.leave(counts.lanes)
	if class == wire.Done {
		r.progress.seen()
		r.succeeds()
		if !c.inner {
			r.endpoint.successes.Add(1)
		}
	}
	return class
}

// again decides whether there is another attempt and after which wait.
func (r *run) again(c *call, class wire.Class, res result, probe bool) (again bool, stopped error) {
	if res.unsent() { // bounded all the same, for a clock that is set forward looks like a sleep
		if c.counted++; c.counted/4 >= r.options.MaxAttempts {
			return false, ErrAttempts
		}
		return true, nil
	}
	if _, ok := errors.AsType[*mintError](res.err); ok {
		return r.againMint(c, res.err)
	}
	c.expect = hidesRefusal(res)
	c.expired, c.fresh = class == wire.Remint, res.answer.Status == 0
	c.once = c.expired && r.classify(c, res, true) != wire.Remint
	switch class {
	case wire.Retry, wire.Throttle, wire.Ambiguous:
		if res.service() {
			return r.againMint(c, res.err)
		}
	case wire.Remint:
		c.refused = c.request
		r.learn(res.err)
		if c.remints++; c.remints > maxRemints {
			return false, ErrExpired
		}
		if !c.data {
			c.wait, c.reason = c.waits.next(), "backoff"
		}
		return true, nil
	case wire.Reread:
		if c.rereads++; c.rereads > maxRereads || !c.data {
			return false, nil
		}
	default:
		return false, nil
	}
	asked := r.heed(res)
	c.remints, c.mintless = 0, 0
	if !r.isAway(c, res.err) {
		if stopped := r.countFailure(c, class, res, probe); stopped != nil {
			return false, stopped
		}
	}
	c.wait, c.reason = c.waits.next(), "backoff"
	if asked > c.wait {
		c.wait, c.reason = asked, "retry-after"
		c.excuse(asked)
	}
	return true, nil
}

// againMint bounds how often a provider, or a service before the store, may fail in a
// row. Its failures are not the store's: neither the budget nor the breaker hears of
// them. A running upload is more patient, and one that finds no way to a service
// which it has found before waits until there is one: see isAway.
func (r *run) againMint(c *call, err error) (again bool, stopped error) {
	limit := r.options.MaxAttempts
	if r.upload.ID != "" {
		limit *= 4
	}
	if !c.first && neverConnected(err) {
		limit = math.MaxInt
	}
	if c.mintless++; c.mintless >= limit {
		return false, ErrAttempts
	}
	c.wait, c.reason = c.waits.next(), "backoff"
	return true, nil
}

// countFailure applies the bound on attempts: so many in a row with nothing
// else succeeding in between, four times that whatever happens. The row is there
// to end what can never work, so it does not count a store that asks for less, a
// link that is slow, the probes of an open breaker, and trouble that others have
// as well: that is the endpoint's, and the breaker's business. An upload that has
// not begun has nothing to lose.
func (r *run) countFailure(c *call, class wire.Class, res result, probe bool) error {
	if now := r.endpoint.successes.Load(); now > c.successes {
		c.successes, c.failures = now, 0
		c.waits.reset()
	}
	switch {
	case res.slow():
		c.stretch = min(2*c.stretch, longestStretch)
	case class != wire.Throttle && !probe && (c.first || c.isAlone()):
		c.failures++
	}
	c.counted++
	if c.failures >= r.options.MaxAttempts || c.counted/4 >= r.options.MaxAttempts {
		return ErrAttempts
	}
	return nil
}

// isAway reports that a running upload finds no way to a host which has answered
// before: a laptop on a train. That is no failed attempt at anything, however
// often it happens; the time without progress bounds it. An upload that has not
// begun has nothing to lose.
func (r *run) isAway(c *call, err error) bool {
	return !c.first && r.endpoint.contacted.Load() && neverConnected(err)
}

// heed returns how long the store asked to be left alone, 0 if it did not. Its
// word holds for the whole endpoint, with a spread so that a crowd does not
// come back as one.
func (r *run) heed(res result) time.Duration {
	e, ok := errors.AsType[*wire.StoreError](res.err)
	if !ok || e.RetryAfter == 0 {
		return 0
	}
	after := min(e.RetryAfter, r.options.RetryAfterCap)
	after += time.Duration(r.options.Rand() * float64(min(10*time.Second, after/4)))
	r.endpoint.hold(after)
	return after
}
