package breaker_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chunkup/chunkup/breaker"
)

// storm is many goroutines at one breaker.
type storm struct {
	t              *testing.T
	b              *breaker.Breaker
	inside         atomic.Int64 // calls of OnChange
	probes, probed atomic.Int64 // out now, in all
	last           breaker.State
	changes        int
}

func (st *storm) onChange(from, to breaker.State) {
	if st.inside.Add(1) != 1 {
		st.t.Error("two calls of OnChange at a time")
	}
	if from != st.last || from == to {
		st.t.Errorf("%v>%v after a change to %v", from, to, st.last)
	}
	st.last = to
	st.changes++
	st.b.State()
	st.inside.Add(-1)
}

func (st *storm) attempt(p *breaker.Permit, err error, r *rand.Rand) {
	if err != nil {
		return
	}
	if p.Probe() {
		st.probed.Add(1)
		if st.probes.Add(1) != 1 {
			st.t.Error("two probes are out")
		}
	}
	if r.IntN(2) == 0 {
		time.Sleep(time.Duration(r.IntN(3)) * ms)
	}
	if !p.Current() && p.Probe() {
		st.t.Error("the breaker has changed state under its probe")
	}
	if p.Probe() {
		st.probes.Add(-1)
	}
	p.Report(breaker.Outcome(r.IntN(3)))
}

func (st *storm) run(g int) {
	r := rand.New(rand.NewPCG(1, uint64(g)))
	for i := range 300 {
		op := fmt.Sprint(g, "/", i)
		if r.IntN(2) == 0 {
			p, err := st.b.Allow(op)
			st.attempt(p, err, r)
			continue
		}
		ctx, cancel := context.WithTimeout(st.t.Context(), time.Duration(r.IntN(5))*ms)
		p, err := st.b.Wait(ctx, op, r.Int64N(4))
		st.attempt(p, err, r)
		cancel()
	}
}

// TestStorm: whatever the order in which many goroutines come, at most one
// probe is out, OnChange is told one change at a time and each begins where the
// one before ended, and in the end nothing is stuck.
func TestStorm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &storm{t: t}
		b := breaker.New(breaker.Options{Failures: 2, Quiet: -1, Cooldown: ms, MaxCooldown: 4 * ms, OnChange: st.onChange})
		st.b = b
		var wg sync.WaitGroup
		for g := range 16 {
			wg.Go(func() { st.run(g) })
		}
		wg.Wait()
		synctest.Wait()
		if st.last != b.State() {
			t.Errorf("the last change told is to %v, the breaker is %v", st.last, b.State())
		}
		if st.probed.Load() < 100 || st.changes < 200 {
			t.Errorf("%d probes, %d changes: too quiet to show anything", st.probed.Load(), st.changes)
		}
		p, err := b.Wait(t.Context(), "last", 1)
		if err != nil {
			t.Fatal(err)
		}
		p.Report(breaker.Success)
		if b.State() != breaker.Closed {
			t.Errorf("State() = %v after the last success", b.State())
		}
	})
}
