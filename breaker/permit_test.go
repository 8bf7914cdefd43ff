package breaker_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chunkup/chunkup/breaker"
	"github.com/google/go-cmp/cmp"
)

func TestIgnoredProbePassesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Options{Rand: always(1)})
		trip(t, b)
		small, large := wait(t.Context(), b, "small", 1), wait(t.Context(), b, "large", 2)
		r := <-small
		at := time.Now()
		r.p.Report(breaker.Ignored)
		if r.p.Current() {
			t.Error("a probe that was given back is current")
		}
		wantState(t, b, breaker.HalfOpen)
		r = <-large
		if !r.p.Probe() || !r.at.Equal(at) {
			t.Fatalf("the next waiter: probe %v after %v, want the probe at once", r.p.Probe(), r.at.Sub(at))
		}
		r.p.Report(breaker.Ignored)
		wantState(t, b, breaker.Open) // nobody left: free for the next caller
		p := allow(t, b, "next")
		if !p.Probe() {
			t.Fatal("the next caller is not the probe")
		}
		p.Report(breaker.Failure)
		if got := refused(t, b).RetryIn; got != 2*s {
			t.Errorf("cooldown = %v, want 2s: ignored probes do not count, the failed one does", got)
		}
	})
}

func TestStaleFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Options{Quiet: -1, Rand: always(1)})
		var old []*breaker.Permit
		for i := range 15 {
			old = append(old, allow(t, b, fmt.Sprint("old/", i)))
		}
		failFive := func() {
			for _, p := range old[:5] {
				if p.Current() {
					t.Error("a permit from before the trip is current")
				}
				p.Report(breaker.Failure)
			}
			old = old[5:]
		}
		trip(t, b)
		time.Sleep(s / 2)
		failFive()
		if got := refused(t, b).RetryIn; got != s/2 {
			t.Errorf("RetryIn = %v after stale failures, want 500ms", got)
		}
		time.Sleep(s / 2)
		p := allow(t, b, "probe")
		failFive()
		wantState(t, b, breaker.HalfOpen)
		p.Report(breaker.Success)
		failFive()
		wantState(t, b, breaker.Closed)
	})
}

func TestStaleSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Options{Quiet: -1, Cooldown: 8 * s, Rand: always(1)})
		var old []*breaker.Permit
		for range 4 {
			old = append(old, allow(t, b, "old"))
		}
		trip(t, b)
		// Open, nobody waits: the next caller probes.
		time.Sleep(s)
		old[0].Report(breaker.Success)
		wantState(t, b, breaker.Open)
		p := allow(t, b, "probe")
		// Half-open: changes nothing.
		old[1].Report(breaker.Success)
		wantState(t, b, breaker.HalfOpen)
		refused(t, b)
		p.Report(breaker.Failure)
		if got := refused(t, b).RetryIn; got != 16*s {
			t.Errorf("RetryIn = %v, want 16s", got)
		}
		// Open, somebody waits: that one probes at once.
		large, small := wait(t.Context(), b, "large", 2), wait(t.Context(), b, "small", 1)
		at := time.Now()
		old[2].Report(breaker.Success)
		r := <-small
		if !r.p.Probe() || !r.at.Equal(at) {
			t.Fatalf("probe %v after %v, want at once", r.p.Probe(), r.at.Sub(at))
		}
		r.p.Report(breaker.Success)
		<-large
		// Closed: a success like any other.
		for _, op := range strings.Fields("a b c d") {
			allow(t, b, op).Report(breaker.Failure)
		}
		old[3].Report(breaker.Success)
		allow(t, b, "e").Report(breaker.Failure)
		wantState(t, b, breaker.Closed)
	})
}

// TestProbeIsASuccess like any other: what fails soon after it does not trip.
func TestProbeIsASuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Options{Failures: 1})
		trip(t, b)
		time.Sleep(s)
		allow(t, b, "probe").Report(breaker.Success)
		time.Sleep(2*s - time.Nanosecond)
		allow(t, b, "a").Report(breaker.Failure)
		wantState(t, b, breaker.Closed)
		time.Sleep(time.Nanosecond)
		allow(t, b, "a").Report(breaker.Failure)
		wantState(t, b, breaker.Open)
	})
}

func TestReportCountsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Options{Failures: 1, Quiet: -1, Rand: always(1)})
		p := allow(t, b, "a")
		p.Report(breaker.Ignored)
		p.Report(breaker.Failure)
		wantState(t, b, breaker.Closed)
		trip(t, b)
		p.Report(breaker.Success) // proof of life, were it the first
		refused(t, b)
		time.Sleep(s)
		p = allow(t, b, "probe")
		p.Report(breaker.Ignored)
		other := allow(t, b, "probe")
		p.Report(breaker.Success)
		wantState(t, b, breaker.HalfOpen)
		other.Report(breaker.Success)
		wantState(t, b, breaker.Closed)
	})
}

func TestCurrent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Options{Failures: 1, Rand: always(1)})
		p := allow(t, b, "a")
		if !p.Current() {
			t.Error("a fresh permit is not current")
		}
		trip(t, b)
		if p.Current() {
			t.Error("current, though the breaker has opened")
		}
		time.Sleep(s)
		probe := allow(t, b, "b")
		if p.Current() || !probe.Current() {
			t.Errorf("half-open: Current() = %v of the old permit, %v of the probe", p.Current(), probe.Current())
		}
		probe.Report(breaker.Success)
		if p.Current() || probe.Current() || !allow(t, b, "c").Current() {
			t.Error("closed again: only a new permit is current")
		}
	})
}

// TestOnChangeMayCall: a callback that calls the breaker neither locks up nor
// sees its own changes out of order.
func TestOnChangeMayCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b *breaker.Breaker
		var got []string
		var probe *breaker.Permit
		b = breaker.New(breaker.Options{Failures: 1, Quiet: -1, Rand: always(1), OnChange: func(from, to breaker.State) {
			got = append(got, fmt.Sprintf("%v>%v now %v", from, to, b.State()))
			if to == breaker.HalfOpen && probe == nil {
				probe, _ = b.Allow("refused")
				time.Sleep(s) // slow, while others change the state
			}
		}})
		trip(t, b)
		c := wait(t.Context(), b, "w", 1) // the timer's goroutine is the one that is slow
		r := <-c
		r.p.Report(breaker.Success)
		trip(t, b)
		time.Sleep(2 * s)
		synctest.Wait()
		if diff := cmp.Diff([]string{
			"closed>open now open",
			"open>half-open now half-open",
			"half-open>closed now open",
			"closed>open now open",
		}, got); diff != "" {
			t.Errorf("changes (-want +got):\n%s", diff)
		}
		if probe != nil {
			t.Error("a second probe")
		}
	})
}
