package multipart_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chunkup/chunkup/breaker"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/storetest"
)

// An open breaker refuses a new upload at once, whatever an earlier run has left.
func TestOpenBreakerRefusesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t)
		k.interrupt(t)
		k.Script(storetest.Fault{Times: -1, Status: 500, Code: "InternalError"})
		time.Sleep(time.Minute)
		plain := k.options
		plain.Journal = nil
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				u, _ := multipart.New(k.Mem, k.Mem, &plain)
				u.Upload(t.Context(), multipart.Object{Bucket: "bucket", Key: fmt.Sprint(i)}, k.source(64*kib))
			})
		}
		wg.Wait()
		if k.endpoint.Breaker() != breaker.Open {
			t.Fatal(k.endpoint.Breaker())
		}
		for _, stale := range []bool{false, true} {
			if stale {
				k.options.PartSize *= 2
			}
			start := time.Now()
			_, err := k.run(t, object)
			_, open := errors.AsType[*breaker.OpenError](err)
			if d := time.Since(start); d > time.Second || !open {
				t.Errorf("stale %v: refused after %v: %v", stale, d, err)
			}
		}
	})
}
