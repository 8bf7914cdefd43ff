package storm

import (
	"math"
	"sync"
	"time"
)

const (
	minRate        = 200e3 // bytes a second of the link that a deadline counts on
	overhead       = 15 * time.Second
	longestStretch = 64
)

// link is what a process of chunkup has learned of its uplink, see the engine's
// link.go: the first part that misses its deadline while bytes move teaches the
// others.
type link struct {
	mu   sync.Mutex
	seen float64 // bytes a second of all parts together; 0: not known to be slow
}

// floor is what all parts together may count on.
func (l *link) floor() float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen == 0 {
		return minRate
	}
	return min(minRate, l.seen/2)
}

func (l *link) missed(rate float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen == 0 || rate < l.seen {
		l.seen = rate
	}
}

// done learns from a part that has arrived: a link gets better, too.
func (l *link) done(rate float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen = max(l.seen, (l.seen+rate)/2); l.seen/2 >= minRate {
		l.seen = 0
	}
}

// passage is one attempt's way over the link.
type passage struct {
	link     *link
	pipe     *pipe
	size     int64
	stretch  int
	inFlight func() int

	start  time.Time
	before int64
	most   int
}

// deadline is the send deadline, bytes × parts in flight ÷ floor + overhead, asked
// again when it runs out: more parts may share the link by then, or another may
// have found out that it is slow. If not, the part dies, and has found out.
func (p *passage) deadline() time.Duration {
	p.most = max(p.most, p.inFlight())
	if p.start.IsZero() {
		p.start, p.before = time.Now(), p.pipe.moved.Load()
	}
	seconds := float64(p.size) * float64(p.most) / p.link.floor()
	d := time.Duration(min(seconds*1e9, math.MaxInt64/4/longestStretch)) + overhead
	d *= time.Duration(p.stretch)
	if time.Since(p.start) >= d {
		p.link.missed(p.rate())
	}
	return d
}

// rate is that of all parts together since the start, in bytes a second.
func (p *passage) rate() float64 {
	return float64(p.pipe.moved.Load()-p.before) / max(time.Since(p.start).Seconds(), 1e-3)
}

func (p *passage) arrived() { p.link.done(p.rate()) }
