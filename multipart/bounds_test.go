package multipart_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chunkup/chunkup/breaker"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/storetest"
	"github.com/chunkup/chunkup/multipart/wire"
)

// A store that asks for less is not a part that cannot work: the row of failures
// does not count it, the number that holds whatever happens does.
func TestThrottleIsNotInTheRow(t *testing.T) {
	for _, tc := range []struct{ times, requests int }{{7, 8}, {-1, 8}} {
		synctest.Test(t, func(t *testing.T) {
			l := newLab(t, nil)
			l.options.MaxAttempts = 2
			l.Script(storetest.Fault{Op: wire.PutPart, Times: tc.times, Status: 503, Code: "SlowDown"})
			_, err := l.upload(t.Context(), randomBytes(64*kib))
			if (tc.times > 0) != (err == nil) || err != nil && !errors.Is(err, multipart.ErrAttempts) {
				t.Error(err)
			}
			l.wantRequests(t, wire.PutPart, tc.requests)
		})
	}
}

// A store that takes every part and refuses it makes no progress: the upload ends
// after the elapsed bound, although bytes go out for ever.
func TestRefusedBytesAreNoProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		l.options.MaxAttempts = 1000
		l.Script(storetest.Fault{Op: wire.PutPart, Times: -1, Status: 503, Code: "SlowDown", Delay: time.Second})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		start := time.Now()
		_, err := l.upload(ctx, randomBytes(20*64*kib))
		if !errors.Is(err, multipart.ErrElapsed) {
			t.Error(err)
		}
		if d := time.Since(start); d < 3*time.Minute || d > 4*time.Minute {
			t.Errorf("it ended after %v", d)
		}
		l.nothing(t)
	})
}

// An upload that is ended from outside while it waits says what it was waiting
// for: the last failure first, then why it stopped, and the budget.
func TestEndedWhileInTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		l.Script(storetest.Fault{Op: wire.PutPart, Times: -1, Status: 503, Code: "SlowDown"})
		enough := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 8*time.Second, enough)
		defer cancel()
		start := time.Now()
		_, err := l.upload(ctx, randomBytes(64*64*kib))
		var e *multipart.Error
		var s *wire.StoreError
		if !errors.As(err, &e) || !errors.Is(err, enough) || !errors.As(err, &s) || s.Code != "SlowDown" || e.Stopped != enough {
			t.Fatalf("err = %v", err)
		}
		// A part that was cut off in the same instant is looked for once more.
		if d := time.Since(start); d != 8*time.Second && d != 8*time.Second+250*time.Millisecond {
			t.Errorf("after %v", d)
		}
		for _, want := range []string{"SlowDown", "503", "request id mem", "enough", "retries left in the budget"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q does not say %q", err, want)
			}
		}
	})
}

// Each failed attempt says whether another follows.
func TestAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		l.Script(storetest.Fault{Op: wire.PutPart, Part: 3, Times: -1, Status: 500, Code: "InternalError"})
		if _, err := l.upload(t.Context(), randomBytes(64*kib*3)); err == nil {
			t.Fatal("no error")
		}
		var again []bool
		for _, e := range l.kinds(multipart.Attempted) {
			if e.Part == 3 {
				again = append(again, e.Again)
			}
		}
		if last := len(again) - 1; last < 4 || again[last] || slices.Contains(again[:last], false) {
			t.Errorf("again: %v", again)
		}
	})
}

// When the breaker closes, the parts that waited do not come back as a herd.
func TestSlowStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, body := newLab(t, func(_ *lab, e *multipart.EndpointOptions) { e.Lanes = 8 }), randomBytes(100*64*kib)
		l.options.Rand = func() float64 { return 0.5 }
		start := time.Now()
		// All lanes are taken before the first of them hears of the trouble.
		l.Script(storetest.Fault{Op: wire.PutPart, Times: -1, Status: 500, Delay: 10 * time.Millisecond, From: start.Add(5 * time.Second), Until: start.Add(15 * time.Second)},
			storetest.Fault{Op: wire.PutPart, Times: -1, Delay: time.Second})
		if _, err := l.upload(t.Context(), body); err != nil {
			t.Fatal(err)
		}
		changes := l.kinds(multipart.BreakerChanged)
		closed := changes[len(changes)-1]
		if closed.To != breaker.Closed {
			t.Fatalf("changes: %+v", changes)
		}
		arrived := map[int]int{} // by second after closing
		for _, r := range l.Requests() {
			if d := r.Time.Sub(closed.Time); d >= 0 && r.Op == wire.PutPart {
				arrived[int(d.Seconds())]++
			}
		}
		if arrived[0] > 2 || arrived[1] > 4 || arrived[5] < 4 {
			t.Errorf("requests by second after closing: %v", arrived)
		}
		l.stored(t, body)
	})
}

// A host that lets those who Expect wait in vain is not asked again.
func TestExpectIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, body := newLab(t, func(_ *lab, e *multipart.EndpointOptions) { e.Lanes = 1 }), randomBytes(2*64*kib)
		l.Script(storetest.Fault{Op: wire.PutPart, Reset: true},
			storetest.Fault{Op: wire.PutPart, Delay: 2 * time.Second})
		if _, err := l.upload(t.Context(), body); err != nil {
			t.Fatal(err)
		}
		var expect []bool
		for _, r := range l.Requests() {
			if r.Op == wire.PutPart {
				expect = append(expect, r.Expect)
			}
		}
		if want := []bool{false, true, false, false}; !slices.Equal(expect, want) {
			t.Errorf("asked: %v, want %v", expect, want)
		}
		l.stored(t, body)
	})
}

// A first attempt that got its lane while the endpoint came into doubt does not go.
func TestDoubtHoldsLateLanes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, func(_ *lab, e *multipart.EndpointOptions) { e.Lanes = 1 })
		l.Script(storetest.Fault{Op: wire.PutPart, Times: -1, Status: 500, Delay: time.Second, Until: time.Now().Add(2 * time.Second)})
		l.options.Rand = func() float64 { return 0.5 }
		if _, err := l.upload(t.Context(), randomBytes(4*64*kib)); err != nil {
			t.Fatal(err)
		}
		var parts []int
		for _, r := range l.Requests() {
			if r.Op == wire.PutPart {
				parts = append(parts, r.Part)
			}
		}
		if parts[0] != parts[1] || parts[1] != parts[2] {
			t.Errorf("the parts came in the order %v", parts)
		}
	})
}
