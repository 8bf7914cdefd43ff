package multipart_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chunkup/chunkup/breaker"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/storetest"
	"github.com/chunkup/chunkup/multipart/wire"
)

// sleepy is a lab on a machine that can be suspended: its wall clock goes on
// meanwhile, the clock of timers does not.
type sleepy struct {
	*lab
	slept atomic.Int64
}

func newSleepy(t *testing.T) *sleepy {
	s := &sleepy{}
	s.lab = newLab(t, func(_ *lab, e *multipart.EndpointOptions) {
		e.Breaker = breaker.Options{Failures: 2, Quiet: -1, Cooldown: time.Hour, MaxCooldown: time.Hour}
		e.Wall = func() time.Time { return time.Now().Add(time.Duration(s.slept.Load())) }
	})
	return s
}

func (s *sleepy) suspendAfter(after, d time.Duration) {
	time.AfterFunc(after, func() { s.slept.Add(int64(d)) })
}

// Attempts that the machine slept through are made again at once: nobody pays,
// nobody is blamed, and they are not counted.
func TestSuspendInAnAttempt(t *testing.T) {
	for name, op := range map[string]wire.Operation{"part": wire.PutPart, "create": wire.Create} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, body := newSleepy(t), randomBytes(64*kib)
				l.options.MaxAttempts = 1
				l.Script(storetest.Fault{Op: op, Stall: true})
				l.suspendAfter(5*time.Second, 8*time.Hour)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				start := time.Now()
				if _, err := l.upload(ctx, body); err != nil {
					t.Fatal(err)
				}
				l.stored(t, body)
				l.wantFullBudget(t)
				l.wantRequests(t, op, 2)
				if d := time.Since(start); d > 7*time.Second {
					t.Errorf("it took %v, want no more than a look at the clock after the sleep", d)
				}
			})
		})
	}
}

// A completion that the machine slept through may have been applied.
func TestSuspendInComplete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, body := newSleepy(t), randomBytes(64*kib)
		l.options.MaxAttempts = 1
		l.Script(storetest.Fault{Op: wire.Complete, Apply: true, Stall: true})
		l.suspendAfter(5*time.Second, 8*time.Hour)
		if _, err := l.upload(t.Context(), body); err != nil {
			t.Fatal(err)
		}
		l.stored(t, body)
		l.wantRequests(t, wire.Complete, 1)
		l.wantRequests(t, wire.Head, 1)
	})
}

// A wait does not go on after the machine has slept for longer than it.
func TestSuspendInAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, body := newSleepy(t), randomBytes(64*kib)
		l.Script(storetest.Fault{Op: wire.PutPart, Status: 503, RetryAfter: "60"})
		l.suspendAfter(10*time.Second, 8*time.Hour)
		start := time.Now()
		if _, err := l.upload(t.Context(), body); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d < 10*time.Second || d > 12*time.Second {
			t.Errorf("went on after %v", d)
		}
	})
}

// A short sleep leaves the rest of the wait, and attempts, alone; so does a clock
// that is set back.
func TestClockSteps(t *testing.T) {
	for _, step := range []time.Duration{3 * time.Second, -time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			l, body := newSleepy(t), randomBytes(64*kib)
			l.Script(storetest.Fault{Op: wire.PutPart, Status: 503, RetryAfter: "60"},
				storetest.Fault{Op: wire.PutPart, Times: -1, Delay: 10 * time.Second})
			l.suspendAfter(10*time.Second, step)
			l.suspendAfter(65*time.Second, step)
			start := time.Now()
			if _, err := l.upload(t.Context(), body); err != nil {
				t.Fatal(err)
			}
			if d := time.Since(start); d < 70*time.Second-max(step, 0) || d > 70*time.Second {
				t.Errorf("step %v: took %v", step, d)
			}
			l.wantRequests(t, wire.PutPart, 2)
		})
	}
}

// The time that the machine slept is no time without progress.
func TestSuspendIsNoTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, body := newSleepy(t), randomBytes(64*kib)
		l.options.MaxElapsed, l.options.MaxAttempts = 20*time.Second, 100
		l.options.Backoff = multipart.Backoff{Base: 10 * time.Second, Cap: 10 * time.Second, Jitter: multipart.NoJitter}
		l.Script(storetest.Fault{Op: wire.PutPart, Times: 3, Status: 500})
		l.suspendAfter(15*time.Second, time.Hour)
		if _, err := l.upload(t.Context(), body); err != nil {
			t.Error(err)
		}
		l.stored(t, body)
	})
	synctest.Test(t, func(t *testing.T) { // without the sleep it is
		l := newSleepy(t)
		l.options.MaxElapsed, l.options.MaxAttempts = 20*time.Second, 100
		l.options.Backoff = multipart.Backoff{Base: 10 * time.Second, Cap: 10 * time.Second, Jitter: multipart.NoJitter}
		l.Script(storetest.Fault{Op: wire.PutPart, Times: 3, Status: 500})
		if _, err := l.upload(t.Context(), randomBytes(64*kib)); !errors.Is(err, multipart.ErrElapsed) {
			t.Error(err)
		}
	})
}

// What the breaker knew before the sleep is old: it probes at once.
func TestSuspendAtAnOpenBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, body := newSleepy(t), randomBytes(4*64*kib)
		l.options.MaxElapsed, l.options.Rand = -1, func() float64 { return 0.5 }
		l.Script(storetest.Fault{Op: wire.PutPart, Status: 500, Delay: time.Second})
		l.suspendAfter(10*time.Second, 8*time.Hour)
		start := time.Now()
		if _, err := l.upload(t.Context(), body); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d < 10*time.Second || d > 15*time.Second {
			t.Errorf("took %v", d)
		}
		l.stored(t, body)
	})
}
