// Package lanes holds the gate that bounds how many parts of a process are on
// their way to one endpoint at once.
//
// A [Gate] is a semaphore whose limit can change while it is in use and in
// which retries go before first attempts: a part that has failed once is worth
// more than one that has not begun. It knows nothing about why the limit is
// what it is.
package lanes

import (
	"context"
	"slices"
	"sync"
)

// Gate admits up to a limit of holders. It is safe for concurrent use; the
// zero value admits nobody, see [New].
type Gate struct {
	mu      sync.Mutex
	limit   int
	held    int
	retries []*waiter
	firsts  []*waiter
}

type waiter struct{ granted chan struct{} }

// New returns a gate for limit lanes; less than 1 is 1.
func New(limit int) *Gate {
	return &Gate{limit: max(limit, 1)}
}

// Acquire takes a lane, waiting for one if need be, or returns
// context.Cause(ctx) with nothing taken. A retry is served before any first
// attempt, and each kind in the order of its coming.
func (g *Gate) Acquire(ctx context.Context, retry bool) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	queue := &g.firsts
	if retry {
		queue = &g.retries
	}
	w := &waiter{granted: make(chan struct{})}
	g.mu.Lock()
	*queue = append(*queue, w)
	g.serveLocked()
	g.mu.Unlock()

	select {
	case <-w.granted:
		return nil
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(*queue, w); i >= 0 {
		*queue = slices.Delete(*queue, i, i+1)
	} else { // granted in the same instant
		g.held--
		g.serveLocked()
	}
	return context.Cause(ctx)
}

// Release gives a lane back. It panics if none is held.
func (g *Gate) Release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.held == 0 {
		panic("lanes: released more than held")
	}
	g.held--
	g.serveLocked()
}

// SetLimit changes the number of lanes; less than 1 is 1. A lower limit takes
// nothing from those who hold a lane, it only lets nobody in until they leave.
func (g *Gate) SetLimit(limit int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.limit = max(limit, 1)
	g.serveLocked()
}

// Limit is the number of lanes.
func (g *Gate) Limit() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.limit
}

// Held is how many lanes are taken.
func (g *Gate) Held() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.held
}

func (g *Gate) serveLocked() {
	for g.held < g.limit {
		queue := &g.retries
		if len(*queue) == 0 {
			queue = &g.firsts
		}
		if len(*queue) == 0 {
			return
		}
		close((*queue)[0].granted)
		*queue = slices.Delete(*queue, 0, 1)
		g.held++
	}
}
