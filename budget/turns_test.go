package budget_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/chunkup/chunkup/budget"
)

func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(budget.Options{Retries: 1})
		var mu sync.Mutex
		var order []string
		shares := []*budget.Share{b.Join(mib), b.Join(mib), b.Join(mib)}
		drain(t, shares[0], 1, mib)
		park := func(share int, name string) context.CancelFunc {
			o := failing(shares[share], 1, mib)[0]
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				if o.Begin(ctx) == nil {
					mu.Lock()
					defer mu.Unlock()
					order = append(order, name)
				}
			}()
			synctest.Wait()
			return cancel
		}
		park(0, "a1")
		park(0, "a2")
		park(0, "a3")
		park(1, "b1")
		cancel := park(1, "b2")
		park(1, "b3")
		park(2, "c1")
		cancel()
		time.Sleep(6 * time.Second) // a1 b1 c1
		park(2, "c2")               // c had none left: behind a and b
		time.Sleep(time.Minute)
		synctest.Wait()
		if want := []string{"a1", "b1", "c1", "a2", "b3", "c2", "a3"}; !slices.Equal(order, want) {
			t.Errorf("served %v, want %v", order, want)
		}
	})
}

// The turn is strict: a small part does not overtake a large one that cannot pay
// yet, which would then never be served.
func TestLargePartIsNotOvertaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(budget.Options{})
		share, other := b.Join(mib), b.Join(mib)
		large := failing(share, 1, 100*mib)[0]
		drain(t, share, 1, mib)
		waits := begin(t.Context(), large)
		var small []<-chan error
		for _, o := range failing(other, 5, mib) {
			small = append(small, begin(t.Context(), o))
		}
		if begun(t, small[0]) {
			t.Error("a small part overtook a large one")
		}
		time.Sleep(2 * time.Second)
		if !begun(t, waits) || begun(t, small[0]) {
			t.Error("want the large part to start when the counter is full")
		}
		time.Sleep(time.Hour)
		for _, s := range small {
			if !begun(t, s) {
				t.Error("a small part did not start after the debt was worked off")
			}
		}
	})
}

// An upload with thousands of parts that fail delays another's only retry by one
// turn.
func TestOneAgainstThousands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if err := oneAgainst(t.Context(), 10_000, 8*mib, 8*mib); err != nil {
			t.Error(err)
		}
	})
	check(t, 1000, func(rt *rapid.T) func(*testing.T) error {
		many := rapid.IntRange(2, 50).Draw(rt, "operations")
		bytes := drawSizes().Draw(rt, "part")
		small := rapid.Int64Range(0, bytes).Draw(rt, "bytes of the one")
		return func(t *testing.T) error { return oneAgainst(t.Context(), many, bytes, small) }
	})
}

// oneAgainst has many operations of one share fail for ever, each part as large as
// the nominal one, and looks how long another share's only retry waits behind them.
func oneAgainst(ctx context.Context, n int, bytes, small int64) error {
	b := budget.New(budget.Options{})
	many, one := b.Join(bytes), b.Join(bytes)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, o := range failing(many, n, bytes) {
		go func() {
			for o.Begin(ctx) == nil {
				o.Settle(budget.Failure, bytes)
			}
		}()
	}
	time.Sleep(time.Minute)
	since := time.Now()
	patience, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := failing(one, 1, small)[0].Begin(patience); err != nil {
		return fmt.Errorf("the one behind %d: %w", n, err)
	}
	if waited := time.Since(since); waited > 4*time.Second+time.Microsecond {
		return fmt.Errorf("the one waited %v behind %d, want no more than two retries' time, 4 s", waited, n)
	}
	return nil
}

// Without a refill by time the parked live from what others earn and give back.
func TestNoFloor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(budget.Options{Retries: 1, Ratio: 0.5, Floor: -1})
		share := b.Join(mib)
		drain(t, share, 1, mib)
		result := begin(t.Context(), failing(share, 1, mib)[0])
		if b.Disarm() {
			t.Error("the timer is set although time earns nothing")
		}
		time.Sleep(1000 * time.Hour)
		succeed(share, mib)
		if begun(t, result) {
			t.Error("half a retry was enough")
		}
		succeed(share, mib)
		if !begun(t, result) {
			t.Error("two successes did not earn a retry")
		}
	})
}

// A wait of thousands of years, which no time.Duration holds, is one like others.
func TestTinyFloor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(budget.Options{Retries: 1, Ratio: 1, Floor: 1e-12})
		share := b.Join(mib)
		drain(t, share, 1, mib)
		result := begin(t.Context(), failing(share, 1, mib)[0])
		time.Sleep(10 * time.Hour)
		if begun(t, result) {
			t.Error("a retry started on an empty budget")
		}
		succeed(share, mib)
		if !begun(t, result) {
			t.Error("a success did not earn a retry")
		}
	})
}

// When a larger upload joins, a part is a smaller share of the counter.
func TestJoinServesTheParked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(budget.Options{Floor: -1})
		share := b.Join(mib)
		drain(t, share, 8, mib)
		large := begin(t.Context(), failing(share, 1, 4*mib)[0])
		if begun(t, large) {
			t.Fatal("four parts started with two left")
		}
		b.Join(2 * mib)
		if !begun(t, large) {
			t.Error("two parts of twice the size did not start with two left")
		}
	})
}

// The timer is set only for somebody who waits for a refill or for silence.
func TestTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(budget.Options{Retries: 1})
		share := b.Join(mib)
		ops := failing(share, 2, mib)
		mustBegin(t, ops[0])
		ctx, cancel := context.WithCancel(t.Context())
		for _, o := range []*budget.Operation{share.Operation(mib), ops[1]} {
			parked := begin(ctx, o)
			if !b.Disarm() {
				t.Error("the timer is not set for who waits")
			}
			defer func() { <-parked }()
		}
		cancel()
		synctest.Wait()
		if b.Disarm() {
			t.Error("the timer is set and nobody waits")
		}
	})
}
