package wire

import (
	"context"
	"sync"
	"time"
)

const (
	// lookEvery is how often the clocks look at the connection while it sends.
	lookEvery = time.Second

	// drainEvery is how often they look when only the queue is left to send.
	drainEvery = 100 * time.Millisecond

	// stopped is how much too late a look can be by the load of the machine;
	// beyond it, the process or the machine was stopped.
	stopped = 5 * time.Second
)

// watch holds the clocks of one attempt. It cancels the attempt's context with
// a *DeadlineError when the bound of the phase that it is in runs out.
//
// It has one timer, whose looks judge by the times that are noted meanwhile.
// In PhaseSend a look comes often enough to see the queue move; else, and when
// there is no queue to see, it comes exactly at the next bound.
type watch struct {
	limits Limits
	send   func(spent time.Duration) time.Duration
	size   int64
	cancel context.CancelCauseFunc

	mu    sync.Mutex
	phase Phase
	since time.Time // when the clock of the phase started
	timer *time.Timer
	due   time.Time // of the timer

	missed *DeadlineError

	sending
	expecting
}

// enter moves on to a phase and starts its clock. Phases only go forward: an
// answer may overtake the rest of the body.
func (w *watch) enter(p Phase) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	w.enterLocked(p, now)
	w.step(now)
}

func (w *watch) enterLocked(p Phase, now time.Time) {
	if p <= w.phase {
		return
	}
	w.phase, w.since = p, now
	switch p {
	case PhaseSend:
		w.limit, w.life = w.send(0), now
	case PhaseRead:
		w.answered, w.accepted = true, w.read
	}
}

// look is what the timer does.
func (w *watch) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.step(time.Now())
}

// late reports that a look which was due came so late that the process must
// have been stopped, or the machine suspended: then nothing is known about the
// other side, which had no chance to be seen. The monotonic clock stands still
// in a suspended machine, the wall clock does not.
func late(now, due time.Time) bool {
	return max(now.Sub(due), now.Round(0).Sub(due.Round(0))) > stopped
}

// restart starts the clocks of the phase again.
func (w *watch) restart(now time.Time) {
	w.since, w.life, w.paused = now, now, 0
	if !w.reading.IsZero() {
		w.reading = now
	}
}

// step judges, and then either ends the attempt or sets the timer.
func (w *watch) step(now time.Time) {
	if w.phase == phaseOver {
		return
	}
	if w.timer != nil && late(now, w.due) {
		w.restart(now)
	}
	w.sample(now)
	next, missed := w.judge(now)
	if missed != nil {
		w.phase = phaseOver
		w.cancel(missed)
		return
	}
	w.due = now.Add(next)
	if w.timer == nil {
		w.timer = time.AfterFunc(next, w.look)
	} else {
		w.timer.Reset(next)
	}
}

// judge returns the bound that has run out, or the time until the next look.
func (w *watch) judge(now time.Time) (next time.Duration, missed error) {
	if w.phase == PhaseSend {
		if !w.drained() {
			return w.judgeSend(now)
		}
		w.enterLocked(PhaseAnswer, now)
	}
	limit := w.limits.Read
	switch w.phase {
	case PhaseConnect:
		limit = w.limits.Connect
	case PhaseAnswer:
		limit = w.limits.Answer
	}
	next = limit - now.Sub(w.since)
	if next <= 0 {
		return 0, w.miss(w.phase, limit)
	}
	return next, nil
}

func (w *watch) judgeSend(now time.Time) (next time.Duration, missed error) {
	// A stall of a second is not to be found a second late.
	next = min(lookEvery, max(w.limits.Stall/8, time.Millisecond))
	if w.wrote {
		next = min(next, drainEvery)
	}
	if !w.reading.IsZero() {
		w.skipped = true
		return next, nil
	}
	if w.size > 0 && !w.waiting {
		left := w.limits.Stall - now.Sub(w.life)
		if left <= 0 {
			return 0, w.miss(PhaseStall, w.limits.Stall)
		}
		next = min(next, left)
	}
	spent := now.Sub(w.since) - w.paused
	if spent >= w.limit {
		w.limit = max(w.limit, w.send(spent))
	}
	if spent >= w.limit {
		return 0, w.miss(PhaseSend, w.limit)
	}
	return min(next, w.limit-spent), nil
}

func (w *watch) miss(p Phase, limit time.Duration) error {
	w.missed = &DeadlineError{Phase: p, Limit: limit, Sent: w.acknowledged(), Size: w.size}
	return w.missed
}

// stop ends all clocks. It returns how many bytes were acknowledged, and
// whether the body was sent although nobody had asked for it.
func (w *watch) stop() (sent int64, noContinue bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.phase != phaseOver {
		w.phase = phaseOver
		w.sample(time.Now())
	}
	if w.timer != nil {
		w.timer.Stop()
	}
	if w.missed != nil { // what was sent until then counts, and was said
		return w.missed.Sent, w.unasked
	}
	return w.acknowledged(), w.unasked
}
