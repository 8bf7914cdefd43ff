package breaker

import (
	"context"
	"slices"
	"time"
)

// waiter is one caller of Wait at a breaker that is not closed.
type waiter struct {
	op     string
	size   int64
	ready  chan struct{} // closed when permit is set
	permit *Permit       // guarded by Breaker.mu until ready is closed
}

func (w *waiter) grant(p *Permit) {
	w.permit = p
	close(w.ready)
}

// Wait asks for an attempt of the operation op, as [Breaker.Allow] does, and
// waits as long as the breaker does not give it: until the breaker closes, or
// until this caller is the probe. The probe is the waiter with the smallest
// size (the bytes the attempt would send), among equals the one who waits
// longest, for a probe in an outage is most likely sent in vain.
//
// When ctx ends, Wait returns context.Cause(ctx), holds nothing and has lost
// nothing: a probe granted in that same instant passes to the next. It returns
// no other error. A context that is dead already changes nothing.
func (b *Breaker) Wait(ctx context.Context, op string, size int64) (*Permit, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	p, w := b.enter(op, size)
	if w == nil {
		return p, nil
	}
	select {
	case <-w.ready:
	case <-ctx.Done():
	}
	if ctx.Err() != nil { // both may have happened: then this one counts
		b.leave(w)
		return nil, context.Cause(ctx)
	}
	return w.permit, nil
}

// enter returns a permit, or else the waiter that it has queued.
func (b *Breaker) enter(op string, size int64) (*Permit, *waiter) {
	now := b.lock()
	defer b.unlock(now)
	if p := b.admit(op, now); p != nil {
		return p, nil
	}
	w := &waiter{op: op, size: size, ready: make(chan struct{})}
	b.waiters = append(b.waiters, w)
	return nil, w
}

// leave takes a waiter who gives up out of the queue, or hands on what it got
// since.
func (b *Breaker) leave(w *waiter) {
	now := b.lock()
	defer b.unlock(now)
	if w.permit != nil {
		b.settle(w.permit, Ignored, now)
		return
	}
	i := slices.Index(b.waiters, w)
	b.waiters = slices.Delete(b.waiters, i, i+1)
}

// dispatch gives the probe to the smallest waiter if it is to be had. It runs
// first in every critical section, so that the order of a late timer and of a
// new caller does not matter.
func (b *Breaker) dispatch(now time.Time) {
	if b.state != Open || now.Before(b.until) || len(b.waiters) == 0 {
		return
	}
	first := 0
	for i, w := range b.waiters {
		if w.size < b.waiters[first].size {
			first = i
		}
	}
	w := b.waiters[first]
	b.waiters = slices.Delete(b.waiters, first, first+1)
	w.grant(b.probe(w.op))
}

// releaseAll lets everyone go through the breaker that has just closed.
func (b *Breaker) releaseAll() {
	for _, w := range b.waiters {
		w.grant(b.permit(w.op))
	}
	b.waiters = nil
}

// arm keeps the timer set exactly while somebody waits at an open breaker.
func (b *Breaker) arm(now time.Time) {
	need := b.state == Open && len(b.waiters) > 0
	switch {
	case need == b.armed: // until does not change while the timer is set
	case !need:
		b.timer.Stop()
	case b.timer == nil:
		b.timer = time.AfterFunc(b.until.Sub(now), b.wake)
	default:
		b.timer.Reset(b.until.Sub(now))
	}
	b.armed = need
}

// wake is the timer's: all it has to do, every critical section does.
func (b *Breaker) wake() { b.unlock(b.lock()) }
