package breaker_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/chunkup/chunkup/breaker"
	"pgregory.net/rapid"
)

// step is one thing that happens to a breaker.
type step struct {
	Do      string // allow, wait, report, again, cancel, sleep
	Op      string
	Size    int64
	Which   int // of the permits (report: those not reported yet) or those waiting (cancel), modulo their number
	Outcome breaker.Outcome
	Sleep   time.Duration
}

func drawStep(t *rapid.T) step {
	st := step{Do: rapid.SampledFrom([]string{
		"allow", "allow", "allow", "wait", "wait", "wait", "report", "report", "report", "report", "again", "cancel", "sleep", "sleep",
	}).Draw(t, "do")}
	switch st.Do {
	case "allow", "wait":
		st.Op = rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "op")
		st.Size = rapid.Int64Range(1, 3).Draw(t, "size")
	case "report", "again":
		st.Which = rapid.IntRange(0, 20).Draw(t, "which")
		st.Outcome = rapid.SampledFrom([]breaker.Outcome{breaker.Failure, breaker.Failure, breaker.Failure, breaker.Success, breaker.Ignored}).Draw(t, "outcome")
	case "cancel":
		st.Which = rapid.IntRange(0, 20).Draw(t, "which")
	case "sleep":
		st.Sleep = time.Duration(rapid.IntRange(1, 40).Draw(t, "sleep")) * 100 * ms
	}
	return st
}

// model is the breaker as a story: what happened since it last closed is a
// list, from which everything is computed when asked. It waits for nothing and
// knows no timer.
type model struct {
	o       breaker.Options
	rand    func() float64
	now     time.Duration
	since   []event // reports that counted while closed
	success []time.Duration
	state   breaker.State
	epoch   int
	failed  int           // probes failed since closed
	until   time.Duration // end of the cooldown
	queue   []*ask
	changes []string
	seen    map[string]int // rules that came into play
}

type event struct {
	op string
	ok bool
}

// ask is one call of Allow or Wait in the model, and in the real breaker.
type ask struct {
	op    string
	size  int64
	given bool // the model's permit
	probe bool
	epoch int
	over  bool // reported, or the wait was cancelled

	cancel context.CancelCauseFunc // of a Wait
	real   atomic.Pointer[breaker.Permit]
	err    atomic.Pointer[error]
}

func (m *model) become(s breaker.State) {
	m.changes = append(m.changes, fmt.Sprintf("%v>%v", m.state, s))
	m.state = s
	m.epoch++
	m.since = nil
}

func (m *model) give(a *ask) {
	a.given, a.probe, a.epoch = true, m.state == breaker.HalfOpen, m.epoch
}

// settle lets go whoever may go now.
func (m *model) settle() {
	if m.state == breaker.Open && m.now >= m.until && len(m.queue) > 0 {
		oldest := m.queue[0]
		slices.SortStableFunc(m.queue, func(a, b *ask) int { return cmp.Compare(a.size, b.size) })
		if m.queue[0] != oldest {
			m.seen["the smallest overtakes the oldest"]++
		}
		m.become(breaker.HalfOpen)
		m.give(m.queue[0])
		m.queue = m.queue[1:]
	}
	if m.state == breaker.Closed {
		for _, a := range m.queue {
			m.give(a)
		}
		m.queue = nil
	}
}

// ask returns how long to wait before asking again, if there is no permit.
func (m *model) ask(a *ask) (retryIn time.Duration) {
	if m.state == breaker.Open && m.now >= m.until {
		m.become(breaker.HalfOpen)
		m.give(a)
		return 0
	}
	switch m.state {
	case breaker.Closed:
		m.give(a)
		return 0
	case breaker.HalfOpen:
		return m.o.Cooldown
	}
	return m.until - m.now
}

func (m *model) open() {
	m.become(breaker.Open)
	ceiling := m.o.Cooldown
	for range m.failed {
		if 2*ceiling > m.o.MaxCooldown {
			m.seen["a cooldown at its cap"]++
		}
		ceiling = min(2*ceiling, m.o.MaxCooldown)
	}
	m.until = m.now + time.Duration(float64(ceiling)*(1+m.rand())/2)
}

func (m *model) report(a *ask, o breaker.Outcome) {
	if a.over {
		m.seen["a second report"]++
		return
	}
	a.over = true
	stale := a.epoch != m.epoch
	switch {
	case a.probe && o == breaker.Success:
		m.become(breaker.Closed)
		m.failed = 0
		m.success = append(m.success, m.now)
	case a.probe && o == breaker.Failure:
		m.failed++
		m.open()
	case a.probe:
		if len(m.queue) > 0 {
			m.seen["an ignored probe passes on"]++
		}
		m.become(breaker.Open)
		m.until = m.now
	case o == breaker.Success && m.state == breaker.Open:
		if m.until > m.now {
			m.seen["a late success ends a cooldown"]++
		}
		m.until = m.now
	case o == breaker.Failure && stale:
		m.seen["a stale failure while "+m.state.String()]++
	case m.state == breaker.Closed && o != breaker.Ignored:
		m.count(a.op, o == breaker.Success)
	}
	m.settle()
}

// count adds evidence to the story of a closed breaker, and opens it if due.
func (m *model) count(op string, ok bool) {
	m.since = append(m.since, event{op, ok})
	if ok {
		m.success = append(m.success, m.now)
		return
	}
	n, failures := m.distinct()
	switch {
	case n < m.o.Failures && failures >= m.o.Failures:
		m.seen["one operation fails again and again"]++
	case n < m.o.Failures:
	case len(m.success) > 0 && m.now-slices.Max(m.success) < m.o.Quiet:
		m.seen["too soon after a success"]++
	default:
		m.open()
	}
}

// distinct counts the operations that failed after the last success, and their
// failures.
func (m *model) distinct() (operations, failures int) {
	ops := map[string]bool{}
	for _, e := range slices.Backward(m.since) {
		if e.ok {
			break
		}
		ops[e.op] = true
		failures++
	}
	return len(ops), failures
}
