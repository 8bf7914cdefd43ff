package presign_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chunkup/chunkup/presign"
)

func TestClock(t *testing.T) {
	wall := time.Date(2026, 1, 1, 12, 0, 0, 300e6, time.UTC)
	c := presign.Clock{Wall: func() time.Time { return wall }}
	exact := func(step string, want time.Duration) {
		t.Helper()
		if got := c.Now().Sub(wall); got != want {
			t.Errorf("%s: %v ahead of this machine, want %v", step, got, want)
		}
	}
	exact("nothing learned", 0)
	for _, small := range []time.Duration{-time.Second / 2, 0, time.Second / 2} {
		c.Learn(wall.Add(small).Truncate(time.Second))
		exact("hearsay", 0)
	}
	store := wall.Add(20 * time.Minute)
	c.Learn(store.Truncate(time.Second))
	exact("20 minutes behind", 20*time.Minute+200*time.Millisecond) // the middle of the store's second
	wall, store = wall.Add(100*time.Millisecond), store.Add(900*time.Millisecond)
	c.Learn(store.Truncate(time.Second))
	exact("the same again", 20*time.Minute+200*time.Millisecond)

	wall = wall.Add(time.Hour) // somebody sets this machine's clock
	c.Learn(store.Truncate(time.Second))
	exact("after a jump", -40*time.Minute+100*time.Millisecond+time.Second)
	wall = store
	c.Learn(store.Truncate(time.Second))
	exact("set right", 0)
	c.Learn(wall.Add(-2 * time.Second).Truncate(time.Second))
	if got := wall.Sub(c.Now()); got < time.Second || got > 3*time.Second {
		t.Errorf("two seconds ahead: %v", got)
	}
}

// The zero value is this machine's clock, and what it says can be compared with
// what has no monotonic reading.
func TestZeroClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c presign.Clock
		if now := c.Now(); now != time.Now().Round(0) {
			t.Errorf("%v, want %v", now, time.Now())
		}
	})
}

func TestClockIsShared(t *testing.T) {
	var c presign.Clock
	var g sync.WaitGroup
	store := time.Now().Add(-time.Hour)
	for range 8 {
		g.Go(func() {
			for range 100 {
				c.Learn(store)
				c.Now()
			}
		})
	}
	g.Wait()
	if off := time.Until(c.Now()); off > -59*time.Minute || off < -61*time.Minute {
		t.Errorf("offset %v", off)
	}
}
