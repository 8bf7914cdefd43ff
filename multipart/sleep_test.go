package multipart

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A clock that is set back makes no sleep longer.
func TestSleepWhenTheClockIsSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var off atomic.Int64
		a := newAwake(func() time.Time { return time.Now().Add(time.Duration(off.Load())) }, func() {})
		start := time.Now()
		time.AfterFunc(5*time.Second, func() { off.Store(int64(-time.Hour)); a.wake() })
		a.sleep(context.Background(), 15*time.Second)
		if d := time.Since(start); d != 15*time.Second {
			t.Errorf("a sleep of 15 s took %v", d)
		}
	})
}
