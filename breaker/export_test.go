package breaker

// StopTimer stops the timer and tells whether it was running.
func (b *Breaker) StopTimer() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.timer != nil && b.timer.Stop()
}
