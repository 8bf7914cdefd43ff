package budget

// Current reports whether the attempt begun may still start. It may not if it
// began free and the endpoint has come into doubt since, while the caller waited
// for something else: settle it as [Void] and begin again.
func (o *Operation) Current() bool {
	b := o.share.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	o.must(begun, "Current")
	return o.failed || o.charge.requests > 0 || !b.doubt
}
