package budget

// Disarm stops the timer and tells whether it was set.
func (b *Budget) Disarm() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.timer != nil && b.timer.Stop()
}
