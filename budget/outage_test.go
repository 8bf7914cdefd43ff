package budget_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/chunkup/chunkup/budget"
)

// Uploaders under an outage: lanes that take one part after the other, each with
// backoff and a limit of attempts, against a store that fails for a while.
type outageCase struct {
	retries, floor float64
	uploads        []outageUpload
	lanes, parts   int           // of all uploads together
	attempts       int           // after which a part gives up
	hang           int64         // of so many attempts one lasts for up to two minutes; 0: none
	begins, ends   time.Duration // of the outage
	seed           uint64
}

// An outageUpload has parts of half its largest size to all of it, which may be more
// or less than what it says that they have as a rule.
type outageUpload struct{ nominal, largest int64 }

type outageRun struct {
	outageCase
	b      *budget.Budget
	shares []*budget.Share
	start  time.Time

	mu       sync.Mutex
	random   *rand.Rand
	left     int
	requests int   // begun in the outage
	bytes    int64 // sent by these
}

func drawUpload(t *rapid.T) outageUpload {
	nominal := drawSizes().Draw(t, "nominal part")
	return outageUpload{nominal, rapid.OneOf(rapid.Just(nominal), drawSizes()).Draw(t, "largest part")}
}

// A dead store gets no more than what was in flight, the capacity and what time
// earns, in requests and in bytes, whatever the sizes, of however many uploads,
// whoever gives up and makes room for fresh parts, and whatever hangs until others
// go; and when it is back everything ends.
func TestOutage(t *testing.T) {
	check(t, 10_000, func(rt *rapid.T) func(*testing.T) error {
		begins := time.Duration(rapid.Int64Range(1, int64(20*time.Second)).Draw(rt, "outage begins"))
		c := outageCase{
			retries:  float64(rapid.IntRange(1, 20).Draw(rt, "retries")),
			floor:    rapid.SampledFrom([]float64{0.5, 0.1, 0.02, 2}).Draw(rt, "floor"),
			uploads:  rapid.SliceOfN(rapid.Custom(drawUpload), 1, 4).Draw(rt, "uploads"),
			lanes:    rapid.IntRange(1, 16).Draw(rt, "lanes"),
			parts:    rapid.IntRange(1, 60).Draw(rt, "parts"),
			attempts: rapid.IntRange(1, 8).Draw(rt, "attempts"),
			hang:     rapid.SampledFrom([]int64{0, 1, 2, 10}).Draw(rt, "one in so many hangs"),
			begins:   begins,
			ends:     begins + time.Duration(rapid.Int64Range(0, int64(2*time.Minute)).Draw(rt, "outage")),
			seed:     rapid.Uint64().Draw(rt, "seed"),
		}
		return c.run
	})
}

func (c outageCase) run(t *testing.T) error {
	b := budget.New(budget.Options{Retries: c.retries, Floor: c.floor})
	r := &outageRun{
		outageCase: c, b: b, start: time.Now(),
		random: rand.New(rand.NewPCG(c.seed, 1)), left: c.parts,
	}
	var nominal, largest int64
	for _, u := range c.uploads {
		r.shares = append(r.shares, b.Join(u.nominal))
		nominal, largest = max(nominal, u.nominal), max(largest, u.largest)
	}
	var wg sync.WaitGroup
	for i := range c.lanes {
		wg.Go(func() { r.lane(t, i%len(c.uploads)) })
	}
	wg.Wait()
	if l := b.Level(); l.Parked != 0 {
		return fmt.Errorf("level %+v after the end", l)
	}
	earned := c.floor * (c.ends - c.begins).Seconds()
	if most := c.retries + earned; float64(r.requests) > most+tolerance {
		return fmt.Errorf("%d requests begun in the outage, at most %v", r.requests, most)
	}
	capacity := max(c.retries*float64(nominal), float64(largest))
	if most := capacity + earned*float64(nominal); float64(r.bytes) > most*(1+tolerance) {
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

func (r *outageRun) lane(t *testing.T, upload int) {
	largest := r.uploads[upload].largest
	for {
		r.mu.Lock()
		r.left--
		more := r.left >= 0
		r.mu.Unlock()
		if !more {
			return
		}
		r.part(t, r.shares[upload], largest-r.draw(largest/2))
	}
}

// part tries one part until it succeeds or gives up.
func (r *outageRun) part(t *testing.T, share *budget.Share, size int64) {
	o := share.Operation(size)
	defer o.End()
	for range r.attempts {
		if err := o.Begin(t.Context()); err != nil {
			t.Error(err)
			return
		}
		inOutage := r.dead()
		time.Sleep(r.lasts())
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

// lasts returns how long an attempt lasts.
func (r *outageRun) lasts() time.Duration {
	most := 3 * time.Second
	if r.hang > 0 && r.draw(r.hang) == 0 {
		most = 2 * time.Minute
	}
	return time.Duration(r.draw(int64(most)))
}

// dead tells whether the store fails whatever ends now.
func (r *outageRun) dead() bool {
	since := time.Since(r.start)
	return since >= r.begins && since < r.ends
}
