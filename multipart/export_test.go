package multipart

import (
	"context"
	"time"

	"github.com/chunkup/chunkup/breaker"
	"github.com/chunkup/chunkup/budget"
	"github.com/chunkup/chunkup/multipart/lanes"
)

// TakeLane takes one of the endpoint's lanes.
func (e *Endpoint) TakeLane(ctx context.Context) (release func()) {
	l, err := e.lanes.Acquire(ctx, false)
	if err != nil {
		panic(err)
	}
	return func() { l.Release(lanes.Ignored) }
}

// Fail reports a failure of some operation to the breaker.
func (e *Endpoint) Fail() {
	p, err := e.breaker.Allow("x")
	if err != nil {
		panic(err)
	}
	p.Report(breaker.Failure)
}

// Doubt brings the endpoint into doubt until the end of the operation.
func (e *Endpoint) Doubt(ctx context.Context) (end func()) {
	share := e.budget.Join(1)
	op := share.Operation(1)
	if err := op.Begin(ctx); err != nil {
		panic(err)
	}
	op.Settle(budget.Failure, 1)
	return func() {
		op.End()
		share.Leave()
	}
}

// Hold lets the store ask to be left alone.
func (e *Endpoint) Hold() { e.hold(time.Minute) }
