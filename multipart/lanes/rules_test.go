package lanes_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/chunkup/chunkup/multipart/lanes"
)

// Somebody who waits is cancelled, and before he has noticed is granted a lane:
// it goes to the next.
func TestLaneOfSomebodyWhoLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := lanes.New(lanes.Options{Start: 1, Max: 1})
		for range 1000 {
			l := mustAcquire(t, g)
			ctx, cancel := context.WithCancel(t.Context())
			served := false
			ask := func(ctx context.Context) {
				if l, err := g.Acquire(ctx, false); err == nil {
					served = true
					l.Release(lanes.Ignored)
				}
			}
			go ask(ctx)
			synctest.Wait()
			go ask(t.Context())
			synctest.Wait()
			cancel()
			l.Release(lanes.Ignored)
			synctest.Wait()
			if g.Held() != 0 || !served {
				t.Fatalf("%d held by nobody, the next was served: %t", g.Held(), served)
			}
		}
	})
}
