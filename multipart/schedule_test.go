package multipart_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chunkup/chunkup/breaker"
	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/storetest"
	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign"
)

// The tests here are of schedules: two things that are harmless alone.

// A completion was applied and then denied; the look-up does not come to its end.
// Nobody may say that there is no object.
func TestLookUpIsCutShort(t *testing.T) {
	for name, o := range map[string]breaker.Options{
		"by the caller":  {},
		"by the breaker": {Failures: 1, Quiet: -1, Cooldown: time.Hour, MaxCooldown: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, body := newLab(t, func(_ *lab, e *multipart.EndpointOptions) { e.Breaker = o }), randomBytes(64*kib)
				l.Script(storetest.Fault{Op: wire.Complete, Apply: true, Status: 500, Code: "InternalError"},
					storetest.Fault{Op: wire.Head, Delay: 10 * time.Second})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if o.Failures == 0 {
					time.AfterFunc(5*time.Second, cancel)
				}
				_, err := l.upload(ctx, body)
				if _, ok := l.Object(object.Key); !ok || err != nil && !errors.Is(err, multipart.ErrUnknownOutcome) {
					t.Errorf("there is an object: %v, err = %v", ok, err)
				}
				if err != nil && !strings.Contains(err.Error(), "; then head object of") {
					t.Errorf("what was not tried to its end is not named: %v", err)
				}
			})
		})
	}
}

// An upload that failed is dropped although the endpoint is in doubt, and if it
// is not, that is said.
func TestAbortInDoubt(t *testing.T) {
	for _, f := range []storetest.Fault{{Status: 403, Code: "AccessDenied"}, {Status: 404, Code: "NoSuchBucket"}} {
		synctest.Test(t, func(t *testing.T) {
			l := newLab(t, nil)
			f.Op, f.Delay = wire.PutPart, 2*time.Second
			l.Script(f)
			time.AfterFunc(time.Second, func() { time.AfterFunc(2*time.Minute, l.endpoint.Doubt(t.Context())) })
			start := time.Now()
			if _, err := l.upload(t.Context(), randomBytes(64*kib)); err == nil || time.Since(start) > 3*time.Second {
				t.Errorf("after %v: %v", time.Since(start), err)
			}
			l.nothing(t)
		})
	}
}

// The elapsed bound holds although it runs out while an attempt is under way.
func TestElapsedWithLongAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		l.options.MaxAttempts = 100
		l.Script(storetest.Fault{Op: wire.PutPart, Times: -1, Status: 500, Delay: 11 * time.Second})
		start := time.Now()
		_, err := l.upload(t.Context(), randomBytes(64*kib))
		if d := time.Since(start); !errors.Is(err, multipart.ErrElapsed) || d > 4*time.Minute {
			t.Errorf("after %v: %v", d, err)
		}
	})
}

// stuck is a source that stops to deliver after a while, until it is released.
type stuck struct {
	chunker.Source
	from    time.Time
	release chan struct{}
}

func (s *stuck) ReadAt(p []byte, off int64) (int, error) {
	if !time.Now().Before(s.from) {
		<-s.release
	}
	return s.Source.ReadAt(p, off)
}

// A part fails, and its retry hangs in its source: that is nobody else's trouble.
func TestHungSourceHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		l.Script(storetest.Fault{Op: wire.PutPart, Part: 1, Status: 500, Delay: time.Second})
		src := &stuck{l.source(64 * kib), time.Now().Add(time.Second), make(chan struct{})}
		var wg sync.WaitGroup
		wg.Go(func() { l.uploader(t, l.Mem, l.Mem).Upload(t.Context(), object, src) })
		time.Sleep(time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		start := time.Now()
		other := multipart.Object{Bucket: "bucket", Key: "other"}
		_, err := l.uploader(t, l.Mem, l.Mem).Upload(ctx, other, l.source(64*kib))
		if d := time.Since(start); err != nil || d > 30*time.Second {
			t.Errorf("after %v: %v", d, err)
		}
		close(src.release)
		wg.Wait()
	})
}

// A budget that time does not fill is empty, and who failed has given up: the
// next upload is let through all the same.
func TestEmptyBudgetIsNotForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, func(_ *lab, e *multipart.EndpointOptions) { e.Budget.Retries, e.Budget.Floor = 3, -1 })
		l.Script(storetest.Fault{Op: wire.PutPart, Times: -1, Status: 500, Until: time.Now().Add(10 * time.Minute)})
		for i := range 2 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			_, err := l.upload(ctx, randomBytes(64*kib))
			cancel()
			if failed := err != nil; failed != (i == 0) {
				t.Errorf("upload %d: %v", i, err)
			}
			time.Sleep(20 * time.Minute)
		}
	})
}

// oneRequest is a provider that has no other than its first.
type oneRequest struct {
	*storetest.Mem
	request *presign.Request
}

func (o *oneRequest) Presign(ctx context.Context, p presign.Part) (presign.Request, error) {
	if o.request == nil {
		r, err := o.Mem.Presign(ctx, p)
		o.request = &r
		return r, err
	}
	return *o.request, nil
}

// The caller's cancel is not lost behind a request that has no successor.
func TestCancelWhileARequestIsMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		l.Script(storetest.Fault{Op: wire.PutPart, Times: -1, Status: 400, Code: "ExpiredToken", Delay: time.Second})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(1500*time.Millisecond, cancel)
		if _, err := l.uploader(t, l.Mem, &oneRequest{Mem: l.Mem}).Upload(ctx, object, l.source(64*kib)); !errors.Is(err, context.Canceled) {
			t.Errorf("err = %v", err)
		}
	})
}

// caching is a provider that hands out the same request until it is renewed, which
// fails so many times.
type caching struct {
	*storetest.Mem
	fails   int
	request *presign.Request
	sent    []string
}

func (c *caching) Presign(ctx context.Context, p presign.Part) (presign.Request, error) {
	if c.request == nil {
		r, err := c.Mem.Presign(ctx, p)
		if err != nil {
			return r, err
		}
		c.request = &r
	}
	c.sent = append(c.sent, c.request.URL)
	return *c.request, nil
}

func (c *caching) Renew(context.Context) error {
	if c.fails--; c.fails >= 0 {
		return errors.New("sts: 503")
	}
	c.request = nil
	return nil
}

// A renewal that fails once is tried again, before a part and before a control
// call, and the request that was refused is not sent meanwhile.
func TestRenewalFails(t *testing.T) {
	for _, op := range []wire.Operation{wire.PutPart, wire.Complete} {
		synctest.Test(t, func(t *testing.T) {
			l := newLab(t, nil)
			l.Script(storetest.Fault{Op: op, Status: 400, Code: "ExpiredToken"})
			p := &caching{Mem: l.Mem, fails: 1}
			if _, err := l.uploader(t, l.Mem, p).Upload(t.Context(), object, l.source(64*kib)); err != nil {
				t.Error(err)
			}
			if op == wire.PutPart && (len(p.sent) != 2 || p.sent[0] == p.sent[1]) {
				t.Errorf("sent %v", p.sent)
			}
			l.wantRequests(t, op, 2)
		})
	}
}

// twoRequests is a provider that has no other than its first two.
type twoRequests struct {
	*storetest.Mem
	requests []presign.Request
	asked    int
}

func (o *twoRequests) Presign(ctx context.Context, p presign.Part) (presign.Request, error) {
	o.asked++
	for len(o.requests) < 2 {
		r, _ := o.Mem.Presign(ctx, p)
		o.requests = append(o.requests, r)
	}
	return o.requests[min(o.asked, 2)-1], nil
}

// A request that the machine slept through was not refused: it may be used again.
func TestSuspendAfterExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newSleepy(t)
		l.Script(storetest.Fault{Op: wire.PutPart, Status: 400, Code: "ExpiredToken"},
			storetest.Fault{Op: wire.PutPart, Delay: 20 * time.Second})
		l.suspendAfter(5*time.Second, time.Minute)
		if _, err := l.uploader(t, l.Mem, &twoRequests{Mem: l.Mem}).Upload(t.Context(), object, l.source(64*kib)); err != nil {
			t.Error(err)
		}
	})
}

// A clock that is set forward again and again looks like a machine that sleeps;
// that is bounded, too.
func TestClockIsSetForwardForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newSleepy(t)
		l.Script(storetest.Fault{Op: wire.PutPart, Times: -1, Delay: 12 * time.Second})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		for i := range 360 {
			l.suspendAfter(time.Duration(i)*10*time.Second, 7*time.Second)
		}
		if _, err := l.upload(ctx, randomBytes(64*kib)); !errors.Is(err, multipart.ErrAttempts) {
			t.Error(err)
		}
	})
}

// A new upload is refused by an open breaker at once, even when the store has also
// said when to come back.
func TestOpenBreakerRefusesAtOnceInAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, func(_ *lab, e *multipart.EndpointOptions) {
			e.Breaker = breaker.Options{Failures: 1, Quiet: -1, Cooldown: time.Hour, MaxCooldown: time.Hour}
		})
		l.endpoint.Fail()
		l.endpoint.Hold()
		start := time.Now()
		if _, err := l.upload(t.Context(), randomBytes(64*kib)); !errors.Is(err, breaker.ErrOpen) || time.Since(start) != 0 {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

// offline is a control plane to which no way leads when it comes to complete.
type offline struct{ *storetest.Mem }

var errNoWay = &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("network is unreachable")}

func (offline) Complete(context.Context, multipart.Upload, multipart.Completion) (multipart.Info, error) {
	return multipart.Info{}, errNoWay
}

func (offline) Head(context.Context, string, string) (multipart.Info, error) {
	return multipart.Info{}, errNoWay
}

// A completion that never found its way to the store is not in doubt.
func TestCompleteNeverSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		_, err := l.uploader(t, offline{l.Mem}, l.Mem).Upload(t.Context(), object, l.source(64*kib))
		if errors.Is(err, multipart.ErrUnknownOutcome) || !errors.Is(err, errNoWay) {
			t.Error(err)
		}
		l.nothing(t)
	})
}

// A clock that runs fast takes every request for over; the store's clock judges.
func TestFastClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, p := newLab(t, nil), &provider{}
		p.Mem, p.stale = l.Mem, 1000
		if _, err := l.uploader(t, l.Mem, p).Upload(t.Context(), object, l.source(64*kib)); err != nil {
			t.Error(err)
		}
	})
}

// The last part trickles alone, and its next connection freezes: that is seen as
// soon as on any other link.
func TestTrickleDoesNotTeachPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(time.Minute) }) // the server notices
		l := newLab(t, nil)
		l.options.PartSize = 1 << 20
		defer l.over(1_000, false, multipart.EndpointOptions{})()
		l.Script(storetest.Fault{Op: wire.PutPart, Skip: 1, Stall: true})
		if _, err := l.upload(t.Context(), randomBytes(1<<20)); err != nil {
			t.Fatal(err)
		}
		for _, e := range l.kinds(multipart.Attempted) {
			if e.Phase == wire.PhaseStall && e.Elapsed > 2*time.Minute {
				t.Errorf("attempt %d stalled for %v", e.Attempt, e.Elapsed)
			}
		}
	})
}

// A refusal for good that names a time to come back is not about load: nobody else
// waits for it.
func TestRefusalHoldsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		l.Script(storetest.Fault{Op: wire.PutPart, Status: 403, Code: "AccessDenied", RetryAfter: "60"})
		start := time.Now()
		if _, err := l.upload(t.Context(), randomBytes(64*kib)); err == nil {
			t.Error("no error")
		}
		if _, err := l.upload(t.Context(), randomBytes(64*kib)); err != nil || time.Since(start) > time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}
