package breaker_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chunkup/chunkup/breaker"
	"pgregory.net/rapid"
)

func TestCooldowns(t *testing.T) {
	const forever = time.Duration(math.MaxInt64)
	for _, tt := range []struct {
		name string
		o    breaker.Options
		want []time.Duration // each ends with a probe that fails
	}{
		{"defaults, top of the range", breaker.Options{Rand: always(1)},
			[]time.Duration{s, 2 * s, 4 * s, 8 * s, 16 * s, 30 * s, 30 * s}},
		{"defaults, bottom", breaker.Options{Rand: always(0)},
			[]time.Duration{s / 2, s, 2 * s, 4 * s, 8 * s, 15 * s, 15 * s}},
		{"fixed", breaker.Options{Cooldown: 3 * s, MaxCooldown: 3 * s, Rand: always(1)},
			[]time.Duration{3 * s, 3 * s, 3 * s}},
		{"cut at the top", breaker.Options{Cooldown: 3 * s, MaxCooldown: 7 * s, Rand: always(1)},
			[]time.Duration{3 * s, 6 * s, 7 * s, 7 * s}},
		{"maximum below the first", breaker.Options{Cooldown: 60 * s, Rand: always(1)},
			[]time.Duration{60 * s, 60 * s}},
		{"no overflow", breaker.Options{Cooldown: forever / 3, MaxCooldown: forever, Rand: always(0)},
			[]time.Duration{forever / 6, forever / 3, forever / 2, forever / 2}},
		{"negative is the default", breaker.Options{Failures: -1, Cooldown: -1, MaxCooldown: -1, Rand: always(1)},
			[]time.Duration{s, 2 * s, 4 * s, 8 * s, 16 * s, 30 * s}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := breaker.New(tt.o)
				for range 2 { // the second time shows that a success goes back to the first cooldown
					var old []*breaker.Permit
					for range tt.want {
						old = append(old, allow(t, b, "old"))
					}
					trip(t, b)
					for i, want := range tt.want {
						// A float64 has 53 bits: enough for all but the absurd.
						if got := refused(t, b).RetryIn; (got - want).Abs() > want>>50 {
							t.Fatalf("cooldown %d = %v, want %v", i, got, want)
						}
						if want > time.Hour { // the bubble's clock would end first
							old[i].Report(breaker.Success)
						} else {
							time.Sleep(want - time.Nanosecond)
							refused(t, b)
							time.Sleep(time.Nanosecond)
						}
						allow(t, b, "probe").Report(breaker.Failure)
					}
					if slices.Max(tt.want) > time.Hour {
						return
					}
					time.Sleep(time.Hour)
					allow(t, b, "probe").Report(breaker.Success)
					time.Sleep(2 * s) // Quiet
				}
			})
		})
	}
}

// TestCooldown: whatever the options, the n-th cooldown in a row lies in [1/2,1) of
// the first ceiling doubled so often, up to the cap, and after a success it all begins
// anew; nobody passes before the end, one at it, and a refusal always says to wait
// for some time.
func TestCooldown(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		o := breaker.Options{
			Failures:    1,
			Cooldown:    time.Duration(rapid.Int64Range(1, int64(time.Minute)).Draw(rt, "first")),
			MaxCooldown: time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(rt, "cap")),
		}
		var draws []float64
		if rapid.Bool().Draw(rt, "drawn") {
			draws = rapid.SliceOfN(rapid.Float64Range(0, 0.999999), 10, 10).Draw(rt, "random")
			i := -1
			o.Rand = func() float64 { i++; return draws[i] }
		}
		var err error
		synctest.Test(t, func(*testing.T) { err = cooldowns(o) })
		if err != nil {
			rt.Fatal(err)
		}
	})
}

// cooldowns sits through five cooldowns of a breaker whose probes fail, twice, with
// a success between.
func cooldowns(o breaker.Options) error {
	b := breaker.New(o)
	p, err := b.Allow("first")
	ceiling, most := o.Cooldown, max(o.Cooldown, o.MaxCooldown)
	for i := range 10 {
		if err == nil && i == 5 {
			p.Report(breaker.Success)
			time.Sleep(2 * s) // Quiet
			p, err = b.Allow("again")
			ceiling = o.Cooldown
		}
		if err != nil {
			return fmt.Errorf("cooldown %d had not ended: %w", i, err)
		}
		p.Report(breaker.Failure)
		start := time.Now()
		for {
			p, err = b.Allow("probe")
			e, refused := errors.AsType[*breaker.OpenError](err)
			if !refused {
				break
			}
			if e.RetryIn <= 0 {
				return fmt.Errorf("RetryIn = %v", e.RetryIn)
			}
			time.Sleep(max(e.RetryIn-1, 1)) // until a nanosecond is left, and then that
		}
		// A drawn time is cut to whole nanoseconds.
		if got := time.Since(start); got < ceiling/2-1 || got >= ceiling && ceiling >= ms {
			return fmt.Errorf("cooldown %d took %v, want [1/2,1) of %v", i, got, ceiling)
		}
		ceiling = min(2*ceiling, most)
	}
	return nil
}

func TestDefaultJitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var low, high int
		for range 200 {
			b := breaker.New(breaker.Options{})
			trip(t, b)
			switch d := refused(t, b).RetryIn; {
			case d < s/2 || d >= s:
				t.Fatalf("cooldown = %v, want [0.5s, 1s)", d)
			case d < s*3/4:
				low++
			default:
				high++
			}
		}
		if low < 50 || high < 50 {
			t.Errorf("%d cooldowns below 0.75 s and %d above it: not uniform", low, high)
		}
	})
}
