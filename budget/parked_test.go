package budget_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/chunkup/chunkup/budget"
)

// A store that never comes back: every attempt fails, whoever makes it.
type deadCase struct {
	retries, floor float64
	uploads        []outageUpload
	operations     int // of each upload
	attempts       int // after which an operation gives up
	seed           uint64
}

type deadRun struct {
	deadCase
	b       *budget.Budget
	shares  []*budget.Share // of the uploads
	largest float64         // price, in parts, at least a request's

	mu     sync.Mutex
	random *rand.Rand
	parked map[*budget.Share]int // retries that are in Begin, or about to be
	err    error                 // the first
}

// Nothing parked waits for ever though nothing ever succeeds. A retry that is the
// k-th in its line, with n uploads, is served when time has earned k·n of the most
// expensive retries and whatever debt there may be: each of the others has had k
// turns at most. First attempts come when those who failed have given up, or say
// nothing for long.
func TestParkedWaitIsBounded(t *testing.T) {
	check(t, 10_000, func(rt *rapid.T) func(*testing.T) error {
		c := deadCase{
			retries:    rapid.SampledFrom([]float64{0.5, 1, 3, 10}).Draw(rt, "retries"),
			floor:      rapid.SampledFrom([]float64{0.5, 0.05, 3}).Draw(rt, "floor"),
			uploads:    rapid.SliceOfN(rapid.Custom(drawUpload), 1, 4).Draw(rt, "uploads"),
			operations: rapid.IntRange(1, 4).Draw(rt, "operations"),
			attempts:   rapid.IntRange(1, 3).Draw(rt, "attempts"),
			seed:       rapid.Uint64().Draw(rt, "seed"),
		}
		return c.run
	})
}

// join makes the budget of the uploads.
func (c deadCase) join() *deadRun {
	r := &deadRun{
		deadCase: c, b: budget.New(budget.Options{Retries: c.retries, Floor: c.floor}),
		random: rand.New(rand.NewPCG(c.seed, 2)), parked: map[*budget.Share]int{},
	}
	var nominal, largest int64
	for _, u := range c.uploads {
		r.shares = append(r.shares, r.b.Join(u.nominal))
		nominal, largest = max(nominal, u.nominal), max(largest, u.largest)
	}
	r.largest = max(1, float64(largest)/float64(nominal))
	return r
}

func (c deadCase) run(t *testing.T) error {
	r := c.join()
	// Every attempt of every operation, one after the other, after the last has come.
	all := len(r.shares) * c.operations * c.attempts
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(all+1)*4*time.Second+r.earn(all))
	defer cancel()
	var wg sync.WaitGroup
	for i, share := range r.shares {
		for range c.operations {
			size := c.uploads[i].largest - r.draw(c.uploads[i].largest/2)
			wg.Go(func() { r.fail(ctx, share, size) })
		}
	}
	wg.Wait()
	return r.err
}

// earn returns how long it takes at most to earn that many of the most expensive
// retries and the largest debt that there can be.
func (r *deadRun) earn(retries int) time.Duration {
	debt := max(0, r.largest-r.retries)
	seconds := (float64(retries)*r.largest + debt) / r.floor
	return time.Duration((seconds + 1e-3) * float64(time.Second)) // each wait is rounded up to a nanosecond
}

func (r *deadRun) draw(n int64) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.random.Int64N(max(n, 1))
}

// fail tries one operation until it gives up.
func (r *deadRun) fail(ctx context.Context, share *budget.Share, size int64) {
	time.Sleep(time.Duration(r.draw(int64(4 * time.Second)))) // most come when others have failed
	o := share.Operation(size)
	defer o.End()
	for i := range r.attempts {
		if err := r.begin(ctx, o, share, i > 0); err != nil {
			r.mu.Lock()
			defer r.mu.Unlock()
			if r.err == nil {
				r.err = fmt.Errorf("attempt %d: %w", i+1, err)
			}
			return
		}
		time.Sleep(time.Duration(r.draw(int64(2 * time.Second))))
		o.Settle(budget.Failure, size-r.draw(2)*r.draw(size))
		time.Sleep(time.Duration(r.draw(int64(2 * time.Second))))
	}
}

// begin is Begin, and an error if a retry waits for longer than its place allows.
func (r *deadRun) begin(ctx context.Context, o *budget.Operation, share *budget.Share, retry bool) error {
	if !retry {
		return o.Begin(ctx)
	}
	r.mu.Lock()
	r.parked[share]++
	place := r.parked[share]
	r.mu.Unlock()
	since := time.Now()
	err := o.Begin(ctx)
	waited := time.Since(since)
	r.mu.Lock()
	r.parked[share]--
	r.mu.Unlock()
	if most := r.earn(place * len(r.uploads)); err == nil && waited > most {
		return fmt.Errorf("number %d in its line of %d uploads waited %v, at most %v", place, len(r.uploads), waited, most)
	}
	return err
}
