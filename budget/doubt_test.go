package budget_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chunkup/chunkup/budget"
)

func TestDoubtHoldsFirstAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(budget.Options{})
		share, other := b.Join(mib), b.Join(mib)
		running := share.Operation(mib)
		mustBegin(t, running) // before the doubt
		tries := failing(share, 1, mib)[0]

		var held []<-chan error
		for range 5 {
			held = append(held, begin(t.Context(), other.Operation(mib)))
		}
		time.Sleep(silence - time.Nanosecond)
		for _, h := range held {
			if begun(t, h) {
				t.Fatal("a first attempt started while an operation that failed still tried")
			}
		}
		mustBegin(t, tries) // retries go on
		running.Settle(budget.Success, mib)
		for _, h := range held {
			if !begun(t, h) {
				t.Error("a first attempt did not start when an attempt from before the doubt succeeded")
			}
		}
		wantLevel(t, b, 9.1, 9.1*mib) // one retry and the success: the first attempts were free
	})
}

func TestVoidNeitherRaisesNorEndsDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(budget.Options{})
		share := b.Join(mib)
		o := share.Operation(mib)
		mustBegin(t, o)
		o.Settle(budget.Void, mib)
		if b.Level().Doubt {
			t.Error("a void attempt raised a doubt")
		}
		mustBegin(t, o) // still a first attempt
		wantLevel(t, b, 10, 10*mib)

		failing(share, 1, mib)
		o.Settle(budget.Void, mib)
		if !b.Level().Doubt {
			t.Error("a void attempt ended a doubt")
		}
		if begun(t, begin(t.Context(), o)) {
			t.Error("a void attempt made the next one a retry")
		}
		succeed(share, mib)
	})
}

// When all have given up, one first attempt after the other takes their place and
// pays: nothing waits for ever, and nothing gets around the budget.
func TestEveryoneGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(budget.Options{Retries: 3})
		share := b.Join(mib)
		gone := failing(share, 2, mib)
		const n = 6
		started := make(chan *budget.Operation, n)
		begin := time.Now()
		for range n {
			o := share.Operation(mib)
			go func() {
				if o.Begin(t.Context()) == nil {
					started <- o
				}
			}()
		}
		gone[0].End()
		synctest.Wait()
		if len(started) != 0 {
			t.Fatal("a first attempt started although one operation still tried")
		}
		gone[1].End()
		for i, after := range []time.Duration{0, 0, 0, 2, 4, 6} {
			o := <-started
			if got := time.Since(begin); got != after*time.Second {
				t.Errorf("first attempt %d started after %v, want %d s", i, got, after)
			}
			synctest.Wait()
			if len(started) != 0 {
				t.Error("two first attempts at once")
			}
			o.Settle(budget.Failure, mib)
			synctest.Wait()
			if len(started) != 0 {
				t.Error("a first attempt started before the one that failed gave up")
			}
			o.End()
		}
		if l := b.Level(); l.Parked != 0 || !l.Doubt {
			t.Errorf("level %+v, want none parked and still in doubt", l)
		}
	})
}

// A first attempt that takes the place of those who gave up stops to count when it
// settles void or ends, gets its charge back, and is a first attempt again.
func TestFirstAttemptInDoubtIsVoid(t *testing.T) {
	for _, end := range []bool{false, true} {
		t.Run(fmt.Sprint("end ", end), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := budget.New(budget.Options{})
				share := b.Join(mib)
				failing(share, 1, mib)[0].End()
				first := share.Operation(mib)
				mustBegin(t, first)
				wantLevel(t, b, 9, 9*mib)
				next := begin(t.Context(), share.Operation(mib))
				if begun(t, next) {
					t.Fatal("a second first attempt did not wait for the verdict")
				}
				if end {
					first.End()
				} else {
					first.Settle(budget.Void, mib)
				}
				if !begun(t, next) {
					t.Error("the next first attempt did not take its place")
				}
				wantLevel(t, b, 9, 9*mib)
				if !end && begun(t, begin(t.Context(), first)) {
					t.Error("the void attempt was made a retry")
				}
				succeed(share, 0)
			})
		})
	}
}

// A first attempt that waits to pay goes free when doubt ends, and waits for a
// verdict when somebody fails.
func TestFirstAttemptWaitsToPay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(budget.Options{Retries: 1})
		share := b.Join(mib)
		running := share.Operation(mib)
		mustBegin(t, running)
		drain(t, share, 1, mib)
		first := begin(t.Context(), share.Operation(mib))
		running.Settle(budget.Failure, mib)
		time.Sleep(silence - time.Nanosecond)
		if begun(t, first) {
			t.Error("a first attempt started although an operation that failed tries")
		}
		mustBegin(t, running)
		running.Settle(budget.Failure, mib)
		running.End()
		time.Sleep(time.Second)
		if begun(t, first) {
			t.Error("a first attempt in doubt started on an empty budget")
		}
		succeed(share, 0)
		if !begun(t, first) {
			t.Error("a first attempt did not start when doubt ended")
		}
		wantLevel(t, b, 0.6, 0.5*mib)
	})
}

func TestProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(budget.Options{Floor: -1})
		share := b.Join(mib)
		tries := failing(share, 1, mib)[0]
		held := begin(t.Context(), share.Operation(mib))

		o := share.Operation(mib)
		o.Probe() // in doubt, and a first attempt
		o.Settle(budget.Failure, mib)
		tries.End()
		if begun(t, held) {
			t.Error("the probe's operation has failed and not ended: it counts as one that tries")
		}
		o.Probe()
		wantLevel(t, b, 10, 10*mib)
		o.Settle(budget.Failure, mib)
		mustBegin(t, o) // a retry: pays
		wantLevel(t, b, 9, 9*mib)
		o.Settle(budget.Failure, mib)
		o.Probe()
		o.Settle(budget.Success, mib)
		wantLevel(t, b, 9.1, 9.1*mib) // no charge to get back
		if !begun(t, held) {
			t.Error("a probe's success did not end the doubt")
		}
	})
}

// An operation that goes on after a success pays, for it has failed before, and
// while it waits to pay it counts as one that tries.
func TestRetryAfterSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(budget.Options{Retries: 1})
		share := b.Join(mib)
		o := failing(share, 1, mib)[0]
		mustBegin(t, o)
		o.Settle(budget.Success, mib)
		drain(t, share, 1, mib)
		again := begin(t.Context(), o)
		first := begin(t.Context(), share.Operation(mib))
		time.Sleep(2 * time.Second)
		if !begun(t, again) || begun(t, first) {
			t.Error("want the retry to start and the first attempt to wait for it")
		}
		succeed(share, 0)
	})
}

// What began free before a doubt and has not been sent yet is stale; what has paid,
// or will have to, is not.
func TestCurrent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(budget.Options{})
		share := b.Join(mib)
		free := share.Operation(mib)
		mustBegin(t, free)
		if !free.Current() {
			t.Error("a first attempt is stale without a doubt")
		}
		tries := failing(share, 1, mib)[0]
		if free.Current() {
			t.Error("a first attempt that began free is current in doubt")
		}
		mustBegin(t, tries)
		if !tries.Current() {
			t.Error("a retry is stale")
		}
		tries.Settle(budget.Failure, mib)
		tries.Probe()
		if !tries.Current() {
			t.Error("a probe of an operation that has failed is stale")
		}
		tries.End()
		first := share.Operation(mib)
		mustBegin(t, first)
		if !first.Current() {
			t.Error("a first attempt that has paid is stale")
		}
		succeed(share, mib)
		if !free.Current() {
			t.Error("a first attempt is stale after the doubt")
		}
	})
}
