package budget_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/chunkup/chunkup/budget"
)

// Empty to full takes as many seconds as the capacity divided by the floor, whatever
// the two are and how large the parts, and nothing need happen meanwhile.
func TestEmptyToFull(t *testing.T) {
	check(t, 10_000, func(rt *rapid.T) func(*testing.T) error {
		retries := rapid.IntRange(1, 12).Draw(rt, "retries")
		floor := rapid.SampledFrom([]float64{0.5, 0.05, 3}).Draw(rt, "floor")
		part := drawSizes().Draw(rt, "part")
		share := rapid.Float64Range(0, 1).Draw(rt, "share of the time")
		return func(t *testing.T) error {
			b := budget.New(budget.Options{Retries: float64(retries), Floor: floor})
			if err := spend(t.Context(), b.Join(part), retries, part); err != nil {
				return err
			}
			if err := levelIs(b, 0, 0); err != nil {
				return err
			}
			full := time.Duration(float64(retries) / floor * float64(time.Second))
			early := time.Duration(share * float64(full))
			time.Sleep(early)
			if err := levelIs(b, floor*early.Seconds(), floor*early.Seconds()*float64(part)); err != nil {
				return err
			}
			for _, wait := range []time.Duration{full - early, time.Hour} {
				time.Sleep(wait)
				if err := levelIs(b, float64(retries), float64(retries)*float64(part)); err != nil {
					return err
				}
			}
			return nil
		}
	})
}

// A clock that jumps to and fro mints nothing: what time has earned is what lies
// between the first and the latest reading.
func TestClockToAndFro(t *testing.T) {
	check(t, 10_000, func(rt *rapid.T) func(*testing.T) error {
		floor := rapid.SampledFrom([]float64{0.5, 0.05, 3}).Draw(rt, "floor")
		readings := rapid.SliceOfN(rapid.Int64Range(int64(-time.Hour), int64(time.Hour)), 1, 6).Draw(rt, "readings")
		return func(t *testing.T) error {
			const retries = 20
			b := budget.New(budget.Options{Retries: retries, Floor: floor})
			if err := spend(t.Context(), b.Join(mib), retries, mib); err != nil {
				return err
			}
			start, latest := time.Now(), time.Duration(0)
			for _, reading := range readings {
				latest = max(latest, time.Duration(reading))
				requests, parts := b.Refill(start.Add(time.Duration(reading)))
				if want := min(retries, latest.Seconds()*floor); !near(requests, want) || !near(parts, want) {
					return fmt.Errorf("%v requests and %v parts after %v at the latest, want %v", requests, parts, latest, want)
				}
			}
			return nil
		}
	})
}

// The times that a budget keeps are monotonic: setting the wall clock moves none.
func TestTimesAreMonotonic(t *testing.T) {
	b := budget.New(budget.Options{})
	for _, do := range []func(){func() {}, func() { b.Level() }, func() { failing(b.Join(1), 1, 1) }} {
		do()
		if at := b.At().String(); !strings.Contains(at, " m=") {
			t.Errorf("%s has no monotonic reading", at)
		}
	}
}

// Whatever happened before, a void attempt leaves the level as if it had not been.
func TestVoidIsNothing(t *testing.T) {
	check(t, 10_000, func(rt *rapid.T) func(*testing.T) error {
		before := rapid.IntRange(0, 9).Draw(rt, "retries before")
		bytes := rapid.Int64Range(0, 100*mib).Draw(rt, "bytes")
		lasts := time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(rt, "lasts"))
		settled := rapid.Bool().Draw(rt, "settled, not ended")
		return func(t *testing.T) error {
			b := budget.New(budget.Options{})
			share := b.Join(8 * mib)
			o := failing(share, 1, bytes)[0]
			if err := spend(t.Context(), share, before, 8*mib); err != nil {
				return err
			}
			if bytes > 8*mib*int64(10-before) {
				time.Sleep(time.Minute) // until it can pay
			}
			was := b.Level()
			if err := beginNow(t.Context(), o); err != nil {
				return err
			}
			time.Sleep(lasts)
			if settled {
				o.Settle(budget.Void, bytes)
			} else {
				o.End()
			}
			return levelIs(b,
				min(10, was.Requests+0.5*lasts.Seconds()),
				min(80*mib, was.Bytes+4*mib*lasts.Seconds()))
		}
	})
}

// A retry that fails costs one request and exactly the bytes that it sent; one that
// succeeds costs nothing and earns its share. Both hold for a part larger than the
// whole capacity too.
func TestRetryCostsWhatItSent(t *testing.T) {
	check(t, 10_000, func(rt *rapid.T) func(*testing.T) error {
		part := drawSizes().Draw(rt, "part")
		bytes := rapid.OneOf(rapid.Just(part), drawSizes()).Draw(rt, "bytes")
		sent := rapid.Int64Range(0, bytes).Draw(rt, "sent")
		ratio := rapid.SampledFrom([]float64{0.1, 0.5, -1}).Draw(rt, "ratio")
		fails := rapid.Bool().Draw(rt, "fails")
		return func(t *testing.T) error {
			b := budget.New(budget.Options{Ratio: ratio, Floor: -1})
			share := b.Join(part)
			o := failing(share, 1, bytes)[0]
			full := b.Level()
			if err := beginNow(t.Context(), o); err != nil {
				return err
			}
			if err := levelIs(b, full.Requests-1, full.Bytes-float64(bytes)); err != nil {
				return fmt.Errorf("charge: %w", err)
			}
			if fails {
				o.Settle(budget.Failure, sent)
				return levelIs(b, full.Requests-1, full.Bytes-float64(sent))
			}
			others := 0.0 // that make room for what is earned, if there is room for them
			if bytes <= 9*part {
				others = 1
				if err := beginNow(t.Context(), failing(share, 1, part)[0]); err != nil {
					return err
				}
			}
			o.Settle(budget.Success, bytes)
			earned := max(ratio, 0)
			return levelIs(b,
				min(full.Requests, full.Requests-others+earned),
				min(full.Bytes, full.Bytes-others*float64(part)+earned*float64(bytes)))
		}
	})
}
