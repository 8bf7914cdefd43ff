package tcpproxy

import (
	"math/rand/v2"
	"time"
)

// Direction is the way the bytes go.
type Direction int

// The two directions of a connection.
const (
	Upstream   Direction = iota // from the client to the server: requests
	Downstream                  // from the server to the client: answers
)

// fault is what is wrong in one direction. The zero value is: nothing.
type fault struct {
	rate   int           // bytes a second and connection; 0: as fast as it goes
	delay  time.Duration // of every byte
	jitter time.Duration // the delay is this much more or less
	limit  int64         // bytes a connection may carry; 0: any number
	silent bool          // nothing passes
}

// late returns the delay of one chunk.
func (f fault) late() time.Duration {
	if f.jitter <= 0 {
		return f.delay
	}
	return f.delay - f.jitter + rand.N(2*f.jitter)
}

// Bandwidth lets each connection carry that many thousand bytes a second in
// the direction; 0 lifts the limit.
func (p *Proxy) Bandwidth(d Direction, kBps int) {
	p.change(d, func(f *fault) { f.rate = kBps * 1000 })
}

// Link lets all connections together carry that many thousand bytes a second in
// the direction, each as much as the others; 0 lifts the limit. The proxy reads
// no faster than that, so that a client feels it as soon as the socket buffers
// are full.
func (p *Proxy) Link(d Direction, kBps int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if kBps <= 0 {
		p.links[d] = nil
		return
	}
	p.links[d] = &pacer{rate: kBps * 1000}
}

// Latency delays the bytes in the direction by delay, give or take up to
// jitter. A connection then carries at most 256 KiB per delay, as with a small
// TCP window.
func (p *Proxy) Latency(d Direction, delay, jitter time.Duration) {
	p.change(d, func(f *fault) { f.delay, f.jitter = delay, jitter })
}

// Limit closes each connection when it has carried that many bytes in the
// direction, counted from its start; 0 lifts the limit.
func (p *Proxy) Limit(d Direction, bytes int64) {
	p.change(d, func(f *fault) { f.limit = bytes })
}

// Blackhole lets nothing pass in the direction any more, neither bytes nor the
// end of a connection, without telling anybody. Nothing is lost: with Clear it
// goes on, as on a network that was away for a while.
func (p *Proxy) Blackhole(d Direction) {
	p.change(d, func(f *fault) { f.silent = true })
}

// ResetPeer cuts each new connection with a TCP RST on both sides, so long
// after it was made. Those that exist are left alone: see Reset.
func (p *Proxy) ResetPeer(after time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.resets = max(after, 1)
}

// Reset cuts all connections that exist with a TCP RST on both sides.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.resetAll()
}

func (p *Proxy) resetAll() {
	for q := range p.pairs {
		q.reset()
	}
}

// Clear ends all faults but Down. Connections go on.
func (p *Proxy) Clear() {
	p.mu.Lock()
	p.resets = 0
	p.links = [2]*pacer{}
	p.mu.Unlock()
	p.change(Upstream, func(f *fault) { *f = fault{} })
	p.change(Downstream, func(f *fault) { *f = fault{} })
}

func (p *Proxy) change(d Direction, edit func(*fault)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	edit(&p.faults[d])
	close(p.changed)
	p.changed = make(chan struct{})
}

// fault returns what is wrong in the direction, and a channel that is closed
// when that is no longer true.
func (p *Proxy) fault(d Direction) (fault, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.faults[d], p.changed
}
