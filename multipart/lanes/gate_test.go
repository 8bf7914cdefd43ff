package lanes_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/chunkup/chunkup/multipart/lanes"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func mustAcquire(t *testing.T, g *lanes.Gate) *lanes.Lane {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	l, err := g.Acquire(ctx, false)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestOptions(t *testing.T) {
	for _, c := range []struct{ start, max, wantLimit, wantMax int }{
		{0, 0, 8, 64},
		{-1, -1, 8, 64},
		{0, 4, 4, 4},
		{16, 4, 4, 4},
		{3, 0, 3, 64},
		{100, 100, 100, 100},
	} {
		g := lanes.New(lanes.Options{Start: c.start, Max: c.max})
		if g.Limit() != c.wantLimit || g.Max() != c.wantMax || g.Held() != 0 {
			t.Errorf("start %d, max %d: limit %d of %d, %d held, want %d of %d", c.start, c.max, g.Limit(), g.Max(), g.Held(), c.wantLimit, c.wantMax)
		}
	}
}

func TestRetriesGoFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := lanes.New(lanes.Options{Start: 1, Max: 1})
		l := mustAcquire(t, g)
		var order []string
		wait := func(name string, retry bool) {
			go func() {
				if l, err := g.Acquire(t.Context(), retry); err == nil {
					order = append(order, name)
					l.Release(lanes.Success)
				}
			}()
			synctest.Wait()
		}
		wait("first 1", false)
		wait("first 2", false)
		wait("retry 1", true)
		wait("retry 2", true)
		l.Release(lanes.Success)
		synctest.Wait()
		if want := []string{"retry 1", "retry 2", "first 1", "first 2"}; !slices.Equal(order, want) {
			t.Errorf("order %v, want %v", order, want)
		}
	})
}

func TestLowerLimitLetsNobodyIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := lanes.New(lanes.Options{Start: 4})
		held := []*lanes.Lane{mustAcquire(t, g), mustAcquire(t, g), mustAcquire(t, g), mustAcquire(t, g)}
		held[0].Release(lanes.Overload)
		if g.Limit() != 2 || g.Held() != 3 {
			t.Fatalf("%d of %d held, want 3 of 2", g.Held(), g.Limit())
		}
		held[1].Release(lanes.Ignored)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := g.Acquire(ctx, true); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a third of two lanes: %v", err)
		}
		held[2].Release(lanes.Ignored)
		mustAcquire(t, g)
	})
}

func TestDeadContextTakesNothing(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	cancel(gone)
	g := lanes.New(lanes.Options{})
	if _, err := g.Acquire(ctx, false); !errors.Is(err, gone) || g.Held() != 0 {
		t.Errorf("%v, %d held", err, g.Held())
	}
}

func TestReleasedTwice(t *testing.T) {
	g := lanes.New(lanes.Options{})
	l, other := mustAcquire(t, g), mustAcquire(t, g)
	l.Release(lanes.Success)
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
		other.Release(lanes.Success) // the mutex is free
		if g.Held() != 0 {
			t.Errorf("%d held", g.Held())
		}
	}()
	l.Release(lanes.Success)
}

// A grant and a cancel in the same instant: whoever wins, the lane is not lost.
func TestCancelLosesNothing(t *testing.T) {
	g := lanes.New(lanes.Options{Start: 1, Max: 1})
	for range 2000 {
		l := mustAcquire(t, g)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if l, err := g.Acquire(ctx, false); err == nil {
				l.Release(lanes.Ignored)
			}
		})
		wg.Go(cancel)
		l.Release(lanes.Ignored)
		wg.Wait()
		if g.Held() != 0 {
			t.Fatalf("%d held", g.Held())
		}
	}
}

// Everything at once, for the race detector; and there are never more in than
// Max, and nobody is in at the end.
func TestConcurrent(t *testing.T) {
	g := lanes.New(lanes.Options{Max: 16})
	var in, most atomic.Int64
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(i)))
			for range 300 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(r.IntN(1000))*time.Microsecond)
				l, err := g.Acquire(ctx, r.IntN(2) == 0)
				cancel()
				if err != nil {
					continue
				}
				n := in.Add(1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				g.Moved(1 << 22)
				if g.Limit() < 1 || g.Limit() > g.Max() {
					t.Errorf("limit %d", g.Limit())
				}
				if r.IntN(50) == 0 {
					g.SlowStart()
				}
				in.Add(-1)
				l.Release(lanes.Outcome(r.IntN(3)))
			}
		})
	}
	wg.Wait()
	if most.Load() > 16 || g.Held() != 0 {
		t.Errorf("%d at once, %d held at the end", most.Load(), g.Held())
	}
	for range g.Limit() {
		mustAcquire(t, g)
	}
}

func BenchmarkAcquireRelease(b *testing.B) {
	g := lanes.New(lanes.Options{})
	var wg sync.WaitGroup
	var n atomic.Int64
	b.ReportAllocs()
	b.ResetTimer()
	for range 64 {
		wg.Go(func() {
			for n.Add(1) <= int64(b.N) {
				l, err := g.Acquire(context.Background(), false)
				if err != nil {
					b.Error(err)
					return
				}
				l.Release(lanes.Success)
			}
		})
	}
	wg.Wait()
}

func BenchmarkMoved(b *testing.B) {
	g := lanes.New(lanes.Options{})
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			g.Moved(1400)
		}
	})
}
