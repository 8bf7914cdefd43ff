package multipart_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
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

func (l *lab) source(size int) chunker.Source {
	return chunker.NewReaderAt(bytes.NewReader(randomBytes(size)), int64(size))
}

func (l *lab) kinds(k multipart.Kind) (es []multipart.Event) {
	for _, e := range l.events {
		if e.Kind == k {
			es = append(es, e)
		}
	}
	return es
}

func TestEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, body := newLab(t, nil), randomBytes(10*64*kib)
		l.options.Backoff.Jitter = multipart.NoJitter
		l.Script(storetest.Fault{Op: wire.PutPart, Part: 4, Status: 500, Code: "InternalError", Delay: time.Second},
			storetest.Fault{Op: wire.PutPart, Times: -1, Delay: time.Second})
		if _, err := l.upload(t.Context(), body); err != nil {
			t.Fatal(err)
		}
		if e := l.events[0]; e.Kind != multipart.Planned || e.Plan.Size != int64(len(body)) || e.Plan.PartSize != 64*kib {
			t.Errorf("the first event is %+v", e)
		}
		if last := l.events[len(l.events)-1]; last.Kind != multipart.Progressed || last.Done != last.Total || last.Total != int64(len(body)) {
			t.Errorf("the last event is %+v", last)
		}
		if !slices.IsSortedFunc(l.events, func(a, b multipart.Event) int { return a.Time.Compare(b.Time) }) {
			t.Error("events are out of order")
		}
		var failed multipart.Event
		for _, e := range l.kinds(multipart.Attempted) {
			if e.Part == 4 && e.Attempt == 1 {
				failed = e
			}
		}
		if failed.Status != 500 || failed.Code != "InternalError" || failed.Class != wire.Retry || failed.RequestID != "mem" ||
			failed.Elapsed != time.Second || failed.Sent != 64*kib || failed.Conn == "" || failed.Err == nil {
			t.Errorf("the failed attempt is %+v", failed)
		}
		waits := l.kinds(multipart.Waited)
		if i := slices.IndexFunc(waits, func(e multipart.Event) bool { return e.Reason == "backoff" }); i < 0 || waits[i].Wait != 500*time.Millisecond || waits[i].Part != 4 {
			t.Errorf("waits %+v", waits)
		}
		attempts := l.kinds(multipart.Attempted)
		if n := len(attempts); n != 10+1+2 {
			t.Errorf("%d attempts told", n)
		}
		if first, last := attempts[0], attempts[len(attempts)-1]; first.Op != wire.Create || first.Status != 200 ||
			last.Op != wire.Complete || last.Status != 200 || last.Class != wire.Done {
			t.Errorf("the first attempt is %+v\nthe last %+v", first, last)
		}
	})
}

// A slow observer holds up nobody.
func TestSlowObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, body := newLab(t, nil), randomBytes(10*64*kib)
		u, err := multipart.New(l.Mem, l.Mem, &multipart.Options{Endpoint: l.endpoint, PartSize: 64 * kib, Threshold: -1,
			OnEvent: func(multipart.Event) { time.Sleep(time.Minute) }})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		time.AfterFunc(time.Second, func() { l.stored(t, body) })
		if _, err := u.Upload(t.Context(), object, l.source(len(body))); err != nil {
			t.Fatal(err)
		}
		if time.Since(start) < time.Minute {
			t.Error("an upload returned before its events were told")
		}
	})
}

// Nothing that an upload says or fails with holds a request's URL.
func TestNoSecretIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		l.TTL = time.Hour
		var said strings.Builder
		for _, f := range []storetest.Fault{
			{Op: wire.PutPart, Part: 1, Times: -1, Status: 403, Code: "AccessDenied"},
			{Op: wire.PutPart, Part: 1, Times: -1, Reset: true},
			{Op: wire.PutPart, Part: 1, Times: -1, Stall: true},
		} {
			l.Script(f)
			_, err := l.upload(t.Context(), randomBytes(2*64*kib))
			if err == nil {
				t.Fatal("no error")
			}
			said.WriteString(err.Error())
			for _, e := range l.events {
				if e.Err != nil {
					said.WriteString(e.Err.Error())
				}
			}
		}
		if s := said.String(); strings.Contains(s, "expires") || strings.Contains(s, "uploadId=") {
			t.Error(s)
		}
	})
}

// A Retry-After holds for the whole endpoint, not only for whom it was told.
func TestRetryAfterHoldsForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		l.Script(storetest.Fault{Op: wire.PutPart, Part: 1, Status: 503, RetryAfter: "30"})
		start := time.Now()
		var wg sync.WaitGroup
		wg.Go(func() { l.upload(t.Context(), randomBytes(64*kib)) })
		time.Sleep(time.Second)
		if _, err := l.upload(t.Context(), randomBytes(64*kib)); err != nil {
			t.Error(err)
		}
		if d := time.Since(start); d != 30*time.Second {
			t.Errorf("another upload went through after %v", d)
		}
		wg.Wait()
	})
}

// The store is down for a minute: the upload goes on when it is back, and has
// sent little meanwhile.
func TestOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, body := newLab(t, func(l *lab, e *multipart.EndpointOptions) {
			l.options.Rand, e.Breaker.Rand = nil, nil
			e.Budget.Ratio = -1
		}), randomBytes(100*64*kib)
		l.options.MaxAttempts = 20
		start := time.Now()
		outage := storetest.Fault{Times: -1, Status: 503, Code: "ServiceUnavailable",
			From: start.Add(2 * time.Second), Until: start.Add(62 * time.Second), Delay: 100 * time.Millisecond}
		l.Script(outage, storetest.Fault{Op: wire.PutPart, Times: -1, Delay: time.Second})
		if _, err := l.upload(t.Context(), body); err != nil {
			t.Fatal(err)
		}
		l.stored(t, body)
		during := 0
		for _, r := range l.Requests() {
			if d := r.Time.Sub(start); d > 2*time.Second && d <= 62*time.Second {
				during++
			}
		}
		// Lanes, capacity, half a token a second, and the breaker's probes.
		if most := 8 + 10 + 30 + 8; during > most {
			t.Errorf("%d requests while the store was down, want at most %d", during, most)
		}
		states := l.kinds(multipart.BreakerChanged)
		if len(states) == 0 || states[0].To != breaker.Open || states[len(states)-1].To != breaker.Closed {
			t.Errorf("breaker %+v", states)
		}
	})
}

// provider fails or is stale as told.
type provider struct {
	*storetest.Mem
	mu      sync.Mutex
	errs    []error
	stale   int // so many requests have expired when they are handed out
	renewed int
	only    bool // it has one request for all that it is asked for
	first   presign.Request
	asked   int
}

func (p *provider) Presign(ctx context.Context, part presign.Part) (presign.Request, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.errs) > 0 {
		err := p.errs[0]
		p.errs = p.errs[1:]
		return presign.Request{}, err
	}
	r, err := p.Mem.Presign(ctx, part)
	if p.asked++; p.only && p.asked > 1 {
		r = p.first
	}
	p.first = r
	if p.stale > 0 {
		p.stale--
		r.NotAfter = time.Now().Add(-time.Second)
	}
	return r, err
}

func (p *provider) Renew(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.renewed++
	return nil
}

func TestMint(t *testing.T) {
	broken := errors.New("minting service: 500")
	for name, tc := range map[string]struct {
		provider *provider
		fails    bool
		renewed  int
	}{
		"fails 19 times":      {&provider{errs: slices.Repeat([]error{broken}, 19)}, false, 0},
		"fails 20 times":      {&provider{errs: slices.Repeat([]error{broken}, 20)}, true, 0},
		"hands out stale one": {&provider{stale: 1}, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, nil)
				p := tc.provider
				p.Mem = l.Mem
				u, err := multipart.New(l.Mem, p, &l.options)
				if err != nil {
					t.Fatal(err)
				}
				_, err = u.Upload(t.Context(), object, l.source(64*kib))
				if tc.fails != errors.Is(err, broken) || tc.fails != (err != nil) {
					t.Fatalf("err = %v", err)
				}
				if p.renewed != tc.renewed {
					t.Errorf("renewed %d times", p.renewed)
				}
				l.wantFullBudget(t) // a provider's failures are not the store's
			})
		})
	}
}

// The store says expired: the provider is told to forget, once for all parts.
func TestExpiredRenewsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		p := &provider{Mem: l.Mem}
		l.Script(storetest.Fault{Op: wire.PutPart, Status: 400, Code: "ExpiredToken", Delay: time.Second})
		u, err := multipart.New(l.Mem, p, &l.options)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := u.Upload(t.Context(), object, l.source(8*64*kib)); err != nil {
			t.Fatal(err)
		}
		if p.renewed == 0 || p.renewed > 8 {
			t.Errorf("renewed %d times", p.renewed)
		}
	})
}

func TestDefaultEndpointsAreShared(t *testing.T) {
	var e multipart.Endpoints
	a := e.Get("https://s3.example", "bucket")
	if e.Get("https://s3.example", "bucket") != a {
		t.Error("the same bucket has two endpoints")
	}
	if e.Get("https://s3.example", "other") == a || e.Get("http://s3.example", "bucket") == a {
		t.Error("different buckets share an endpoint")
	}
}

func TestBadOptions(t *testing.T) {
	for _, o := range []multipart.Options{{PartSize: -1}, {Threshold: 6 << 30}, {MaxAttempts: -1}} {
		if _, err := multipart.New(nil, nil, &o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
	l := newLab(t, nil)
	u, err := multipart.New(l.Mem, l.Mem, &l.options)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []multipart.Object{{Key: "k"}, {Bucket: "b"}, {Bucket: "b", Key: strings.Repeat("k", 1025)}} {
		if _, err := u.Upload(t.Context(), o, l.source(1)); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
	if len(l.Requests()) != 0 {
		t.Error("something was sent")
	}
}
