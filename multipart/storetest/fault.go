package storetest

import (
	"time"

	"github.com/chunkup/chunkup/multipart/wire"
)

// Fault is something that goes wrong with requests that match it. Each part
// has a count of its own.
type Fault struct {
	Op    wire.Operation // 0: any
	Part  int            // 0: any
	Every int            // 3: every third part number; 0: all

	Skip  int // so many matching requests are spared first
	Times int // and so many hit; 0 = 1, -1 = all

	From, Until time.Time // and only between these, if set

	Apply bool // the request has its effect before it fails

	Delay time.Duration // before anything else
	Stall bool          // no byte is read or answered any more
	Reset bool          // the connection breaks, after After bytes of the body
	After int64

	// Status answers this, with the store's code and message. 0, with neither
	// Stall nor Reset: the request goes through, after the delay.
	Status     int
	Code       string
	Message    string
	RetryAfter string
}

func (f *Fault) matches(op wire.Operation, part int) bool {
	return (f.Op == 0 || f.Op == op) && (f.Part == 0 || f.Part == part) &&
		(f.Every == 0 || part%f.Every == 0) && f.isTime()
}

func (f *Fault) isTime() bool {
	now := time.Now()
	return (f.From.IsZero() || !now.Before(f.From)) && (f.Until.IsZero() || now.Before(f.Until))
}

// scripted is a fault and how often each part has met it.
type scripted struct {
	Fault
	met map[int]int
}

// hit reports whether the fault strikes this time.
func (s *scripted) hit(op wire.Operation, part int) bool {
	if !s.matches(op, part) {
		return false
	}
	s.met[part]++
	n := s.met[part] - s.Skip
	return n > 0 && (s.Times < 0 || n <= max(s.Times, 1))
}
