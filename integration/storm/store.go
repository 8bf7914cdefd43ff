package storm

import (
	"sync"
	"time"
)

// store works on parts one after the other, in the order in which they arrived.
// It does not notice that a client has given up: what has arrived is worked on.
type store struct {
	scene Scene

	mu       sync.Mutex
	last     float64 // the work that is done when the last part is, see worked
	admitted int     // parts on their way
}

// worked is how many parts the store could have done from the start until t.
func (s *store) worked(t time.Duration) float64 {
	before := min(t, s.scene.begins())
	during := max(min(t, s.scene.ends())-s.scene.begins(), 0)
	after := max(t-s.scene.ends(), 0)
	return s.scene.Rate * (before.Seconds() + during.Seconds()*s.left() + after.Seconds())
}

// when is the inverse of worked.
func (s *store) when(work float64) time.Duration {
	t := time.Duration(work / s.scene.Rate * float64(time.Second))
	if t <= s.scene.begins() {
		return t
	}
	t = s.scene.begins() + time.Duration(float64(t-s.scene.begins())/s.left())
	if t <= s.scene.ends() {
		return t
	}
	return s.scene.ends() + time.Duration(float64(t-s.scene.ends())*s.left())
}

// left is the share of the rate that the fault leaves.
func (s *store) left() float64 {
	if s.scene.Capacity == 0 {
		return 1
	}
	return s.scene.Capacity
}

// shedAfter is how much work a store that sheds takes in beyond what keeps it
// busy.
const shedAfter = 500 * time.Millisecond

// admit tells whether the store wants the part that is offered at t: all of them,
// unless it sheds. If so, take or drop must follow.
func (s *store) admit(t time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	rate := s.scene.Rate
	if s.scene.failing(t) {
		rate *= s.left()
	}
	queue := max(s.last-s.worked(t), 0)
	if s.scene.Sheds && float64(s.admitted)+queue >= rate*(s.scene.Transmit+shedAfter).Seconds() {
		return false
	}
	s.admitted++
	return true
}

// drop says that an admitted part will not arrive.
func (s *store) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.admitted--
}

// take queues the part that has arrived at t, and returns when it is done.
func (s *store) take(t time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.admitted--
	s.last = max(s.last, s.worked(t)) + 1
	return max(s.when(s.last), t)
}
