package wire

import (
	"context"
	"sync"
	"time"
)

// watch holds the clocks of one attempt. It cancels the attempt's context with
// a *DeadlineError when the bound of the phase that it is in runs out.
type watch struct {
	limits Limits
	send   time.Duration
	size   int64
	cancel context.CancelCauseFunc

	mu    sync.Mutex
	phase Phase
	clock *time.Timer // the bound of the phase
	stall *time.Timer // within PhaseSend: since the last byte
	sent  int64
}

// enter moves on to a phase and starts its clock. Phases only go forward: an
// answer may overtake the rest of the body.
func (w *watch) enter(p Phase) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p <= w.phase {
		return
	}
	w.stopLocked()
	w.phase = p
	limit := w.limitOf(p)
	w.clock = time.AfterFunc(limit, func() { w.expire(p, limit) })
	if p == PhaseSend && w.size > 0 {
		w.stall = time.AfterFunc(w.limits.Stall, func() { w.expire(PhaseStall, w.limits.Stall) })
	}
}

func (w *watch) limitOf(p Phase) time.Duration {
	switch p {
	case PhaseConnect:
		return w.limits.Connect
	case PhaseSend:
		return w.send
	case PhaseAnswer:
		return w.limits.Answer
	}
	return w.limits.Read
}

func (w *watch) expire(p Phase, limit time.Duration) {
	w.mu.Lock()
	sent, current := w.sent, w.phase
	w.mu.Unlock()
	if current == p || (p == PhaseStall && current == PhaseSend) {
		w.cancel(&DeadlineError{Phase: p, Limit: limit, Sent: sent, Size: w.size})
	}
}

// moved counts n bytes of the body as taken and restarts the stall clock.
func (w *watch) moved(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent += int64(n)
	if w.stall != nil {
		w.stall.Reset(w.limits.Stall)
	}
}

// stop ends all clocks and returns how many bytes were taken.
func (w *watch) stop() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopLocked()
	w.phase = phaseOver
	return w.sent
}

func (w *watch) stopLocked() {
	if w.clock != nil {
		w.clock.Stop()
	}
	if w.stall != nil {
		w.stall.Stop()
		w.stall = nil
	}
}
