package budget_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/chunkup/chunkup/budget"
)

// A step of a random trace. who picks among those to whom it can happen.
type step struct {
	do      string
	who     int
	bytes   int64
	sent    int64 // percent
	verdict budget.Verdict
	wait    time.Duration
}

func drawSizes() *rapid.Generator[int64] {
	return rapid.OneOf(
		rapid.SampledFrom([]int64{5 * mib, 8 * mib, 64 * mib, 5 << 30}),
		rapid.Int64Range(5*mib, 5<<30),
	)
}

func drawStep() *rapid.Generator[step] {
	bytes := rapid.OneOf(rapid.Just(int64(0)), drawSizes())
	return rapid.Custom(func(t *rapid.T) step {
		s := step{
			do: rapid.SampledFrom([]string{
				"first", "first", "begin", "begin", "begin", "begin", "settle", "settle", "settle", "settle", "settle",
				"sleep", "cancel", "probe", "end", "end", "join", "leave",
			}).Draw(t, "do"),
			who: rapid.IntRange(0, 1000).Draw(t, "who"),
		}
		switch s.do {
		case "first":
			s.bytes = bytes.Draw(t, "bytes")
		case "join":
			s.bytes = drawSizes().Draw(t, "part")
		case "settle":
			s.verdict = rapid.SampledFrom([]budget.Verdict{
				budget.Failure, budget.Failure, budget.Failure, budget.Failure, budget.Void, budget.Success,
			}).Draw(t, "verdict")
			s.sent = rapid.SampledFrom([]int64{0, 10, 100, 100, 100}).Draw(t, "sent")
		case "sleep":
			s.wait = time.Duration(rapid.Int64Range(1, int64(40*time.Second)).Draw(t, "wait"))
		}
		return s
	})
}

// On every trace the budget does what the ledger says: who is granted what, when,
// in which turn; the level, its range, and the bound of an outage. At the end
// everybody fails and gives up, retries without hope at last, and still nobody stays
// parked.
func TestTraces(t *testing.T) {
	check(t, 10_000, func(rt *rapid.T) func(*testing.T) error {
		options := budget.Options{
			Retries: rapid.SampledFrom([]float64{0.5, 1, 3, 10, 16}).Draw(rt, "retries"),
			Ratio:   rapid.SampledFrom([]float64{0.1, 0.5, 1}).Draw(rt, "ratio"),
			Floor:   rapid.SampledFrom([]float64{0.5, 0.05, 3, -1}).Draw(rt, "floor"),
		}
		parts := rapid.SliceOfN(drawSizes(), 1, 3).Draw(rt, "parts")
		steps := rapid.SliceOfN(drawStep(), 5, 60).Draw(rt, "steps")
		return func(t *testing.T) error { return runTrace(t.Context(), options, parts, steps) }
	})
}

// A trace is a budget and the model of it.
type trace struct {
	*model
	b   *budget.Budget
	ctx context.Context
}

func runTrace(ctx context.Context, options budget.Options, parts []int64, steps []step) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // so that a failure leaves nobody parked
	tr := &trace{b: budget.New(options), ctx: ctx, model: &model{
		options: options, requests: options.Retries, parts: options.Retries, at: time.Now(), nominal: 1,
	}}
	for _, part := range parts {
		tr.join(part)
	}
	for i, s := range steps {
		if err := tr.step(s); err != nil {
			return fmt.Errorf("step %d %+v: %w", i, s, err)
		}
	}
	return tr.giveUp()
}

// pick returns one of those to whom something can happen, or nil.
func pick[E any](all []*E, who int, can func(*E) bool) *E {
	var some []*E
	for _, e := range all {
		if can(e) {
			some = append(some, e)
		}
	}
	if len(some) == 0 {
		return nil
	}
	return some[who%len(some)]
}

func isIdle(o *modelOperation) bool    { return o.now == nil && !o.parked }
func isParked(o *modelOperation) bool  { return o.parked }
func isRunning(o *modelOperation) bool { return o.now != nil }

// step does one thing to the budget and tells the model, which then looks at what
// came of it. A step that can happen to nobody does nothing.
func (tr *trace) step(s step) error {
	switch s.do {
	case "first":
		if share := pick(tr.shares, s.who, func(m *modelShare) bool { return !m.left }); share != nil {
			o := &modelOperation{Operation: share.share.Operation(s.bytes), share: share, bytes: s.bytes}
			tr.operations = append(tr.operations, o)
			return tr.launch(o)
		}
	case "begin":
		if o := pick(tr.operations, s.who, isIdle); o != nil {
			return tr.launch(o)
		}
	case "probe":
		if o := pick(tr.operations, s.who, isIdle); o != nil {
			tr.started(o, &attempt{requests: 1, parts: tr.price(o), probe: true}, false)
			o.Probe()
		}
	case "settle":
		if o := pick(tr.operations, s.who, isRunning); o != nil {
			sent := o.bytes / 100 * s.sent
			tr.settle(o, s.verdict, sent)
			o.Settle(s.verdict, sent)
		}
	case "end":
		if o := pick(tr.operations, s.who, func(o *modelOperation) bool { return !o.parked }); o != nil {
			tr.end(o)
		}
	case "cancel":
		if o := pick(tr.operations, s.who, isParked); o != nil {
			if err := tr.withdraw(o); err != nil {
				return err
			}
		}
	case "join":
		if len(tr.shares) < 6 {
			tr.join(s.bytes)
		}
	case "leave":
		if share := pick(tr.shares, s.who, func(m *modelShare) bool { return !m.left }); share != nil {
			share.left = true
			share.share.Leave()
			tr.rescale()
		}
	case "sleep":
		time.Sleep(s.wait)
		return tr.observe(true)
	}
	return tr.observe(false)
}

func (tr *trace) join(part int64) {
	tr.shares = append(tr.shares, &modelShare{share: tr.b.Join(part), part: part})
	tr.rescale()
}

// rescale finds the largest part of those who are in.
func (tr *trace) rescale() {
	var largest int64
	for _, s := range tr.shares {
		if !s.left {
			largest = max(largest, s.part)
		}
	}
	if largest > 0 {
		tr.nominal = largest
	}
}

// launch calls Begin.
func (tr *trace) launch(o *modelOperation) error {
	ctx, cancel := context.WithCancel(tr.ctx)
	results := make(chan result, 1)
	o.cancel, o.result = cancel, results
	tr.begin(o)
	go func() {
		err := o.Begin(ctx)
		results <- result{err, time.Now()}
	}()
	if o.now != nil {
		if r := <-o.result; r.err != nil || r.at.After(tr.at) {
			return fmt.Errorf("a free attempt returned %v after %v", r.err, r.at.Sub(tr.at))
		}
	}
	return tr.observe(false)
}

// withdraw cancels a parked Begin.
func (tr *trace) withdraw(o *modelOperation) error {
	tr.unpark(o, false)
	o.cancel()
	if r := <-o.result; !errors.Is(r.err, context.Canceled) {
		return fmt.Errorf("a cancelled Begin returned %v", r.err)
	}
	return nil
}

// end gives the operation up.
func (tr *trace) end(o *modelOperation) {
	if o.now != nil {
		tr.settle(o, budget.Void, 0)
	}
	o.trying = false
	tr.outage.gone++
	tr.operations = slices.DeleteFunc(tr.operations, func(other *modelOperation) bool { return other == o })
	o.End()
}

// observe lets the bubble come to rest and has the model judge what happened.
// quiet is whether only time has passed.
func (tr *trace) observe(quiet bool) error {
	synctest.Wait()
	granted := map[*modelOperation]time.Time{}
	for _, o := range tr.operations {
		if !o.parked {
			continue
		}
		select {
		case r := <-o.result:
			if r.err != nil {
				return fmt.Errorf("a parked Begin returned %w", r.err)
			}
			granted[o] = r.at
		default:
		}
	}
	if err := tr.grants(granted, quiet); err != nil {
		return err
	}
	return tr.check(tr.b.Level())
}

// giveUp lets every attempt fail and every operation end, until nobody is left.
func (tr *trace) giveUp() error {
	for range 2*len(tr.operations) + 1 {
		for _, o := range slices.Clone(tr.operations) {
			if o.now != nil {
				tr.settle(o, budget.Failure, o.bytes)
				o.Settle(budget.Failure, o.bytes)
			}
			if !o.parked {
				tr.end(o)
			}
			if err := tr.observe(false); err != nil {
				return fmt.Errorf("giving up: %w", err)
			}
		}
		if err := tr.await(); err != nil {
			return fmt.Errorf("giving up: %w", err)
		}
	}
	if parked := tr.b.Level().Parked; parked != 0 || len(tr.operations) != 0 {
		return fmt.Errorf("%d stay parked for ever", parked)
	}
	return nil
}

// await lets pass what the next in turn needs. If time earns nothing, a retry that
// cannot pay is cancelled, and ends when its turn to give up comes.
func (tr *trace) await() error {
	next, _, from := tr.next()
	var wait time.Duration
	switch floor := tr.floor(); {
	case next == nil:
	case floor > 0:
		wait = time.Duration(max(0, -tr.spare(next)) / floor * float64(time.Second))
	case next.failed:
		if err := tr.withdraw(next); err != nil {
			return err
		}
	}
	time.Sleep(max(wait, from.Sub(tr.at)) + time.Microsecond)
	return tr.observe(true)
}
