package mint

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

func TestClientClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeService{about: fakeAbout, answer: slowly(time.Second, signsAll(t, time.Hour))}
		c := dialFake(t, s)
		var wg sync.WaitGroup
		for n := range 3 {
			wg.Go(func() {
				if _, err := c.Presign(t.Context(), partNumbered(n+1)); !errors.Is(err, errClosed) {
					t.Errorf("part %d: %v", n+1, err)
				}
			})
		}
		synctest.Wait()
		start := time.Now()
		c.Close()
		c.Close()
		wg.Wait()
		if took := time.Since(start); took != 0 {
			t.Errorf("ended after %v", took)
		}
		if _, err := c.Presign(t.Context(), somePart); !errors.Is(err, errClosed) {
			t.Errorf("afterwards: %v", err)
		}
		c.Anticipate(somePart)
	})
}

// Whatever callers do, each that waits gets its own request, an error of the service's
// or the end of its context, and nothing is left behind.
func TestClientDesk(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		type step struct{ part, wait, patience, kind int }
		steps := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
			return step{rapid.IntRange(1, 4).Draw(t, "part"), rapid.IntRange(0, 200).Draw(t, "wait"),
				rapid.IntRange(1, 1500).Draw(t, "patience"), rapid.IntRange(0, 5).Draw(t, "kind")}
		}), 1, 30).Draw(rt, "steps")
		var bad error
		synctest.Test(t, func(t *testing.T) {
			s := &fakeService{about: fakeAbout, answer: slowly(300*time.Millisecond, signsAll(t, time.Hour))}
			c := dialFake(t, s)
			var wg sync.WaitGroup
			var mu sync.Mutex
			for _, x := range steps {
				time.Sleep(time.Duration(x.wait) * time.Millisecond)
				p := partNumbered(x.part)
				switch x.kind {
				case 0:
					c.Anticipate(p)
					continue
				case 1:
					c.Renew(t.Context())
					continue
				}
				wg.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(x.patience)*time.Millisecond)
					defer cancel()
					r, err := c.Presign(ctx, p)
					if err == nil && !isFor(r, p) || err != nil && !errors.Is(err, context.DeadlineExceeded) {
						mu.Lock()
						bad = fmt.Errorf("part %d: %v, %w", p.Number, r, err)
						mu.Unlock()
					}
				})
			}
			wg.Wait()
			time.Sleep(time.Minute)
			synctest.Wait()
			c.desk.mu.Lock()
			defer c.desk.mu.Unlock()
			if d := c.desk; len(d.open)+len(d.queues)+len(d.flights) != 0 {
				bad = fmt.Errorf("left behind: %d wants, %d queues, %d flights", len(d.open), len(d.queues), len(d.flights))
			}
		})
		if bad != nil {
			rt.Fatal(bad)
		}
	})
}
