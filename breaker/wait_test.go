package breaker_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chunkup/chunkup/breaker"
)

type passed struct {
	Op    string
	At    time.Duration // since the trip
	Probe bool
}

func TestOneOfAHundredProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Options{Rand: always(0.5)}) // 750 ms, 1.5 s, 3 s
		trip(t, b)
		start := time.Now()
		type result struct {
			passed
			p *breaker.Permit
		}
		results := make(chan result, 100)
		for i := range 100 {
			// 37 is prime to 100: the sizes are a permutation, but two are smallest.
			size := int64(max(1, i*37%100))
			go func() {
				p, err := b.Wait(t.Context(), fmt.Sprint(size), size)
				if err != nil { // the test has failed and is over
					return
				}
				results <- result{passed{fmt.Sprint(size), time.Since(start), p.Probe()}, p}
			}()
			synctest.Wait() // the order of arrival is part of the test
		}
		next := func(want passed) *breaker.Permit {
			t.Helper()
			r := <-results
			if r.passed != want {
				t.Fatalf("passed: %+v, want %+v", r.passed, want)
			}
			synctest.Wait()
			if len(results) != 0 {
				t.Fatalf("%d more than the probe passed", len(results))
			}
			wantState(t, b, breaker.HalfOpen)
			return r.p
		}
		p := next(passed{"1", 750 * ms, true})
		time.Sleep(250 * ms)
		p.Report(breaker.Failure)
		wantState(t, b, breaker.Open)
		p = next(passed{"1", 2500 * ms, true}) // 1000 + 1500
		p.Report(breaker.Failure)
		p = next(passed{"2", 5500 * ms, true}) // 2500 + 3000
		time.Sleep(10 * s)
		p.Report(breaker.Success)
		wantState(t, b, breaker.Closed)
		synctest.Wait()
		if len(results) != 97 {
			t.Fatalf("%d of 97 passed when the breaker closed", len(results))
		}
		for range 97 {
			if r := <-results; r.At != 15500*ms || r.Probe || !r.p.Current() {
				t.Fatalf("passed: %+v, current %v, want a plain current permit at 15.5s", r.passed, r.p.Current())
			}
		}
	})
}

// wait calls Wait in a goroutine of its own; the channel has its end.
func wait(ctx context.Context, b *breaker.Breaker, op string, size int64) <-chan outcome {
	c := make(chan outcome, 1)
	go func() {
		p, err := b.Wait(ctx, op, size)
		c <- outcome{p, err, time.Now()}
	}()
	synctest.Wait()
	return c
}

type outcome struct {
	p   *breaker.Permit
	err error
	at  time.Time
}

// TestOldestOfEquals: with equal sizes the one that waits longest is the probe,
// and somebody who comes when the cooldown has ended does not overtake those
// who were there, be they larger.
func TestOldestOfEquals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Options{Rand: always(1)})
		trip(t, b)
		first, second := wait(t.Context(), b, "first", 5), wait(t.Context(), b, "second", 5)
		time.Sleep(s)
		synctest.Wait()
		third := wait(t.Context(), b, "third", 1)
		r := <-first
		r.p.Report(breaker.Ignored)
		r = <-third
		r.p.Report(breaker.Success)
		<-second
	})
}

// TestNobodyOvertakes: at the very end of the cooldown a caller may come before
// the timer has run. The probe is still for those who wait.
func TestNobodyOvertakes(t *testing.T) {
	for range 50 { // which of two timers of one instant runs first is chance
		synctest.Test(t, func(t *testing.T) {
			b := breaker.New(breaker.Options{Rand: always(1)})
			trip(t, b)
			c := wait(t.Context(), b, "large", 1000)
			time.Sleep(s)
			refused(t, b)
			small := wait(t.Context(), b, "small", 1)
			r := <-c
			if !r.p.Probe() {
				t.Fatal("the waiter is not the probe")
			}
			r.p.Report(breaker.Success)
			<-small
		})
	}
}

// TestCancelledWhenGranted: contexts that end in the instant in which the
// cooldown does never take the probe with them.
func TestCancelledWhenGranted(t *testing.T) {
	gone := errors.New("gone")
	var granted int
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			b := breaker.New(breaker.Options{Rand: always(1)})
			trip(t, b)
			var dying []<-chan outcome
			for i := range 3 {
				ctx, cancel := context.WithTimeoutCause(t.Context(), s, gone)
				defer cancel()
				dying = append(dying, wait(ctx, b, "dying", int64(i)))
			}
			last := wait(t.Context(), b, "last", 100)
			for _, c := range dying {
				switch r := <-c; {
				case r.err == nil:
					granted++
					r.p.Report(breaker.Ignored)
				case !errors.Is(r.err, gone) || r.p != nil:
					t.Fatalf("Wait = %v, %v, want the cause of the context's end", r.p, r.err)
				}
			}
			r := <-last // or the bubble dies of a deadlock
			if !r.p.Probe() || r.at.Nanosecond() != 0 {
				t.Errorf("the survivor got the probe (%v) at %v, want at once", r.p.Probe(), r.at)
			}
			r.p.Report(breaker.Success)
		})
	}
	t.Logf("the grant came first in %d of 600", granted)
}

// TestCancelWins: once its context has ended, Wait returns no permit, even if
// one comes before it has noticed.
func TestCancelWins(t *testing.T) {
	for range 200 { // how soon the goroutine in Wait notices is chance
		synctest.Test(t, func(t *testing.T) {
			b := breaker.New(breaker.Options{})
			old := allow(t, b, "old")
			trip(t, b)
			ctx, cancel := context.WithCancel(t.Context())
			c := wait(ctx, b, "w", 1)
			cancel()
			old.Report(breaker.Success) // gives the waiter the probe, if it is still there
			if r := <-c; r.p != nil || r.err != context.Canceled {
				t.Fatalf("Wait = %v, %v, want %v", r.p, r.err, context.Canceled)
			}
			if !allow(t, b, "next").Probe() {
				t.Fatal("the probe is lost")
			}
		})
	}
}

// TestTimer: the timer runs only while somebody waits at an open breaker.
func TestTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		setup := func() *breaker.Breaker {
			b := breaker.New(breaker.Options{Failures: 1, Rand: always(1)})
			trip(t, b)
			return b
		}
		if b := setup(); b.StopTimer() {
			t.Error("runs though nobody waits")
		}
		b := setup()
		c := wait(t.Context(), b, "w", 1)
		if !b.StopTimer() {
			t.Error("does not run though somebody waits")
		}
		time.Sleep(s)
		allowed, _ := b.Allow("x") // instead of the timer
		if r := <-c; allowed != nil || !r.p.Probe() {
			t.Error("the waiter has not got the probe")
		}

		b = setup()
		c = wait(ctx, b, "w", 1)
		cancel()
		<-c
		if b.StopTimer() {
			t.Error("runs though the last waiter has gone")
		}

		b = breaker.New(breaker.Options{Failures: 1})
		old := allow(t, b, "old")
		trip(t, b)
		c = wait(t.Context(), b, "w", 1)
		old.Report(breaker.Success)
		probe := <-c
		later := wait(t.Context(), b, "w", 1)
		if b.StopTimer() {
			t.Error("runs though the breaker is half-open")
		}
		probe.p.Report(breaker.Success)
		<-later
	})
}

func TestCancelledWaiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Options{Rand: always(1)})
		trip(t, b)
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		small, large := wait(ctx, b, "small", 1), wait(t.Context(), b, "large", 2)
		cancel(gone)
		if r := <-small; r.err != gone || r.p != nil {
			t.Fatalf("Wait = %v, %v, want %v", r.p, r.err, gone)
		}
		r := <-large
		if !r.p.Probe() {
			t.Fatal("not the probe")
		}
		r.p.Report(breaker.Ignored)
		// A dead context changes nothing: it does not even take a free probe.
		if p, err := b.Wait(ctx, "dead", 0); p != nil || err != gone {
			t.Fatalf("Wait = %v, %v, want %v", p, err, gone)
		}
		wantState(t, b, breaker.Open)
		p, err := b.Wait(t.Context(), "alive", 1<<40)
		if err != nil || !p.Probe() {
			t.Fatalf("Wait = %v, %v, want the free probe", p, err)
		}
		p.Report(breaker.Success)
		if p, err := b.Wait(ctx, "dead", 0); p != nil || err != gone {
			t.Fatalf("Wait = %v, %v at a closed breaker, want %v", p, err, gone)
		}
	})
}
