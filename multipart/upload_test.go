package multipart_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chunkup/chunkup/breaker"
	"github.com/chunkup/chunkup/budget"
	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/storetest"
	"github.com/chunkup/chunkup/multipart/wire"
)

const kib = 1 << 10

// lab is an uploader over a store in memory, for one synctest bubble.
type lab struct {
	*storetest.Mem
	endpoint *multipart.Endpoint
	options  multipart.Options

	mu     sync.Mutex
	events []multipart.Event
}

// newLab has 64 KiB parts, 8 lanes, no luck in its jitter (random is always 0)
// and no threshold.
func newLab(t *testing.T, change func(*lab, *multipart.EndpointOptions)) *lab {
	l := &lab{Mem: storetest.NewMem(wire.Limits{})}
	t.Cleanup(l.Close)
	e := multipart.EndpointOptions{Client: l.Client()}
	l.options = multipart.Options{PartSize: 64 * kib, Threshold: -1, Rand: func() float64 { return 0 }}
	e.Breaker.Rand = l.options.Rand
	if change != nil {
		change(l, &e)
	}
	l.endpoint = multipart.NewEndpoint(e)
	l.options.Endpoint = l.endpoint
	l.options.OnEvent = func(e multipart.Event) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.events = append(l.events, e)
	}
	return l
}

var object = multipart.Object{Bucket: "bucket", Key: "key"}

func (l *lab) upload(ctx context.Context, body []byte) (multipart.Result, error) {
	u, err := multipart.New(l.Mem, l.Mem, &l.options)
	if err != nil {
		return multipart.Result{}, err
	}
	return u.Upload(ctx, object, chunker.NewReaderAt(bytes.NewReader(body), int64(len(body))))
}

// stored fails unless the object is there, equal, and nothing else is left.
func (l *lab) stored(t *testing.T, body []byte) {
	t.Helper()
	o, ok := l.Object(object.Key)
	if !ok || !bytes.Equal(o.Body, body) {
		t.Errorf("stored %v with %d bytes, want %d equal ones", ok, len(o.Body), len(body))
	}
	if n := l.Uploads(); n != 0 {
		t.Errorf("%d unfinished uploads are left", n)
	}
}

// nothing fails if there is an object or an unfinished upload.
func (l *lab) nothing(t *testing.T) {
	t.Helper()
	if _, ok := l.Object(object.Key); ok {
		t.Error("there is an object")
	}
	if n := l.Uploads(); n != 0 {
		t.Errorf("%d unfinished uploads are left", n)
	}
}

func (l *lab) wantRequests(t *testing.T, op wire.Operation, want int) {
	t.Helper()
	if got := l.Count(op); got != want {
		t.Errorf("%s: %d requests, want %d", op, got, want)
	}
}

// wantFullBudget fails if anything was charged, or is held against the store.
func (l *lab) wantFullBudget(t *testing.T) {
	t.Helper()
	if b := l.endpoint.Budget(); b.Requests != b.CapacityRequests || b.Bytes != b.CapacityBytes || b.Doubt {
		t.Errorf("budget %+v", b)
	}
	if s := l.endpoint.Breaker(); s != breaker.Closed {
		t.Errorf("breaker is %v", s)
	}
}

func randomBytes(n int) []byte {
	b := make([]byte, n)
	rng := rand.NewChaCha8([32]byte{1})
	rng.Read(b)
	return b
}

func TestUploadSizes(t *testing.T) {
	for _, size := range []int{0, 1, 64*kib - 1, 64 * kib, 64*kib + 1, 20 * 64 * kib} {
		synctest.Test(t, func(t *testing.T) {
			l, body := newLab(t, nil), randomBytes(size)
			res, err := l.upload(t.Context(), body)
			if err != nil {
				t.Fatal(err)
			}
			l.stored(t, body)
			parts := (size + 64*kib - 1) / (64 * kib)
			requests := parts + 2
			if size == 0 {
				requests = 1 // nothing to cut
			}
			if got, want := len(l.Requests()), requests; got != want {
				t.Errorf("%d bytes: %d requests, want %d", size, got, want)
			}
			whole, _ := chunker.Sum(bytes.NewReader(body), chunker.CRC64NVME)
			if res.Size != int64(size) || res.Parts != parts || res.Digest != whole || res.ETag == "" || res.Requests != requests {
				t.Errorf("%d bytes: result %+v", size, res)
			}
		})
	}
}

func TestSinglePut(t *testing.T) {
	for _, size := range []int{0, 1, 99 * kib} {
		synctest.Test(t, func(t *testing.T) {
			l, body := newLab(t, func(l *lab, _ *multipart.EndpointOptions) { l.options.Threshold = 100 * kib }), randomBytes(size)
			res, err := l.upload(t.Context(), body)
			if err != nil {
				t.Fatal(err)
			}
			l.stored(t, body)
			if len(l.Requests()) != 1 || l.Count(wire.PutObject) != 1 || res.Parts != 0 || res.ETag == "" {
				t.Errorf("%d bytes: %d requests, result %+v", size, len(l.Requests()), res)
			}
		})
	}
}

func TestRetriesExactly(t *testing.T) {
	faults := map[string]storetest.Fault{
		"503":                {Op: wire.PutPart, Every: 3, Status: 503, Code: "SlowDown"},
		"500 without a body": {Op: wire.PutPart, Every: 3, Status: 500},
		"request timeout":    {Op: wire.PutPart, Every: 3, Status: 400, Code: "RequestTimeout"},
		"reset":              {Op: wire.PutPart, Every: 3, Reset: true, After: 10 * kib},
		"answer lost":        {Op: wire.PutPart, Every: 3, Reset: true, Apply: true},
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, body := newLab(t, nil), randomBytes(10*64*kib)
				l.Script(fault)
				res, err := l.upload(t.Context(), body)
				if err != nil {
					t.Fatal(err)
				}
				l.stored(t, body)
				l.wantRequests(t, wire.PutPart, 10+3)
				if res.Retries != 3 || res.Attempts != 13 {
					t.Errorf("retries %d, attempts %d", res.Retries, res.Attempts)
				}
			})
		})
	}
}

// Eight parts fail together and the budget holds three retries: three go at
// once, the others wait for tokens of time, nothing new starts, nothing fails.
func TestBudgetPaysForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, body := newLab(t, func(_ *lab, e *multipart.EndpointOptions) {
			e.Budget.Retries = 3
			e.Breaker.Failures = 1000
		}), randomBytes(20*64*kib)
		l.Script(storetest.Fault{Op: wire.PutPart, Times: 4, Status: 500, Delay: 100 * time.Millisecond})
		l.options.MaxAttempts = 20
		l.options.Backoff = multipart.Backoff{Base: time.Nanosecond, Cap: time.Nanosecond}
		start := time.Now()
		if _, err := l.upload(t.Context(), body); err != nil {
			t.Fatal(err)
		}
		l.stored(t, body)
		var first, later []storetest.Request
		for _, r := range l.Requests() {
			switch {
			case r.Op != wire.PutPart:
			case r.Time.Sub(start) < time.Second:
				first = append(first, r)
			case r.Time.Sub(start) < 3*time.Second:
				later = append(later, r)
			}
		}
		if len(first) != 8+3 {
			t.Errorf("%d parts were sent at once, want the 8 first attempts and 3 retries", len(first))
		}
		if len(later) != 1 {
			t.Errorf("%d retries by the token of the first 2 s, want 1", len(later))
		}
		began := map[int]bool{}
		for _, r := range append(first, later...) {
			began[r.Part] = true
		}
		if len(began) != 8 {
			t.Errorf("%d parts began, want 8: no new one starts in doubt", len(began))
		}
	})
}

func TestExpiredIsNotAnAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, body := newLab(t, nil), randomBytes(4*64*kib)
		l.options.MaxAttempts = 1
		l.Script(storetest.Fault{Op: wire.PutPart, Part: 2, Times: 2, Status: 403, Code: "AccessDenied", Message: "Request has expired"})
		start := time.Now()
		res, err := l.upload(t.Context(), body)
		if err != nil {
			t.Fatal(err)
		}
		l.stored(t, body)
		l.wantFullBudget(t)
		if res.Mints != 6 || time.Since(start) != 0 {
			t.Errorf("%d mints in %v, want 6 at once", res.Mints, time.Since(start))
		}
	})
}

func TestAlwaysExpiredEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		l.Script(storetest.Fault{Op: wire.PutPart, Part: 2, Times: -1, Status: 400, Code: "ExpiredToken", Delay: time.Second})
		_, err := l.upload(t.Context(), randomBytes(4*64*kib))
		if !errors.Is(err, multipart.ErrExpired) {
			t.Fatalf("err = %v", err)
		}
		l.wantRequests(t, wire.PutPart, 3+1+3) // three others, and three new ones after the first
		l.nothing(t)
	})
}

func TestFatalIsNotRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		l.Script(storetest.Fault{Op: wire.PutPart, Part: 2, Times: -1, Status: 403, Code: "AccessDenied", Message: "no"})
		_, err := l.upload(t.Context(), randomBytes(2*64*kib))
		var e *multipart.Error
		var s *wire.StoreError
		if !errors.As(err, &e) || e.Part != 2 || e.UploadID == "" || e.Attempts != 1 || !errors.As(err, &s) || s.Code != "AccessDenied" || s.RequestID != "mem" {
			t.Fatalf("err = %#v", err)
		}
		l.wantFullBudget(t)
		l.nothing(t)
	})
}

func TestSamePartFiveTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		l.Script(storetest.Fault{Op: wire.PutPart, Times: -1, Status: 500})
		_, err := l.upload(t.Context(), randomBytes(64*kib))
		var e *multipart.Error
		if !errors.Is(err, multipart.ErrAttempts) || !errors.As(err, &e) || e.Attempts != 5 {
			t.Fatalf("err = %v", err)
		}
		l.wantRequests(t, wire.PutPart, 5)
		l.nothing(t)
	})
}

// Part 1 fails and another part succeeds in between, over and over: it goes on, up
// to 20 attempts. With more lanes than eight the others would be done before.
func TestOthersSucceedInBetween(t *testing.T) {
	for _, failures := range []int{19, 20} {
		synctest.Test(t, func(t *testing.T) {
			l, body := newLab(t, func(_ *lab, e *multipart.EndpointOptions) {
				e.Budget = budget.Options{Retries: 1000}
				e.Lanes = 8
			}), randomBytes(400*kib)
			l.options.PartSize = kib
			l.options.Backoff = multipart.Backoff{Base: time.Second, Cap: time.Second, Jitter: multipart.NoJitter}
			l.Script(storetest.Fault{Op: wire.PutPart, Part: 1, Times: failures, Status: 500, Delay: 50 * time.Millisecond},
				storetest.Fault{Op: wire.PutPart, Times: -1, Delay: 710 * time.Millisecond})
			_, err := l.upload(t.Context(), body)
			if failures < 20 {
				if err != nil {
					t.Fatal(err)
				}
				l.stored(t, body)
				return
			}
			var e *multipart.Error
			if !errors.Is(err, multipart.ErrAttempts) || !errors.As(err, &e) || e.Part != 1 || e.Attempts != 20 {
				t.Fatalf("err = %v", err)
			}
		})
	}
}

func TestElapsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		l.options.MaxAttempts, l.options.MaxElapsed = 100, 20*time.Second
		l.options.Backoff = multipart.Backoff{Jitter: multipart.NoJitter}
		l.Script(storetest.Fault{Op: wire.PutPart, Times: -1, Status: 500})
		start := time.Now()
		_, err := l.upload(t.Context(), randomBytes(64*kib))
		var s *wire.StoreError
		var e *multipart.Error
		if !errors.Is(err, multipart.ErrElapsed) || !errors.As(err, &s) || !errors.As(err, &e) || e.Attempts < 4 {
			t.Fatalf("err = %v", err)
		}
		if d := time.Since(start); d != 20*time.Second || e.Elapsed != d {
			t.Errorf("ended after %v", d)
		}
	})
}

// awayFrom sends the lab's parts over a network that is gone for a minute after
// so long.
func (l *lab) awayFrom(after time.Duration) {
	gone := time.Now().Add(after)
	client := wire.NewClient(wire.Options{Dial: func(ctx context.Context, n, a string) (net.Conn, error) {
		if now := time.Now(); now.After(gone) && now.Before(gone.Add(time.Minute)) {
			return nil, &net.OpError{Op: "dial", Err: syscall.ENETUNREACH}
		}
		return l.Dial(ctx, n, a)
	}})
	// Too few lanes for the breaker, which would wait as patiently.
	l.options.Endpoint = multipart.NewEndpoint(multipart.EndpointOptions{Client: client, Lanes: 4, Budget: budget.Options{Retries: 1000}})
	l.options.Backoff = multipart.Backoff{Base: time.Second, Cap: time.Second, Jitter: multipart.NoJitter}
}

// A laptop changes networks in the middle of an upload, for longer than five
// attempts take: it goes on. One that has not begun ends after five.
func TestAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, body := newLab(t, nil), randomBytes(20*64*kib)
		l.Script(storetest.Fault{Op: wire.PutPart, Times: -1, Delay: time.Second})
		l.awayFrom(1500 * time.Millisecond)
		l.options.Endpoint.CloseIdle()
		time.AfterFunc(1500*time.Millisecond, func() { l.Drop() })
		if _, err := l.upload(t.Context(), body); err != nil {
			t.Error(err)
		}
		l.stored(t, body)
		l.options.Endpoint.CloseIdle()
	})
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		l.options.Threshold = 1 << 20
		l.awayFrom(time.Second)
		if _, err := l.upload(t.Context(), randomBytes(100)); err != nil {
			t.Fatal(err)
		}
		l.options.Endpoint.CloseIdle()
		time.Sleep(2 * time.Second)
		start := time.Now()
		_, err := l.upload(t.Context(), randomBytes(100))
		if !errors.Is(err, multipart.ErrAttempts) || !errors.Is(err, syscall.ENETUNREACH) || time.Since(start) != 4*time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

func TestRetryAfter(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"30": 30 * time.Second, "21600": time.Minute, "soon": 500 * time.Millisecond, "-3": 500 * time.Millisecond,
	} {
		synctest.Test(t, func(t *testing.T) {
			l, body := newLab(t, nil), randomBytes(64*kib)
			l.options.Backoff = multipart.Backoff{Jitter: multipart.NoJitter}
			l.Script(storetest.Fault{Op: wire.PutPart, Status: 503, Code: "SlowDown", RetryAfter: value})
			start := time.Now()
			if _, err := l.upload(t.Context(), body); err != nil {
				t.Fatal(err)
			}
			if d := time.Since(start); d != want {
				t.Errorf("Retry-After %q: waited %v, want %v", value, d, want)
			}
		})
	}
}

func TestCancel(t *testing.T) {
	for name, fault := range map[string]storetest.Fault{
		"during a wait":  {Op: wire.PutPart, Times: -1, Status: 503, RetryAfter: "50"},
		"during a send":  {Op: wire.PutPart, Times: -1, Stall: true},
		"in the control": {Op: wire.Create, Stall: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, nil)
				l.Script(fault)
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(5*time.Second, cancel)
				start := time.Now()
				_, err := l.upload(ctx, randomBytes(64*kib))
				if !errors.Is(err, context.Canceled) {
					t.Fatalf("err = %v", err)
				}
				if d := time.Since(start); d > 5*time.Second+300*time.Millisecond { // a part may come late
					t.Errorf("returned %v after the cancel", d-5*time.Second)
				}
				l.nothing(t)
				if name == "during a wait" {
					return
				}
				l.wantFullBudget(t)
			})
		})
	}
}

func TestClosedPortRefusesTheSixth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		l.options.MaxElapsed = 5 * time.Second
		l.Script(storetest.Fault{Op: wire.Create, Times: -1, Reset: true})
		for range 5 {
			if _, err := l.upload(t.Context(), randomBytes(1)); !errors.Is(err, syscall.ECONNRESET) {
				t.Fatal(err)
			}
		}
		n, start := len(l.Requests()), time.Now()
		_, err := l.upload(t.Context(), randomBytes(1))
		var open *breaker.OpenError
		if !errors.As(err, &open) || time.Since(start) != 0 || len(l.Requests()) != n {
			t.Fatalf("after %v: %v", time.Since(start), err)
		}
	})
}
