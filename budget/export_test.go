package budget

import "time"

// Disarm stops the timer and tells whether it was set.
func (b *Budget) Disarm() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.timer != nil && b.timer.Stop()
}

// Refill has the budget believe that it is now, and returns what is left of each
// counter, in retries and in nominal parts.
func (b *Budget) Refill(now time.Time) (requests, parts float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refill(now)
	return b.level.requests, b.level.parts
}

// At returns up to when time has been earned.
func (b *Budget) At() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.at
}
