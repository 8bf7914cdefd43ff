package breaker

import "time"

// change is a change of state that OnChange has yet to be told.
type change struct{ from, to State }

// lock begins a critical section at the returned time. Reading the clock under
// the lock makes time and the order of the sections agree.
func (b *Breaker) lock() time.Time {
	b.mu.Lock()
	now := time.Now()
	b.dispatch(now)
	return now
}

// unlock ends a critical section: the timer follows the state, and OnChange is
// told what changed, by one goroutine at a time.
func (b *Breaker) unlock(now time.Time) {
	b.arm(now)
	tell := len(b.changes) > 0 && !b.telling
	if tell {
		b.telling = true
	}
	b.mu.Unlock()
	if tell {
		b.tell()
	}
}

// tell delivers changes until none is left, those made meanwhile by others (or
// by OnChange itself) included.
func (b *Breaker) tell() {
	b.mu.Lock()
	for len(b.changes) > 0 {
		c := b.changes[0]
		b.changes = b.changes[1:]
		b.mu.Unlock()
		b.o.OnChange(c.from, c.to)
		b.mu.Lock()
	}
	b.telling = false
	b.mu.Unlock()
}

// become changes the state, which begins a new generation.
func (b *Breaker) become(s State) {
	if b.o.OnChange != nil {
		b.changes = append(b.changes, change{b.state, s})
	}
	b.state = s
	b.gen++
	clear(b.failed)
}

// admit gives a permit to a caller who does not wait, or nil.
func (b *Breaker) admit(op string, now time.Time) *Permit {
	switch {
	case b.state == Closed:
		return b.permit(op)
	case b.state == Open && !now.Before(b.until): // and nobody waits, or dispatch had taken it
		return b.probe(op)
	}
	return nil
}

func (b *Breaker) permit(op string) *Permit {
	return &Permit{b: b, gen: b.gen, op: op}
}

// probe opens the breaker half and gives the only permit there is in that
// state: it is HalfOpen exactly as long as that permit is not reported.
func (b *Breaker) probe(op string) *Permit {
	b.become(HalfOpen)
	p := b.permit(op)
	p.probe = true
	return p
}

// settle takes the first report on p.
func (b *Breaker) settle(p *Permit, o Outcome, now time.Time) {
	if p.done {
		return
	}
	p.done = true
	switch {
	case p.probe:
		b.settleProbe(o, now)
	case o == Success && b.state == Closed:
		clear(b.failed)
		b.lastSuccess = now
	case o == Success && b.state == Open:
		b.until = now
		b.dispatch(now)
	case o == Failure && p.gen == b.gen:
		b.countFailure(p.op, now)
	}
}

// settleProbe leaves HalfOpen, which only the probe's report does.
func (b *Breaker) settleProbe(o Outcome, now time.Time) {
	switch o {
	case Success:
		b.become(Closed)
		b.lastSuccess = now
		b.ceiling = b.o.Cooldown
		b.releaseAll()
	case Failure:
		// 2*ceiling could overflow where somebody means "for ever".
		b.ceiling += min(b.ceiling, b.o.MaxCooldown-b.ceiling)
		b.open(now)
	default:
		b.become(Open)
		b.until = now
		b.dispatch(now)
	}
}

// countFailure notes a failure of the closed breaker and opens it if due.
func (b *Breaker) countFailure(op string, now time.Time) {
	if len(b.failed) < b.o.Failures { // within Quiet there may be many more
		b.failed[op] = struct{}{}
	}
	// Before the first success the difference is the longest there is.
	if len(b.failed) >= b.o.Failures && now.Sub(b.lastSuccess) >= b.o.Quiet {
		b.open(now)
	}
}

// open starts a cooldown, drawn from the upper half of its ceiling.
func (b *Breaker) open(now time.Time) {
	b.become(Open)
	b.until = now.Add(time.Duration(float64(b.ceiling) * (1 + b.o.Rand()) / 2))
}
