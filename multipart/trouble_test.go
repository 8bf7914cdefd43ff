package multipart_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/chunkup/chunkup/breaker"
	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/storetest"
	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign"
)

// uploader is one over the given parts of the lab.
func (l *lab) uploader(t *testing.T, c multipart.Control, p presign.Provider) *multipart.Uploader {
	t.Helper()
	u, err := multipart.New(c, p, &l.options)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// The bound that ended the upload does not keep it from being cleaned up.
func TestElapsedIsAborted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		l.options.MaxAttempts, l.options.MaxElapsed = 100, 20*time.Second
		l.options.Backoff = multipart.Backoff{Jitter: multipart.NoJitter}
		l.Script(storetest.Fault{Op: wire.PutPart, Times: -1, Status: 500})
		if _, err := l.upload(t.Context(), randomBytes(64*kib)); !errors.Is(err, multipart.ErrElapsed) {
			t.Errorf("err = %v", err)
		}
		l.nothing(t)
		l.wantRequests(t, wire.Abort, 1)
	})
}

// A completion that takes longer than the elapsed bound is still looked up.
func TestSlowCompleteIsLookedUp(t *testing.T) {
	for _, apply := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			l, body := newLab(t, nil), randomBytes(64*kib)
			l.Script(storetest.Fault{Op: wire.Complete, Apply: apply, Status: 504, Delay: 200 * time.Second})
			if _, err := l.upload(t.Context(), body); err != nil {
				t.Errorf("applied %v: %v", apply, err)
			}
			l.wantRequests(t, wire.Head, 1)
			l.stored(t, body)
		})
	}
}

// grown is a source that has grown, and is slow to be read again.
type grown struct {
	chunker.Source
	proving *bool
}

func (g grown) Changed() error { *g.proving = true; return errors.New("it grew") }

func (g grown) ReadAt(p []byte, off int64) (int, error) {
	if *g.proving {
		time.Sleep(40 * time.Second)
	}
	return g.Source.ReadAt(p, off)
}

func TestHashingAgainIsNoTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		_, err := l.uploader(t, l.Mem, l.Mem).Upload(t.Context(), object, grown{l.source(5 * 64 * kib), new(bool)})
		if err != nil || l.Uploads() != 0 {
			t.Errorf("%d uploads left, err = %v", l.Uploads(), err)
		}
	})
}

// A store may ask for more patience than the elapsed bound has.
func TestLongRetryAfterIsNoTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, body := newLab(t, nil), randomBytes(64*kib)
		l.options.RetryAfterCap = 10 * time.Minute
		l.Script(storetest.Fault{Op: wire.PutPart, Status: 503, RetryAfter: "300"})
		if _, err := l.upload(t.Context(), body); err != nil {
			t.Error(err)
		}
		l.stored(t, body)
	})
}

// throttled is a connection that carries so many bytes a second.
type throttled struct {
	net.Conn
	perSecond int
}

func (c throttled) Write(p []byte) (n int, err error) {
	for len(p) > 0 && err == nil {
		var m int
		m, err = c.Conn.Write(p[:min(len(p), c.perSecond/2)])
		n, p = n+m, p[m:]
		time.Sleep(time.Second / 2)
	}
	return n, err
}

// slowly sends the lab's parts over such connections.
func (l *lab) slowly(t *testing.T, perSecond int) {
	client := wire.NewClient(wire.Options{Dial: func(ctx context.Context, n, a string) (net.Conn, error) {
		c, err := l.Dial(ctx, n, a)
		return throttled{c, perSecond}, err
	}})
	t.Cleanup(func() {
		client.CloseIdle()
		time.Sleep(time.Minute)
	})
	l.options.Endpoint = multipart.NewEndpoint(multipart.EndpointOptions{Client: client})
}

// One upload is in trouble for longer than the elapsed bound; another that only
// waits for the end of the doubt is not.
func TestDoubtIsNotOnesOwnTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		l.options.PartSize, l.options.MaxElapsed = 3<<20, 30*time.Second
		l.slowly(t, 70_000)
		l.Script(storetest.Fault{Op: wire.PutPart, Part: 1, Reset: true})
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := l.upload(t.Context(), make([]byte, 8*3<<20)); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(10 * time.Second)
		other := multipart.Object{Bucket: "bucket", Key: "other"}
		if _, err := l.uploader(t, l.Mem, l.Mem).Upload(t.Context(), other, l.source(100)); err != nil {
			t.Error(err)
		}
		wg.Wait()
	})
}

func TestAttemptsDoNotOverflow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		l.options.MaxAttempts = math.MaxInt
		l.Script(storetest.Fault{Op: wire.PutPart, Status: 500})
		if _, err := l.upload(t.Context(), randomBytes(64*kib)); err != nil {
			t.Error(err)
		}
	})
}

// panics is a source with a bug.
type panics struct{ chunker.Source }

func (panics) ReadAt([]byte, int64) (int, error) { panic("a bug of the caller's") }

// A server recovers from panics; the endpoint has to get back what was taken.
func TestPanicGivesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, func(l *lab, _ *multipart.EndpointOptions) { l.options.Threshold = 1 << 20 })
		u := l.uploader(t, l.Mem, l.Mem)
		for range multipart.DefaultLanes {
			func() {
				defer func() { recover() }()
				u.Upload(t.Context(), object, panics{l.source(100)})
			}()
		}
		if _, err := u.Upload(t.Context(), object, l.source(100)); err != nil {
			t.Error(err)
		}
		l.wantFullBudget(t)
	})
}

// cancelling ends the caller's context as soon as there is an upload.
type cancelling struct {
	*storetest.Mem
	cancel context.CancelFunc
}

func (c cancelling) Create(ctx context.Context, i multipart.Intent) (multipart.Upload, error) {
	u, err := c.Mem.Create(ctx, i)
	c.cancel()
	return u, err
}

func TestCancelBeforeTheFirstPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		ctx, cancel := context.WithCancel(t.Context())
		_, err := l.uploader(t, cancelling{l.Mem, cancel}, l.Mem).Upload(ctx, object, l.source(3*64*kib))
		if !errors.Is(err, context.Canceled) {
			t.Errorf("err = %v", err)
		}
		l.nothing(t)
	})
}

// Uploads that a caller runs in one group fail each with an error of its own.
func TestErrorsOfAGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		l.Script(storetest.Fault{Op: wire.PutPart, Part: 2, Status: 403, Code: "AccessDenied", Delay: time.Second},
			storetest.Fault{Op: wire.PutPart, Times: -1, Stall: true})
		g, ctx := errgroup.WithContext(t.Context())
		errs := make([]error, 2)
		for i, size := range []int{2 * 64 * kib, 64 * kib} {
			g.Go(func() error {
				o := multipart.Object{Bucket: "bucket", Key: fmt.Sprint("key", i)}
				_, errs[i] = l.uploader(t, l.Mem, l.Mem).Upload(ctx, o, l.source(size))
				return errs[i]
			})
		}
		g.Wait()
		for i, err := range errs {
			var e *multipart.Error
			if !errors.As(err, &e) || e.Object != fmt.Sprint("s3://bucket/key", i) {
				t.Errorf("upload %d failed with %v", i, err)
			}
		}
	})
}

// A Retry-After that the last attempt got holds for the others all the same,
// and the clean-up outlives it.
func TestLastRetryAfterHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		l.options.MaxAttempts = 1
		l.Script(storetest.Fault{Op: wire.PutPart, Part: 1, Status: 500, RetryAfter: "60"})
		start := time.Now()
		if _, err := l.upload(t.Context(), randomBytes(64*kib)); err == nil {
			t.Error("no error")
		}
		if d := time.Since(start); d != time.Minute {
			t.Errorf("the upload was aborted after %v", d)
		}
		l.nothing(t)
	})
}

// What a caller cannot send is refused before anything is, and nobody else
// hears of it.
func TestUnsendableHeaders(t *testing.T) {
	l := newLab(t, nil)
	u := l.uploader(t, l.Mem, l.Mem)
	for _, o := range []multipart.Object{
		{Bucket: "b", Key: "k", Metadata: map[string]string{"a": "x\ny"}},
		{Bucket: "b", Key: "k", Metadata: map[string]string{"a b": "x"}},
		{Bucket: "b", Key: "k", Header: map[string][]string{"Cache-Control": {"a\x00"}}},
		{Bucket: "b", Key: "k", Header: map[string][]string{"If-None-Match": {"*"}}},
	} {
		if _, err := u.Upload(t.Context(), o, l.source(1)); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
	if len(l.Requests()) != 0 {
		t.Error("something was sent")
	}
	l.wantFullBudget(t)
}

// While the store is down, a command's upload waits for it and a server's is
// refused at once.
func TestWaitOpen(t *testing.T) {
	for _, wait := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			l, body := newLab(t, func(l *lab, e *multipart.EndpointOptions) {
				l.options.WaitOpen = wait
				e.Breaker.Failures, e.Breaker.Cooldown, e.Breaker.MaxCooldown = 1, 10*time.Second, 10*time.Second
			}), randomBytes(64*kib)
			l.options.MaxAttempts = 1
			l.Script(storetest.Fault{Op: wire.Create, Times: 3, Status: 500})
			if _, err := l.upload(t.Context(), body); err == nil {
				t.Fatal("no error")
			}
			start := time.Now()
			_, err := l.upload(t.Context(), body)
			if !wait {
				if !errors.Is(err, breaker.ErrOpen) || time.Since(start) != 0 {
					t.Errorf("after %v: %v", time.Since(start), err)
				}
				return
			}
			// Its probes failed twice, which is no attempt.
			if err != nil || l.Count(wire.Create) != 4 || time.Since(start) < 15*time.Second {
				t.Errorf("%d creates in %v, err = %v", l.Count(wire.Create), time.Since(start), err)
			}
			l.stored(t, body)
		})
	}
}
