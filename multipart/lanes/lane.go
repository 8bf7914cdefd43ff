package lanes

// Outcome is how the use of a lane ended, as far as the number of lanes is
// concerned. The zero value is [Ignored].
type Outcome uint8

// The outcomes.
const (
	Ignored   Outcome = iota // says nothing about the number of lanes: a reset, a cancel, a local error
	Success                  // the part arrived
	Overload                 // too much was asked of the store or the link: a missed deadline
	Throttled                // the store refused the part: too much is asked of it, or it was chance
)

// isAgainst reports that fewer lanes might have been better.
func (o Outcome) isAgainst() bool { return o == Overload || o == Throttled }

// Lane is the right to have one part in flight. It comes from [Gate.Acquire],
// and remembers in which epoch: what was taken before the last decrease is no
// reason for another.
type Lane struct {
	gate     *Gate
	epoch    uint64
	released bool
}

// answered is what a part that has arrived is worth besides its bytes: four answers
// for each lane fill a window, as a mebibyte does.
const answered = 256 << 10

// Release gives the lane back and says how its use ended. It panics if the lane
// has been given back before. It is safe for concurrent use with everything
// else.
func (l *Lane) Release(o Outcome) {
	g := l.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if l.released {
		panic("lanes: lane released twice")
	}
	now := g.observeLocked()
	l.released = true
	g.held--
	if o == Success {
		g.moved.Add(answered)
	}
	g.climb.ended(o, l.epoch, now, g.moved.Load())
	g.turnLocked(now)
}
