package lanes_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/chunkup/chunkup/multipart/lanes"
)

func TestLimitIsKept(t *testing.T) {
	g := lanes.New(3)
	var held, most atomic.Int32
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			if err := g.Acquire(t.Context(), i%2 == 0); err != nil {
				t.Error(err)
				return
			}
			n := held.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			held.Add(-1)
			g.Release()
		})
	}
	wg.Wait()
	if most.Load() > 3 || g.Held() != 0 {
		t.Errorf("%d at once, %d held at the end", most.Load(), g.Held())
	}
}

func TestRetriesGoFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := lanes.New(1)
		g.Acquire(t.Context(), false)
		var order []string
		wait := func(name string, retry bool) {
			go func() {
				if g.Acquire(t.Context(), retry) == nil {
					order = append(order, name)
					g.Release()
				}
			}()
			synctest.Wait()
		}
		wait("first 1", false)
		wait("first 2", false)
		wait("retry 1", true)
		wait("retry 2", true)
		g.Release()
		synctest.Wait()
		if want := []string{"retry 1", "retry 2", "first 1", "first 2"}; !slices.Equal(order, want) {
			t.Errorf("order %v, want %v", order, want)
		}
	})
}

func TestLowerLimitLetsNobodyIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := lanes.New(4)
		for range 4 {
			g.Acquire(t.Context(), false)
		}
		g.SetLimit(2)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		g.Release()
		g.Release()
		if err := g.Acquire(ctx, true); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a third of two lanes: %v", err)
		}
		g.SetLimit(0) // is 1
		g.Release()
		g.Release()
		if err := g.Acquire(t.Context(), true); err != nil || g.Limit() != 1 {
			t.Errorf("limit %d: %v", g.Limit(), err)
		}
	})
}

func TestHigherLimitLetsMoreIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := lanes.New(1)
		g.Acquire(t.Context(), false)
		in := false
		go func() { in = g.Acquire(t.Context(), false) == nil }()
		synctest.Wait()
		if in {
			t.Fatal("two in one lane")
		}
		g.SetLimit(2)
		synctest.Wait()
		if !in {
			t.Error("nobody was let in")
		}
	})
}

func TestReleaseWithoutAcquire(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	lanes.New(1).Release()
}

// Whatever is cancelled when, no lane is lost and none is given twice.
func TestCancelLosesNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		waits := rapid.SliceOfN(rapid.IntRange(0, 5), 1, 20).Draw(rt, "patience in ms")
		limit := rapid.IntRange(1, 3).Draw(rt, "limit")
		synctest.Test(t, func(t *testing.T) {
			g := lanes.New(limit)
			var wg sync.WaitGroup
			for i, ms := range waits {
				wg.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(ms)*time.Millisecond)
					defer cancel()
					if g.Acquire(ctx, i%3 == 0) == nil {
						time.Sleep(2 * time.Millisecond)
						g.Release()
					}
				})
			}
			wg.Wait()
			for range limit {
				if err := g.Acquire(t.Context(), false); err != nil {
					t.Error(err)
				}
			}
			if g.Held() != limit {
				t.Errorf("%d held, want %d", g.Held(), limit)
			}
		})
	})
}
