package multipart

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// A clock that is set back makes no sleep longer.
func TestSleepWhenTheClockIsSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var off time.Duration
		a := newAwake(func() time.Time { return time.Now().Add(off) }, func() {})
		start := time.Now()
		time.AfterFunc(5*time.Second, func() { off = -time.Hour; a.wake() })
		a.sleep(context.Background(), 15*time.Second)
		if d := time.Since(start); d != 15*time.Second {
			t.Errorf("a sleep of 15 s took %v", d)
		}
	})
}
