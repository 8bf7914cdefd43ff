package multipart

import (
	"context"
	"errors"
	"sync"
	"time"
)

// errSuspended ends the attempts that were under way while the machine slept.
// Their connections are dead as a rule and their time is no measure of anything:
// they are made again at once, and nobody is blamed.
var errSuspended = errors.New("the machine or the process was suspended")

const (
	// wakeEvery is how often the wall clock is looked at.
	wakeEvery = time.Second

	// overslept is how late a look must come for the machine to have slept. A
	// clock that is set forward looks the same and costs one attempt each.
	overslept = 5 * time.Second
)

// awake notices that the machine or this process was suspended. Timers sleep with
// the machine, for they run on a clock that stops with it (golang/go #24595), and
// go on as if nothing had been; the wall clock does not. It looks only while an
// upload runs. It is safe for concurrent use.
type awake struct {
	wall   func() time.Time
	onWake func() // called after each sleep

	mu       sync.Mutex
	users    int
	stop     chan struct{}
	woke     chan struct{} // closed and replaced after each sleep
	attempts map[*context.CancelCauseFunc]struct{}
}

func newAwake(wall func() time.Time, onWake func()) *awake {
	return &awake{wall: wall, onWake: onWake, woke: make(chan struct{}),
		attempts: map[*context.CancelCauseFunc]struct{}{}}
}

// now is the wall clock, without the reading of the clock that stops.
func (a *awake) now() time.Time { return a.wall().Round(0) }

// begin and end frame an upload.
func (a *awake) begin() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.users++; a.users == 1 {
		a.stop = make(chan struct{})
		go a.look(a.stop, a.now())
	}
}

func (a *awake) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.users--; a.users == 0 {
		close(a.stop)
	}
}

func (a *awake) look(stop <-chan struct{}, last time.Time) {
	tick := time.NewTicker(wakeEvery)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		now := a.now()
		if now.Sub(last) > wakeEvery+overslept {
			a.wake()
		}
		last = now
	}
}

// wake ends all attempts under way and lets all who sleep look at the clock.
func (a *awake) wake() {
	a.mu.Lock()
	for cancel := range a.attempts {
		(*cancel)(errSuspended)
	}
	close(a.woke)
	a.woke = make(chan struct{})
	a.mu.Unlock()
	a.onWake()
}

// attempt returns a context for one attempt, which ends with errSuspended when
// the machine has slept.
func (a *awake) attempt(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.attempts[&cancel] = struct{}{}
	return ctx, func() {
		a.mu.Lock()
		delete(a.attempts, &cancel)
		a.mu.Unlock()
		cancel(nil)
	}
}

// sleep waits for d by the wall clock, or for the end of ctx, whose cause it then
// returns.
func (a *awake) sleep(ctx context.Context, d time.Duration) error {
	wall, until := a.now().Add(d), time.Now().Add(d)
	for d > 0 {
		a.mu.Lock()
		woke := a.woke
		a.mu.Unlock()
		t := time.NewTimer(d)
		select {
		case <-t.C:
			return nil
		case <-woke:
			t.Stop()
			d = min(wall.Sub(a.now()), time.Until(until)) // a clock may have been set back
		case <-ctx.Done():
			t.Stop()
			return context.Cause(ctx)
		}
	}
	return nil
}
