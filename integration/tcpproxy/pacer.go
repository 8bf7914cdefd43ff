package tcpproxy

import (
	"sync"
	"time"
)

// pacer spreads bytes over time, first come first served. A nil pacer lets
// everything pass. It is safe for concurrent use.
type pacer struct {
	rate int // bytes a second

	mu   sync.Mutex
	next time.Time // when the rate allows the next ones
}

// most is how much of n bytes may go at once: a hundredth of a second's, for
// slow is not the same as rare, and others want their turn.
func (p *pacer) most(n int) int {
	if p == nil {
		return n
	}
	return min(n, max(1, p.rate/100))
}

// wait takes the turn of n bytes and returns how long to wait for it.
func (p *pacer) wait(n int) time.Duration {
	if p == nil {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.next.Before(now) {
		p.next = now
	}
	p.next = p.next.Add(time.Duration(n) * time.Second / time.Duration(p.rate))
	return p.next.Sub(now)
}

// share is what the direction's connections share.
func (p *Proxy) share(d Direction) *pacer {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.links[d]
}
