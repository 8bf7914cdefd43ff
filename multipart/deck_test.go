package multipart_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chunkup/chunkup/multipart/storetest"
	"github.com/chunkup/chunkup/multipart/wire"
)

// A part is begun when it is about to be sent: of a file of a thousand parts those
// on the eight lanes there are at first, and half as many behind them.
func TestPartsAreBegunLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		l.Script(storetest.Fault{Op: wire.PutPart, Times: -1, Stall: true})
		ctx, cancel := context.WithCancel(t.Context())
		before, most := runtime.NumGoroutine(), 0
		time.AfterFunc(time.Second, func() {
			most = runtime.NumGoroutine() - before
			cancel()
		})
		if _, err := l.upload(ctx, randomBytes(1000*64*kib)); err == nil {
			t.Fatal("it went through")
		}
		if most < 8 || most > 80 {
			t.Errorf("%d goroutines are at it", most)
		}
	})
}
