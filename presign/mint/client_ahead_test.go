package mint

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chunkup/chunkup/presign"
)

// A request that was made ahead is used once, by who wants exactly that.
func TestClientAnticipate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeService{about: fakeAbout, answer: slowly(time.Second, signsAll(t, time.Hour))}
		c := dialFake(t, s)
		for n := 1; n <= 4; n++ {
			c.Anticipate(partNumbered(n))
		}
		if got := len(s.since()); got > 1 {
			t.Errorf("%d calls before anything waited", got)
		}
		time.Sleep(5 * time.Second)
		if got := len(s.since()); got != 2 {
			t.Errorf("%d calls for four parts", got)
		}
		start := time.Now()
		r, err := c.Presign(t.Context(), partNumbered(3))
		if err != nil || !isFor(r, partNumbered(3)) || time.Since(start) != 0 || len(s.since()) != 2 {
			t.Errorf("%v, %v after %v and %d calls", r, err, time.Since(start), len(s.since()))
		}
		if _, err := c.Presign(t.Context(), partNumbered(3)); err != nil || len(s.since()) != 3 {
			t.Errorf("the second time: %v after %d calls", err, len(s.since()))
		}
		other := partNumbered(4)
		other.Checksum = "of other bytes"
		if r, err := c.Presign(t.Context(), other); err != nil || r.Header.Get(other.ChecksumHeader) != other.Checksum || len(s.since()) != 4 {
			t.Errorf("other bytes: %v, %v after %d calls", r, err, len(s.since()))
		}
	})
}

// Who comes while a request is made ahead gets that one, and nothing is kept.
func TestClientAnticipateJoin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeService{about: fakeAbout, answer: slowly(time.Second, signsAll(t, time.Hour))}
		c := dialFake(t, s)
		c.Anticipate(somePart)
		time.Sleep(time.Second / 2)
		start := time.Now()
		if _, err := c.Presign(t.Context(), somePart); err != nil || time.Since(start) != time.Second/2 {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		if _, err := c.Presign(t.Context(), somePart); err != nil || len(s.since()) != 2 {
			t.Errorf("%v after %d calls", err, len(s.since()))
		}
		// One that gives up leaves it for later.
		p := partNumbered(9)
		c.Anticipate(p)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		c.Presign(ctx, p)
		time.Sleep(time.Minute)
		if _, err := c.Presign(t.Context(), p); err != nil || len(s.since()) != 3 {
			t.Errorf("%v after %d calls", err, len(s.since()))
		}
	})
}

// A request that was made ahead must have two seconds left to get to the store, or a
// tenth of its life: R03, https://github.com/dandi/dandi-archive/issues/184.
func TestClientAnticipateMargin(t *testing.T) {
	for _, tt := range []struct {
		life, after time.Duration
		calls       int
	}{
		{100 * time.Second, 97 * time.Second, 1},
		{100 * time.Second, 99 * time.Second, 2},
		{3 * time.Second, 2600 * time.Millisecond, 1}, // the first, whose life nobody knew
		{3 * time.Second, 2800 * time.Millisecond, 2},
		{0, 1000 * time.Hour, 1}, // for ever
	} {
		synctest.Test(t, func(t *testing.T) {
			signs := signsAll(t, tt.life)
			s := &fakeService{about: fakeAbout, answer: func(c fakeCall) (*http.Response, error) {
				if tt.life == 0 {
					return reply(200, `{"url":"https://store/x"}`), nil
				}
				return signs(c)
			}}
			c := dialFake(t, s)
			c.Anticipate(somePart)
			time.Sleep(tt.after)
			r, err := c.Presign(t.Context(), somePart)
			if err != nil || len(s.since()) != tt.calls || r.NotAfter.IsZero() != (tt.life == 0) {
				t.Errorf("life %v, after %v: %v, %v after %d calls, want %d", tt.life, tt.after, r, err, len(s.since()), tt.calls)
			}
		})
	}
}

// Where requests live for moments, none is made ahead once that is known.
func TestClientAnticipateShortLife(t *testing.T) {
	for life, calls := range map[time.Duration]int{29 * time.Second: 1, 31 * time.Second: 2} {
		synctest.Test(t, func(t *testing.T) {
			s := &fakeService{about: fakeAbout, answer: signsAll(t, life)}
			c := dialFake(t, s)
			if _, err := c.Presign(t.Context(), partNumbered(1)); err != nil {
				t.Error(err)
			}
			c.Anticipate(partNumbered(2))
			synctest.Wait()
			if got := len(s.since()); got != calls {
				t.Errorf("life %v: %d calls, want %d", life, got, calls)
			}
		})
	}
}

// Renew forgets what was made ahead, and what is being made.
func TestClientRenew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeService{about: fakeAbout, answer: slowly(time.Second, signsAll(t, time.Hour))}
		c := dialFake(t, s)
		c.Anticipate(partNumbered(1))
		time.Sleep(2 * time.Second)
		c.Anticipate(partNumbered(2))
		waits := make(chan error)
		go func() {
			_, err := c.Presign(t.Context(), partNumbered(3))
			waits <- err
		}()
		synctest.Wait()
		if err := c.Renew(t.Context()); err != nil {
			t.Error(err)
		}
		if err := <-waits; err != nil {
			t.Errorf("who waited: %v", err)
		}
		time.Sleep(5 * time.Second)
		before := len(s.since())
		for n := 1; n <= 2; n++ {
			start := time.Now()
			if _, err := c.Presign(t.Context(), partNumbered(n)); err != nil || time.Since(start) != time.Second {
				t.Errorf("part %d: %v after %v", n, err, time.Since(start))
			}
		}
		if got := len(s.since()) - before; got != 2 {
			t.Errorf("%d calls after Renew", got)
		}
	})
}

// One that asks after Renew does not get what was asked for before it.
func TestClientRenewNotJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeService{about: fakeAbout, answer: slowly(time.Second, signsAll(t, time.Hour))}
		c := dialFake(t, s)
		got := make(chan presign.Request, 2)
		ask := func() {
			r, err := c.Presign(t.Context(), somePart)
			if err != nil {
				t.Error(err)
			}
			got <- r
		}
		go ask()
		synctest.Wait()
		c.Renew(t.Context())
		go ask()
		first, second := <-got, <-got
		if len(s.since()) != 2 || !second.NotAfter.After(first.NotAfter) {
			t.Errorf("%d calls: %v, %v", len(s.since()), first, second)
		}
	})
}
