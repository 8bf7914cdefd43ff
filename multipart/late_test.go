package multipart_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chunkup/chunkup/breaker"
	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/storetest"
	"github.com/chunkup/chunkup/multipart/wire"
)

// troubles are what may happen while a part waits for something else.
func troubles(t *testing.T, l *lab) map[string]func() {
	return map[string]func(){
		"breaker opens":     l.endpoint.Fail,
		"doubt":             func() { time.AfterFunc(10*time.Second, l.endpoint.Doubt(t.Context())) },
		"store wants pause": l.endpoint.Hold,
	}
}

// firstPart is when the first part arrived.
func (l *lab) firstPart(t *testing.T) time.Time {
	t.Helper()
	for _, r := range l.Requests() {
		if r.Op == wire.PutPart {
			return r.Time
		}
	}
	t.Fatal("no part arrived")
	return time.Time{}
}

// A part that gets its lane after the endpoint came into trouble asks again
// before it goes.
func TestLateLane(t *testing.T) {
	for _, name := range []string{"breaker opens", "doubt", "store wants pause"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, body := newLab(t, func(_ *lab, e *multipart.EndpointOptions) {
					e.Lanes = 1
					e.Breaker = breaker.Options{Failures: 1, Quiet: -1, Cooldown: 2 * time.Minute}
				}), randomBytes(64*kib)
				release := l.endpoint.TakeLane(t.Context())
				start := time.Now()
				time.AfterFunc(time.Second, func() {
					troubles(t, l)[name]()
					release()
				})
				if _, err := l.upload(t.Context(), body); err != nil {
					t.Fatal(err)
				}
				if d := l.firstPart(t).Sub(start); d < 10*time.Second {
					t.Errorf("the part went after %v", d)
				}
				l.stored(t, body)
			})
		})
	}
}

// slowToRead takes a second for the first read of its bytes.
type slowToRead struct {
	chunker.Source
	trouble func()
}

func (s *slowToRead) ReadAt(p []byte, off int64) (int, error) {
	if s.trouble != nil {
		s.trouble()
		s.trouble = nil
	}
	return s.Source.ReadAt(p, off)
}

// So does one whose bytes were still hashed then.
func TestLateDigest(t *testing.T) {
	for _, name := range []string{"breaker opens", "doubt", "store wants pause"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, func(_ *lab, e *multipart.EndpointOptions) {
					e.Breaker = breaker.Options{Failures: 1, Quiet: -1, Cooldown: 2 * time.Minute}
				})
				start := time.Now()
				src := &slowToRead{l.source(64 * kib), troubles(t, l)[name]}
				if _, err := l.uploader(t, l.Mem, l.Mem).Upload(t.Context(), object, src); err != nil {
					t.Fatal(err)
				}
				if d := l.firstPart(t).Sub(start); d < 10*time.Second {
					t.Errorf("the part went after %v", d)
				}
				l.wantRequests(t, wire.PutPart, 1)
			})
		})
	}
}

// A part in trouble of its own waits out another's Retry-After as well.
func TestRetryAfterHoldsForRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, body := newLab(t, nil), randomBytes(2*64*kib)
		l.Script(storetest.Fault{Op: wire.PutPart, Part: 1, Status: 503, RetryAfter: "30", Delay: time.Second},
			storetest.Fault{Op: wire.PutPart, Part: 2, Status: 500, Delay: time.Second})
		l.options.Rand = func() float64 { return 0.5 }
		start := time.Now()
		if _, err := l.upload(t.Context(), body); err != nil {
			t.Fatal(err)
		}
		early := 0
		for _, r := range l.Requests() {
			if r.Op == wire.PutPart && r.Time.Sub(start) < 30*time.Second {
				early++
			}
		}
		if early != 2 {
			t.Errorf("%d parts came before the time", early)
		}
		l.stored(t, body)
	})
}

// A request that the store has refused as expired is never sent again.
func TestDeadRequest(t *testing.T) {
	for name, over := range map[string]bool{"says when it ends": true, "does not say": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, nil)
				p := &provider{Mem: l.Mem, only: true}
				if over {
					p.stale = 1000
				}
				l.Script(storetest.Fault{Op: wire.PutPart, Times: -1, Status: 403, Code: "AccessDenied", Message: "Request has expired"})
				_, err := l.uploader(t, l.Mem, p).Upload(t.Context(), object, l.source(64*kib))
				var e *multipart.Error
				if !errors.Is(err, multipart.ErrExpired) || !errors.As(err, &e) || e.Part != 1 {
					t.Errorf("err = %v", err)
				}
				requests := 1
				if over {
					requests = 0
				} else if s, ok := errors.AsType[*wire.StoreError](err); !ok || s.Code != "AccessDenied" {
					t.Errorf("%v does not name what the store said", err)
				}
				l.wantRequests(t, wire.PutPart, requests)
				if p.asked > 3 {
					t.Errorf("the provider was asked %d times", p.asked)
				}
				l.wantFullBudget(t)
			})
		})
	}
}

// Those who have the lanes may hang at what the probe is to find out about: it
// does not wait for them.
func TestProbeTakesNoLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, body := newLab(t, func(_ *lab, e *multipart.EndpointOptions) {
			e.Lanes = 1
			e.Breaker = breaker.Options{Failures: 1, Quiet: -1}
		}), randomBytes(64*kib)
		time.AfterFunc(time.Hour, l.endpoint.TakeLane(t.Context()))
		l.options.Threshold, l.options.WaitOpen = 1<<20, true
		l.endpoint.Fail()
		start := time.Now()
		if _, err := l.upload(t.Context(), body); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d > 5*time.Second {
			t.Errorf("took %v", d)
		}
	})
}

// Parts that fail together are not to blame one by one: the row of failures of
// each does not end the upload, but four times as many do.
func TestSharedTroubleIsNotInTheRow(t *testing.T) {
	for _, parts := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			l, body := newLab(t, nil), randomBytes(parts*64*kib)
			l.options.Backoff = multipart.Backoff{Base: time.Second, Cap: time.Second, Jitter: multipart.NoJitter}
			l.Script(storetest.Fault{Op: wire.PutPart, Times: 6, Status: 500, Delay: time.Second})
			_, err := l.upload(t.Context(), body)
			if alone := parts == 1; alone != errors.Is(err, multipart.ErrAttempts) || alone != (err != nil) {
				t.Errorf("%d parts: %v", parts, err)
			}
		})
	}
}
