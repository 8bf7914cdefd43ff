package budget_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/chunkup/chunkup/budget"
)

// hang raises a doubt, and returns the operation that failed; its next attempt has
// begun, and says nothing.
func hang(t *testing.T, s *budget.Share) *budget.Operation {
	t.Helper()
	o := failing(s, 1, 0)[0]
	o.Probe()
	return o
}

// A retry that hangs, on a source that is slow or with a huge part on a slow link,
// holds no others for longer than it takes to be silent and to earn a retry.
func TestHangHoldsForAWhile(t *testing.T) {
	for _, c := range []struct {
		name  string
		floor float64
		spent int   // retries, of 10
		bytes int64 // of the first attempt
		after time.Duration
		left  float64 // requests
	}{
		{"enough", 0.5, 0, mib, 15 * time.Second, 9},
		{"empty, and full too soon to matter", 0.5, 10, mib, 15 * time.Second, 6.5},
		{"empty, and filled slowly", 0.05, 10, mib, 20 * time.Second, 0},
		{"a large part", 0.5, 10, 9 * mib, 18 * time.Second, 8},
		{"nothing by time, and enough", -1, 9, mib, 15 * time.Second, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := budget.New(budget.Options{Floor: c.floor})
				share, other := b.Join(mib), b.Join(mib)
				drain(t, other, c.spent, mib)
				hanging := hang(t, share)
				o := other.Operation(c.bytes)
				first, next := begin(t.Context(), o), begin(t.Context(), other.Operation(mib))
				time.Sleep(c.after - time.Nanosecond)
				if begun(t, first) {
					t.Fatalf("the first attempt started before %v", c.after)
				}
				time.Sleep(time.Nanosecond)
				if !begun(t, first) {
					t.Fatalf("the first attempt did not start after %v", c.after)
				}
				if got := b.Level().Requests; !near(got, c.left) {
					t.Errorf("%v requests left, want %v", got, c.left)
				}
				if !o.Current() {
					t.Error("the first attempt is stale")
				}
				if begun(t, next) {
					t.Error("two first attempts at once")
				}
				o.Settle(budget.Success, c.bytes) // the store is well
				if !begun(t, next) {
					t.Error("the success did not end the doubt")
				}
				hanging.End()
			})
		})
	}
}

// One first attempt goes after 15 s in which nobody has said anything; what says
// something, or goes, starts the count again.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(budget.Options{})
		share := b.Join(mib)
		hanging := hang(t, share)
		start := time.Now()
		type grant struct {
			*budget.Operation
			after time.Duration
			err   error
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		const n = 6
		grants := make(chan grant, n)
		for range n {
			go func() {
				o := share.Operation(mib)
				err := o.Begin(ctx)
				grants <- grant{o, time.Since(start), err}
			}()
		}
		var first []*budget.Operation
		want := func(seconds time.Duration) {
			t.Helper()
			g := <-grants
			if g.err != nil {
				t.Fatal(g.err)
			}
			if g.after != seconds*time.Second {
				t.Errorf("first attempt %d started after %v, want %d s", len(first), g.after, seconds)
			}
			first = append(first, g.Operation)
		}
		want(15)
		want(30) // the one before says nothing either
		time.Sleep(14 * time.Second)
		first[0].Settle(budget.Failure, mib) // at 44 s
		want(59)
		time.Sleep(14 * time.Second)
		first[1].Settle(budget.Void, 0) // at 73 s, and says nothing
		want(74)
		hanging.Settle(budget.Failure, 0)
		hanging.End()
		for _, o := range first {
			o.End()
		}
		want(74) // all have given up
		want(89)
		if b.Level().Parked != 0 {
			t.Error("some are still parked")
		}
	})
}

// Retries that wait to pay go before, however long the silence: it is for them that
// time earns.
func TestSilenceIsNotForWhoWaitsBehindRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(budget.Options{Retries: 1, Floor: 0.02})
		share, other := b.Join(mib), b.Join(mib)
		hanging := hang(t, share)
		drain(t, share, 1, mib)
		retry := failing(share, 1, mib)[0]
		waits, first := begin(t.Context(), retry), begin(t.Context(), other.Operation(0))
		time.Sleep(50*time.Second - time.Nanosecond)
		if begun(t, waits) || begun(t, first) {
			t.Fatal("an attempt started that could not pay")
		}
		time.Sleep(time.Nanosecond)
		if !begun(t, waits) || begun(t, first) {
			t.Fatal("want the retry to start, and the first attempt to wait")
		}
		time.Sleep(50*time.Second - time.Nanosecond)
		if begun(t, first) {
			t.Fatal("the first attempt did not pay")
		}
		time.Sleep(time.Nanosecond)
		if !begun(t, first) {
			t.Error("the first attempt could pay, in silence, and did not start")
		}
		hanging.End()
	})
}

// Who comes when silence is over already does not wait for more of it.
func TestSilenceIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(budget.Options{})
		share := b.Join(mib)
		hanging := hang(t, share)
		time.Sleep(silence)
		mustBegin(t, share.Operation(mib))
		wantLevel(t, b, 9, 9*mib)
		if begun(t, begin(t.Context(), share.Operation(mib))) {
			t.Error("a second one did not wait")
		}
		succeed(share, 0)
		hanging.End()
	})
}

// With nothing by time and nothing left, nobody would ever pay for a first attempt
// when all have given up: one goes free, and the others wait for what it says.
func TestNoFloorAndEveryoneGaveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(budget.Options{Retries: 1, Floor: -1})
		share := b.Join(mib)
		large := failing(share, 1, 3*mib)[0]
		mustBegin(t, large) // leaves a debt
		first := share.Operation(mib)
		started, next := begin(t.Context(), first), begin(t.Context(), share.Operation(mib))
		time.Sleep(time.Hour)
		if begun(t, started) || b.Disarm() {
			t.Fatal("a first attempt started, or a timer waits, while a verdict may come and nothing is left")
		}
		large.Settle(budget.Failure, 3*mib)
		large.End()
		if !begun(t, started) || begun(t, next) {
			t.Fatal("want one first attempt when all have given up")
		}
		wantLevel(t, b, 0, -2*mib)
		if !first.Current() {
			t.Error("the first attempt is stale")
		}
		first.Settle(budget.Failure, mib)
		ctx, cancel := context.WithCancel(t.Context())
		retry := begin(ctx, first)
		time.Sleep(time.Hour)
		if begun(t, retry) || begun(t, next) {
			t.Fatal("a retry went free, or a first attempt while it waits")
		}
		cancel()
		<-retry
		first.End()
		if !begun(t, next) {
			t.Error("the next first attempt did not take its place")
		}
		wantLevel(t, b, 0, -2*mib)
	})
}

// A silence that nobody can pay for any more sets no timer.
func TestNoFloorDisarms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(budget.Options{Retries: 1, Floor: -1})
		share := b.Join(mib)
		ops := failing(share, 2, mib)
		first := begin(t.Context(), share.Operation(mib))
		mustBegin(t, ops[0])
		if b.Disarm() {
			t.Error("the timer is set although time earns nothing")
		}
		succeed(share, 0)
		if !begun(t, first) {
			t.Error("the success did not end the doubt")
		}
	})
}

// The wait of a first attempt has a bound though everything hangs that ever starts:
// the silence and the price of each before it.
func TestFirstWaitIsBounded(t *testing.T) {
	check(t, 2000, func(rt *rapid.T) func(*testing.T) error {
		c := deadCase{
			retries: rapid.SampledFrom([]float64{0.5, 1, 3, 10}).Draw(rt, "retries"),
			floor:   rapid.SampledFrom([]float64{0.5, 0.05, 3}).Draw(rt, "floor"),
			uploads: rapid.SliceOfN(rapid.Custom(drawUpload), 1, 4).Draw(rt, "uploads"),
		}
		n := rapid.IntRange(1, 8).Draw(rt, "first attempts of each")
		return func(t *testing.T) error { return c.firsts(t, n) }
	})
}

func (c deadCase) firsts(t *testing.T, n int) error {
	r := c.join()
	hang(t, r.shares[0])
	all := n * len(r.shares)
	most := time.Duration(all)*silence + r.earn(all)
	ctx, cancel := context.WithTimeout(t.Context(), most)
	defer cancel()
	results := make(chan error, all)
	for i, share := range r.shares {
		for range n {
			go func() { results <- share.Operation(c.uploads[i].largest).Begin(ctx) }()
		}
	}
	for i := range all {
		if err := <-results; err != nil {
			return fmt.Errorf("first attempt %d of %d after %v: %w", i, all, most, err)
		}
	}
	return nil
}
