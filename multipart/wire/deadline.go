package wire

import (
	"fmt"
	"math"
	"time"
)

// Limits bound the phases of an attempt. Each zero field means its default.
type Limits struct {
	// Connect bounds name lookup, dial and TLS handshake. 0 = 10 s.
	Connect time.Duration

	// MinRate is the floor of the link, in bytes per second, that sizes the
	// send deadline; all parts in flight share it. 0 = 200,000.
	MinRate int64

	// Overhead is the fixed share of the send deadline. 0 = 15 s.
	Overhead time.Duration

	// Stall bounds the time in which no byte of the body is acknowledged (or
	// accepted, see the package's doc). 0 = 15 s.
	Stall time.Duration

	// Answer bounds the wait from the acknowledgement of the body's last byte
	// to the status line. 0 = 70 s: longer than the 60 s after which proxies answer 504, so
	// that the 504 is seen.
	Answer time.Duration

	// Read bounds the answer from its status line to its end. 0 = 15 s.
	Read time.Duration
}

// WithDefaults fills the zero fields.
func (l Limits) WithDefaults() Limits {
	fill := func(d *time.Duration, def time.Duration) {
		if *d == 0 {
			*d = def
		}
	}
	fill(&l.Connect, 10*time.Second)
	fill(&l.Overhead, 15*time.Second)
	fill(&l.Stall, 15*time.Second)
	fill(&l.Answer, 70*time.Second)
	fill(&l.Read, 15*time.Second)
	if l.MinRate == 0 {
		l.MinRate = 200_000
	}
	return l
}

// Send is the send deadline of size bytes when inFlight parts share the link:
// size × inFlight / MinRate + Overhead. Alone, 25 MB get 140 s by default.
func (l Limits) Send(size int64, inFlight int) time.Duration {
	l = l.WithDefaults()
	seconds := float64(size) * float64(max(inFlight, 1)) / float64(l.MinRate)
	if seconds > math.MaxInt64/2/float64(time.Second) {
		return math.MaxInt64 / 2
	}
	return time.Duration(seconds*float64(time.Second)) + l.Overhead
}

// Phase is a stage of an attempt; each has a deadline of its own.
type Phase uint8

// The phases, in order. PhaseStall is not a stage but a second bound within
// PhaseSend: no byte acknowledged for too long.
const (
	PhaseConnect Phase = iota + 1
	PhaseSend
	PhaseStall
	PhaseAnswer
	PhaseRead

	phaseOver // after the last
)

func (p Phase) String() string {
	switch p {
	case PhaseConnect:
		return "connect"
	case PhaseSend:
		return "send"
	case PhaseStall:
		return "stall"
	case PhaseAnswer:
		return "answer"
	case PhaseRead:
		return "read"
	}
	return "unknown"
}

// DeadlineError says which bound of ours an attempt has missed. The end of the
// caller's own context is never one of these.
type DeadlineError struct {
	Phase Phase
	Limit time.Duration
	Sent  int64 // bytes of the body that were acknowledged, as in Answer
	Size  int64 // bytes of the whole body
}

func (e *DeadlineError) Error() string {
	switch e.Phase {
	case PhaseConnect:
		return fmt.Sprintf("no connection within %v", e.Limit)
	case PhaseStall:
		return fmt.Sprintf("stalled: no byte accepted for %v (%d of %d bytes sent)", e.Limit, e.Sent, e.Size)
	case PhaseSend:
		return fmt.Sprintf("too slow: %d of %d bytes sent within %v", e.Sent, e.Size, e.Limit)
	case PhaseAnswer:
		return fmt.Sprintf("no answer within %v of the last byte", e.Limit)
	}
	return fmt.Sprintf("answer not complete within %v of its status line", e.Limit)
}

// Timeout makes the error one of the net package's time-outs.
func (e *DeadlineError) Timeout() bool { return true }

// Slow reports a deadline that was missed although bytes moved: the link is
// slow, which says nothing about the store.
func (e *DeadlineError) Slow() bool { return e.Phase == PhaseSend && e.Sent > 0 }
