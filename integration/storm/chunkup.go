package storm

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/chunkup/chunkup/breaker"
	"github.com/chunkup/chunkup/budget"
	"github.com/chunkup/chunkup/multipart/lanes"
)

// The bounds of the engine (package multipart), by default.
const (
	startLanes  = 8
	maxAttempts = 5 // in a row; four times as many in all
	maxElapsed  = 3 * time.Minute
	backoffBase = 500 * time.Millisecond
	backoffCap  = 15 * time.Second

	// sustained is for how long an attempt sends before its bytes are progress.
	sustained = 15 * time.Second
)

var errAttempts, errElapsed = errors.New("too many attempts"), errors.New("no progress for too long")

// endpoint is one process of chunkup: what all its uploads share. Budget, breaker
// and lanes are the real ones.
type endpoint struct {
	w       *world
	budget  *budget.Budget
	breaker *breaker.Breaker
	lanes   *lanes.Gate
	pipe    *pipe
	link    link
	counts  func(outcome) evidence

	successes atomic.Int64
	troubled  atomic.Int64 // parts that have failed and are not over
}

func newEndpoint(w *world) *endpoint {
	e := &endpoint{
		w:      w,
		budget: budget.New(budget.Options{Retries: float64(max(10, w.scene.Slots))}),
		lanes:  lanes.New(lanes.Options{Start: startLanes, Max: w.scene.Slots}),
		counts: evidenceOf,
	}
	e.breaker = breaker.New(breaker.Options{Rand: w.dice.float, OnChange: func(_, to breaker.State) {
		if to == breaker.Open {
			e.lanes.SlowStart()
		}
	}})
	if w.scene.Uplink != nil {
		e.pipe = &pipe{w: w}
	}
	return e
}

func (e *endpoint) gauges() (budget, lanes float64) {
	l := e.budget.Level()
	return l.Requests / l.CapacityRequests, float64(e.lanes.Limit())
}

func (e *endpoint) run(ctx context.Context) {
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				e.upload(ctx, fmt.Sprintf("%d-%d", i, n))
			}
		})
	}
	wg.Wait()
}

// upload sends the parts of one upload.
func (e *endpoint) upload(ctx context.Context, name string) {
	u := &upload{endpoint: e, name: name, share: e.budget.Join(int64(e.w.scene.Part))}
	defer u.share.Leave()
	u.seen()
	g, parts := errgroup.WithContext(ctx)
	g.SetLimit(2 * e.lanes.Max()) // those that wait for a retry hold no lane
	for n := range e.w.scene.Parts {
		if parts.Err() != nil {
			break
		}
		g.Go(func() error { return u.send(parts, n) })
	}
	err := g.Wait()
	switch {
	case ctx.Err() != nil:
	case err != nil:
		e.w.record.aborted(int(u.finished.Load()))
		time.Sleep(restart)
	default:
		e.w.record.finished()
	}
}

// upload is one upload under way.
type upload struct {
	*endpoint
	name     string
	share    *budget.Share
	finished atomic.Int64
	last     atomic.Int64 // when a byte was last known to have arrived, from the start of the world
}

func (u *upload) seen() { u.last.Store(int64(u.w.now())) }

// call is one part from its first attempt to its end.
type call struct {
	name  string
	bytes int64
	pay   *budget.Operation
	lane  *lanes.Lane // while an attempt is under way

	since     time.Duration // it has been in trouble
	troubled  bool          // counted in the endpoint's troubled
	attempts  int           // that were made
	failures  int           // in a row, with nothing else succeeding in between
	counted   int           // failures in all
	successes int64         // of the endpoint, at the last failure
	ceiling   time.Duration // of the next wait
	wait      time.Duration // before the next attempt
	stretch   int           // the next deadline on a pipe is so many times as long
}

// send is the retry loop. The order of one attempt: wait → breaker → budget → lane
// → breaker again → send → settle.
func (u *upload) send(ctx context.Context, part int) error {
	bytes := int64(u.w.scene.Part)
	c := &call{
		name: fmt.Sprintf("%s/%d", u.name, part), bytes: bytes, pay: u.share.Operation(bytes),
		since: u.w.now(), ceiling: backoffBase, stretch: 1,
	}
	defer c.pay.End()
	defer u.over(c)
	for {
		permit, err := u.admit(ctx, c)
		if err != nil {
			return err
		}
		c.attempts++
		out, sent := u.put(c)
		u.settle(c, permit, out, sent)
		if out == done {
			u.finished.Add(1)
			return nil
		}
		if err := u.again(c, out, permit.Probe()); err != nil {
			return err
		}
	}
}

// admit waits for everything that an attempt needs and takes it.
func (u *upload) admit(ctx context.Context, c *call) (*breaker.Permit, error) {
	if c.wait > 0 {
		err := u.bounded(ctx, c, func(ctx context.Context) error { return sleep(ctx, c.wait) })
		if err != nil {
			return nil, err
		}
	}
	for {
		permit, err := u.admitOnce(ctx, c)
		if permit != nil || err != nil {
			return permit, err
		}
	}
}

// admitOnce returns neither permit nor error if the endpoint's state changed while
// it waited.
func (u *upload) admitOnce(ctx context.Context, c *call) (*breaker.Permit, error) {
	if c.attempts == 0 {
		c.since = u.w.now()
	}
	var permit *breaker.Permit
	err := u.bounded(ctx, c, func(ctx context.Context) (err error) {
		permit, err = u.breaker.Wait(ctx, c.name, c.bytes)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := u.payFor(ctx, c, permit); err != nil {
		permit.Report(breaker.Ignored)
		return nil, err
	}
	if !permit.Probe() { // it is the only one that goes
		asked := u.w.now()
		c.lane, err = u.lanes.Acquire(ctx, c.attempts > 0)
		c.since += u.w.now() - asked // waiting for a lane is no sign of trouble
	}
	if err != nil || !permit.Current() || !permit.Probe() && !c.pay.Current() {
		u.release(c, permit)
		return nil, err
	}
	return permit, nil
}

// payFor pays for a retry, waiting while the budget is empty. A first attempt is
// free, but waits while the endpoint is in doubt. A probe does neither.
func (u *upload) payFor(ctx context.Context, c *call, permit *breaker.Permit) error {
	switch {
	case permit.Probe():
		c.pay.Probe()
		return nil
	case c.attempts == 0:
		return c.pay.Begin(ctx)
	}
	return u.bounded(ctx, c, c.pay.Begin)
}

// release gives back what an attempt that will not be made has taken.
func (u *upload) release(c *call, permit *breaker.Permit) {
	c.leave(lanes.Ignored)
	c.pay.Settle(budget.Void, 0)
	permit.Report(breaker.Ignored)
}

// leave gives the lane back, if there is one.
func (c *call) leave(o lanes.Outcome) {
	if c.lane != nil {
		c.lane.Release(o)
		c.lane = nil
	}
}

// bounded runs a wait that ends when the part has been in trouble for too long and
// no byte of its upload has arrived meanwhile.
func (u *upload) bounded(ctx context.Context, c *call, wait func(context.Context) error) error {
	patience := func() time.Time {
		return u.w.start.Add(max(c.since, time.Duration(u.last.Load())) + maxElapsed)
	}
	for {
		deadline := patience()
		bound, cancel := context.WithDeadlineCause(ctx, deadline, errElapsed)
		err := wait(bound)
		cancel()
		if !errors.Is(err, errElapsed) || !patience().After(deadline) {
			return err
		}
	}
}

// sleep waits for d or for the end of ctx, whose cause it then returns.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
