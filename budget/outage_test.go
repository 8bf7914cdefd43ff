package budget_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/chunkup/chunkup/budget"
)

// An uploader under an outage: lanes that take one part after the other, each with
// backoff and a limit of attempts, against a store that fails for a while.
type outageCase struct {
	retries, floor float64
	lanes, parts   int
	attempts       int   // after which a part gives up
	nominal        int64 // bytes
	largest        int64
	begins, ends   time.Duration // of the outage
	seed           uint64
}

type outageRun struct {
	outageCase
	b     *budget.Budget
	share *budget.Share
	start time.Time

	mu       sync.Mutex
	random   *rand.Rand
	left     int
	requests int   // begun in the outage
	bytes    int64 // sent by these
}

// A dead store gets no more than what was in flight, the capacity and what time
// earns, in requests and in bytes, whatever the sizes and whoever gives up; and
// when it is back everything ends.
func TestOutage(t *testing.T) {
	cases(t, 2000)
	rapid.Check(t, func(rt *rapid.T) {
		nominal := drawSizes().Draw(rt, "nominal part")
		begins := time.Duration(rapid.Int64Range(1, int64(time.Minute)).Draw(rt, "outage begins"))
		c := outageCase{
			retries:  float64(rapid.IntRange(1, 32).Draw(rt, "retries")),
			floor:    rapid.SampledFrom([]float64{0.1, 0.5, 2}).Draw(rt, "floor"),
			lanes:    rapid.IntRange(1, 32).Draw(rt, "lanes"),
			parts:    rapid.IntRange(1, 300).Draw(rt, "parts"),
			attempts: rapid.IntRange(1, 8).Draw(rt, "attempts"),
			nominal:  nominal,
			largest:  rapid.OneOf(rapid.Just(nominal), drawSizes()).Draw(rt, "largest part"),
			begins:   begins,
			ends:     begins + time.Duration(rapid.Int64Range(0, int64(5*time.Minute)).Draw(rt, "outage")),
			seed:     rapid.Uint64().Draw(rt, "seed"),
		}
		var err error
		synctest.Test(t, func(t *testing.T) { err = c.run(t) })
		if err != nil {
			rt.Fatal(err)
		}
	})
}

func (c outageCase) run(t *testing.T) error {
	b := budget.New(budget.Options{Retries: c.retries, Floor: c.floor})
	r := &outageRun{
		outageCase: c, b: b, share: b.Join(c.nominal), start: time.Now(),
		random: rand.New(rand.NewPCG(c.seed, 1)), left: c.parts,
	}
	var wg sync.WaitGroup
	for range c.lanes {
		wg.Go(func() { r.lane(t) })
	}
	wg.Wait()
	if l := b.Level(); l.Parked != 0 {
		return fmt.Errorf("level %+v after the end", l)
	}
	earned := c.floor * (c.ends - c.begins).Seconds()
	if most := c.retries + earned; float64(r.requests) > most+tolerance {
		return fmt.Errorf("%d requests begun in the outage, at most %v", r.requests, most)
	}
	capacity := max(c.retries*float64(c.nominal), float64(c.largest))
	if most := capacity + earned*float64(c.nominal); float64(r.bytes) > most*(1+tolerance) {
		return fmt.Errorf("%d bytes sent in the outage, at most %v", r.bytes, most)
	}
	return nil
}

// draw returns a random number in [0, n), at least 0.
func (r *outageRun) draw(n int64) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.random.Int64N(max(n, 1))
}

func (r *outageRun) lane(t *testing.T) {
	for {
		r.mu.Lock()
		r.left--
		more := r.left >= 0
		r.mu.Unlock()
		if !more {
			return
		}
		r.part(t, r.largest-r.draw(r.largest/2))
	}
}

// part tries one part until it succeeds or gives up.
func (r *outageRun) part(t *testing.T, size int64) {
	o := r.share.Operation(size)
	defer o.End()
	for range r.attempts {
		if err := o.Begin(t.Context()); err != nil {
			t.Error(err)
			return
		}
		inOutage := r.dead()
		time.Sleep(time.Duration(r.draw(int64(3 * time.Second))))
		if !r.dead() {
			o.Settle(budget.Success, size)
			return
		}
		sent := size - r.draw(2)*r.draw(size)
		if inOutage {
			r.mu.Lock()
			r.requests++
			r.bytes += sent
			r.mu.Unlock()
		}
		o.Settle(budget.Failure, sent)
		time.Sleep(time.Duration(r.draw(int64(2 * time.Second))))
	}
}

// dead tells whether the store fails whatever ends now.
func (r *outageRun) dead() bool {
	since := time.Since(r.start)
	return since >= r.begins && since < r.ends
}
