package multipart

import (
	"time"

	"github.com/cenkalti/backoff/v4"
)

// Jitter is how a wait is drawn below its ceiling.
type Jitter uint8

// The jitters. Full spreads a crowd best for the least work
// (https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/).
const (
	FullJitter  Jitter = iota // uniform in [0, ceiling]
	EqualJitter               // uniform in [ceiling/2, ceiling]
	NoJitter                  // the ceiling
)

// Backoff is the schedule of waits between the attempts of one operation: the
// ceiling before attempt n+1 is min(Cap, Base·2^(n-1)). The zero value is the
// default: 500 ms, 15 s, full jitter.
type Backoff struct {
	Base   time.Duration
	Cap    time.Duration
	Jitter Jitter
}

func (b Backoff) withDefaults() Backoff {
	if b.Base == 0 {
		b.Base = 500 * time.Millisecond
	}
	if b.Cap == 0 {
		b.Cap = 15 * time.Second
	}
	return b
}

// schedule hands out the waits of one operation. It is not safe for concurrent
// use.
type schedule struct {
	ceilings *backoff.ExponentialBackOff
	jitter   Jitter
	rand     func() float64 // in [0, 1)
}

func newSchedule(b Backoff, rand func() float64) *schedule {
	b = b.withDefaults()
	// The library's own jitter draws from a source that cannot be given; it
	// serves the ceilings only.
	return &schedule{
		ceilings: backoff.NewExponentialBackOff(
			backoff.WithInitialInterval(min(b.Base, b.Cap)),
			backoff.WithMultiplier(2),
			backoff.WithRandomizationFactor(0),
			backoff.WithMaxInterval(b.Cap),
			backoff.WithMaxElapsedTime(0),
		),
		jitter: b.Jitter,
		rand:   rand,
	}
}

// next draws the wait after another failure.
func (s *schedule) next() time.Duration {
	ceiling := s.ceilings.NextBackOff()
	switch s.jitter {
	case NoJitter:
		return ceiling
	case EqualJitter:
		return ceiling/2 + time.Duration(s.rand()*float64(ceiling-ceiling/2))
	}
	return time.Duration(s.rand() * float64(ceiling))
}

// reset starts again from the base.
func (s *schedule) reset() { s.ceilings.Reset() }
