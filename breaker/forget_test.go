package breaker_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/chunkup/chunkup/breaker"
)

// The next caller is the probe, and if that fails the cooldowns are short again.
func TestForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Options{Rand: always(1)})
		b.Forget()
		if b.State() != breaker.Closed {
			t.Fatalf("a closed breaker is %v", b.State())
		}
		trip(t, b)
		for range 3 { // 1, 2, 4 s; the next is 8 s
			time.Sleep(refused(t, b).RetryIn)
			allow(t, b, "probe").Report(breaker.Failure)
		}
		start := time.Now()
		granted := make(chan *breaker.Permit)
		go func() {
			p, err := b.Wait(t.Context(), "waiter", 1)
			if err != nil {
				t.Error(err)
			}
			granted <- p
		}()
		synctest.Wait()
		b.Forget()
		p := <-granted
		if !p.Probe() || !time.Now().Equal(start) || b.State() != breaker.HalfOpen {
			t.Fatalf("after %v in state %v the waiter got %+v", time.Since(start), b.State(), p)
		}
		b.Forget() // nothing changes while the probe is out
		refused(t, b)
		p.Report(breaker.Failure)
		if got := refused(t, b).RetryIn; got != 2*s {
			t.Errorf("the next cooldown is %v", got)
		}
	})
}
