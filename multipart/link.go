package multipart

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chunkup/chunkup/multipart/wire"
)

const (
	// leastLearned is the rate, in bytes a second, below which a connection is
	// broken and not slow: nothing is learned from it, or one that trickles would
	// be given days.
	leastLearned = 500

	// stallBytes is what a slow connection must be given the time for before it
	// is called stalled.
	stallBytes = 256 << 10

	// longestStall bounds by how much.
	longestStall = 4

	// longestStretch bounds how often a part's deadline doubles.
	longestStretch = 64
)

// link is what was learned of the way to the store. A deadline is sized from a
// floor; on a link that is slower than the floor every part would miss it, for
// ever. The first that does so while bytes move teaches the others, which are
// then given the time that they need. It is safe for concurrent use.
type link struct {
	moved atomic.Int64 // bytes of all parts

	mu    sync.Mutex
	whole float64 // bytes a second of all connections together; 0: not seen to be slow
	each  float64 // bytes a second of one connection
}

// floor is the rate that a part may count on when n share the link: half of what
// was seen, at most minRate.
func (l *link) floor(minRate int64, n int) float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	floor := float64(minRate)
	if l.whole > 0 {
		floor = min(floor, l.whole/2)
	}
	floor /= float64(max(n, 1))
	if l.each > 0 {
		floor = min(floor, l.each/2)
	}
	return floor
}

// stall is the stall bound: long enough for a slow connection to show life, but
// at most longestStall times what it is for others.
func (l *link) stall(bound time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.each == 0 {
		return bound
	}
	life := time.Duration(stallBytes / l.each * float64(time.Second))
	return min(max(bound, life), longestStall*bound)
}

// missed learns from a part that missed its deadline. One that was much slower
// than the others is no word about the link.
func (l *link) missed(own, all float64, n int) {
	each := all / float64(max(n, 1))
	if own < leastLearned || each < leastLearned || own < each/4 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.whole, l.each = slower(l.whole, all), slower(l.each, each)
}

func slower(known, seen float64) float64 {
	if known == 0 {
		return seen
	}
	return min(known, seen)
}

// done learns from a part that arrived: a link gets better, too.
func (l *link) done(all float64, n int, minRate int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.whole = faster(l.whole, all, minRate)
	l.each = faster(l.each, all/float64(max(n, 1)), minRate)
}

// faster moves what is known half way up to what was seen, and forgets it where
// it no longer makes a difference.
func faster(known, seen float64, minRate int64) float64 {
	if known == 0 {
		return 0
	}
	if known = max(known, (known+seen)/2); known/2 >= float64(minRate) {
		return 0
	}
	return known
}

// passage is one attempt's way over the link. Its methods are for one goroutine
// at a time, but for moved.
type passage struct {
	link     *link
	limits   wire.Limits
	size     int64
	stretch  int        // the deadline is so many times as long
	inFlight func() int // parts that share the link

	begun  bool  // sending has
	before int64 // bytes of all parts then
	first  int   // parts that shared the link then
	own    atomic.Int64
	most   int // parts that shared the link, at the most
	start  time.Time
}

func (p *passage) moved(n int) {
	p.own.Add(int64(n))
	p.link.moved.Add(int64(n))
}

// deadline is the send deadline after so much time spent on sending. It is asked
// for when sending starts, and again when it runs out: more parts may share the
// link by then, or another may have found out that it is slow. If not, the part
// dies, and is the one that found out.
func (p *passage) deadline(spent time.Duration) time.Duration {
	now := p.inFlight()
	p.most = max(p.most, now)
	if !p.begun {
		p.begun, p.start, p.before, p.first = true, time.Now(), p.link.moved.Load(), now
	}
	d := p.bound()
	if spent >= d {
		p.link.missed(float64(p.own.Load())/spent.Seconds(), p.rate(spent), p.company(now))
	}
	return d
}

// company is how many parts shared the link, as a rule.
func (p *passage) company(now int) int { return max((p.first+now)/2, 1) }

func (p *passage) bound() time.Duration {
	l := p.limits
	l.MinRate = int64(max(p.link.floor(l.MinRate, p.most), 1))
	d := l.Send(p.size, 1)
	return min(d, math.MaxInt64/longestStretch) * time.Duration(max(p.stretch, 1))
}

// rate is that of all parts together since the start, in bytes a second.
func (p *passage) rate(spent time.Duration) float64 {
	return float64(p.link.moved.Load()-p.before) / max(spent.Seconds(), 1e-3)
}

// arrived tells that the part is there.
func (p *passage) arrived() {
	if p.begun {
		p.link.done(p.rate(time.Since(p.start)), p.company(p.inFlight()), p.limits.MinRate)
	}
}
