package mint

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chunkup/chunkup/multipart/wire"
)

// A thousand creates in a second: so many get through as the burst and the rate allow,
// the others are told when to come again, and other callers do not notice.
func TestServerRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newServerLab(t, func(o *Options) { o.Rate, o.Burst, o.MaxOpen = 10, 20, 10_000 })
		defer l.Close()
		done := 0
		for range 1000 {
			a := l.ask("POST", pathMultipart, `{"filename":"a"}`)
			switch {
			case a.status == http.StatusOK:
				done++
			case a.status != http.StatusTooManyRequests || a.header.Get("Retry-After") != "1":
				t.Fatalf("%d %s %v", a.status, a.text, a.header)
			}
			time.Sleep(time.Millisecond)
		}
		if done != 29 || l.Count(wire.Create) != done {
			t.Errorf("%d were let through, %d creates", done, l.Count(wire.Create))
		}
		l.begin(`{"filename":"a"}`, as(bobToken))
		time.Sleep(2 * time.Second)
		for range 20 {
			l.begin(`{"filename":"a"}`)
		}
		if a := l.ask("GET", pathAbout, "", "Authorization"); a.status != http.StatusUnauthorized {
			t.Errorf("%d", a.status)
		}
	})
}

// A slow rate says how long it takes, and the buckets of those who are quiet go.
func TestServerRateMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(0.1, 1)
		for i := range 10 * minCallers {
			if err := l.take(fmt.Sprint(i)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Millisecond)
		}
		if err := l.take(fmt.Sprint(10*minCallers - 1)); err == nil || asFailure(err).retryAfter != 10*time.Second-10*time.Millisecond {
			t.Errorf("%v", err)
		}
		if n := len(l.buckets); n > 2*minCallers {
			t.Errorf("%d buckets", n)
		}
	})
}
