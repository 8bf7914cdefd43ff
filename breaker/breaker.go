// Package breaker answers one question: may this endpoint be called now?
//
// Many requests to one endpoint share one [Breaker]. While they succeed now and
// then it lets everything through. When the endpoint looks dead (several
// different operations failed, nothing succeeded in between) it opens: no
// request goes out for a cooldown, then exactly one, the probe. The probe's
// success closes the breaker again, its failure opens it for twice as long. An
// outage is so met with one small request per cooldown, whatever the number of
// callers.
//
// Call [New] once per endpoint. Then, for each attempt, [Breaker.Wait] (work
// that may wait) or [Breaker.Allow] (work that had better be refused), and end
// the attempt with [Permit.Report]. Defer a Report of [Ignored] right after
// the permit is given: only the first Report counts, and a probe that is never
// reported keeps the breaker half-open, and everyone else out, for good.
//
// The breaker does not know errors: callers classify, and report [Success],
// [Failure] or [Ignored]. It sends nothing, retries nothing, spends no budget,
// and limits nothing while closed. Partial failure is not its business either:
// one success in between is enough to keep it closed.
//
// It runs on the monotonic clock, without a goroutine: the time a machine
// spends suspended does not count where that clock stops too.
package breaker

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"
)

// State is what a breaker does with callers. The zero value is Closed.
type State uint8

const (
	Closed   State = iota // everyone passes
	Open                  // nobody passes until the cooldown has passed and a probe is taken
	HalfOpen              // exactly one request, the probe, is out; everyone else waits for its end
)

// String returns "closed", "open" or "half-open".
func (s State) String() string {
	switch s {
	case Closed:
		return "closed"
	case Open:
		return "open"
	case HalfOpen:
		return "half-open"
	}
	return "State(" + strconv.Itoa(int(s)) + ")"
}

// Outcome is what an attempt says about the endpoint. The zero value is Ignored.
type Outcome uint8

const (
	Ignored Outcome = iota // no evidence: cancelled, never sent, needs a new URL, refused for good
	Success                // the endpoint did what was asked
	Failure                // the endpoint or the way to it failed
)

// Options configures a Breaker. The zero value is ready to use. A zero field
// has the default given with it, and so has a negative one, but for Quiet.
type Options struct {
	// Failures is how many distinct operations must fail in a row, with no
	// success between, to open the breaker. 0 means 5.
	Failures int

	// Quiet is how long the last success must lie back for the breaker to
	// open; before the first success it always does. 0 means 2 s, a negative
	// value none. It keeps a flaky link, where five failures in a row happen
	// by chance, from being taken for an outage.
	Quiet time.Duration

	// Cooldown is the first ceiling of the time spent open; it doubles with
	// every probe that fails and is back at its first value when one succeeds.
	// 0 means 1 s.
	Cooldown time.Duration

	// MaxCooldown is where the doubling ends. 0 means 30 s; a value below
	// Cooldown is taken as Cooldown, which gives a ceiling that never grows.
	MaxCooldown time.Duration

	// Rand returns a number in [0,1). Each cooldown is drawn with it uniformly
	// from [1/2,1) of its ceiling, so that many processes do not probe at once.
	// It is called under the breaker's lock: it needs no lock of its own, and
	// must not call the breaker. nil means math/rand/v2.
	Rand func() float64

	// OnChange, if not nil, is told every change of state, one at a time, in
	// the order in which they happened, never under the breaker's lock: it may
	// call the breaker. It runs on the goroutine of whoever caused a change
	// (a caller, or the timer of those who wait). That goroutine also delivers
	// what others change meanwhile, so a change may be told after the call that
	// caused it has returned, and after those it lets through have gone: what
	// must be in place when the breaker closes is best prepared when it opens.
	// OnChange must be quick and must not panic.
	OnChange func(from, to State)
}

func (o Options) withDefaults() Options {
	if o.Failures <= 0 {
		o.Failures = 5
	}
	if o.Quiet == 0 {
		o.Quiet = 2 * time.Second
	}
	if o.Cooldown <= 0 {
		o.Cooldown = time.Second
	}
	if o.MaxCooldown <= 0 {
		o.MaxCooldown = 30 * time.Second
	}
	o.MaxCooldown = max(o.MaxCooldown, o.Cooldown)
	if o.Rand == nil {
		o.Rand = rand.Float64
	}
	return o
}

// Breaker is the circuit breaker of one endpoint. Make one with New; the zero
// value is not usable. All methods are safe for concurrent use.
type Breaker struct {
	o Options // defaults filled in

	mu          sync.Mutex // guards all below, and Permit.done
	state       State
	gen         uint64              // counts changes of state; a permit of an older one is stale
	failed      map[string]struct{} // Closed: operations failed since the last success, at most o.Failures
	lastSuccess time.Time           // zero: never
	ceiling     time.Duration       // of the next cooldown
	until       time.Time           // Open: end of the cooldown
	waiters     []*waiter           // oldest first
	timer       *time.Timer         // made when first needed
	armed       bool                // timer is set for until
	changes     []change            // not yet told to OnChange
	telling     bool                // a goroutine is telling them
}

// New returns a closed breaker. It starts no goroutine and needs no closing.
func New(o Options) *Breaker {
	o = o.withDefaults()
	return &Breaker{o: o, ceiling: o.Cooldown, failed: make(map[string]struct{}, o.Failures)}
}

// Allow asks for an attempt of the operation op and never waits. A closed
// breaker always gives the permit; an open one refuses with a [*OpenError],
// except that when its cooldown has passed, no probe is out and nobody is in
// [Breaker.Wait], the caller becomes the probe.
//
// op tells operations apart when failures are counted, "upload id/part number"
// for instance: one that fails again and again counts once.
func (b *Breaker) Allow(op string) (*Permit, error) {
	now := b.lock()
	defer b.unlock(now)
	if p := b.admit(op, now); p != nil {
		return p, nil
	}
	if b.state == HalfOpen {
		return nil, &OpenError{RetryIn: b.o.Cooldown}
	}
	return nil, &OpenError{RetryIn: b.until.Sub(now)}
}

// State returns the state. It is Open while the cooldown runs, and also after
// it, until a probe is out: at once if somebody is in Wait, else with the next
// call of Allow or Wait. Time alone never closes a breaker.
func (b *Breaker) State() State {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state
}

// Forget ends the cooldown of an open breaker at once and lets the doubling start
// again: what it knows of the endpoint is out of date, because the
// machine was suspended or has changed networks. Only a probe closes it. It does
// nothing to a breaker that is not open.
func (b *Breaker) Forget() {
	now := b.lock()
	defer b.unlock(now)
	if b.state == Open {
		b.ceiling = b.o.Cooldown
		b.until = now
		b.dispatch(now)
	}
}

// Permit is leave to make one attempt. Permits come from Allow and Wait; the
// zero value is not usable. Its methods are safe for concurrent use.
type Permit struct {
	b     *Breaker
	gen   uint64
	op    string
	probe bool
	done  bool // guarded by b.mu
}

// Report ends the attempt and tells what it says about the endpoint. Only the
// first call counts. Every permit wants one, above all a probe: reported as
// Ignored, it passes to the smallest of those waiting, or is free for the next
// caller.
//
// A failure counts only if the breaker has not changed state since the permit
// was given. A success that late, of an attempt from before the breaker
// opened, is proof of life: an open breaker's cooldown ends at once.
func (p *Permit) Report(o Outcome) {
	now := p.b.lock()
	defer p.b.unlock(now)
	p.b.settle(p, o, now)
}

// Probe tells whether this attempt is the probe, the only one while the
// breaker is half-open. Send it soon: all others wait for its end.
func (p *Permit) Probe() bool { return p.probe }

// Current tells whether the breaker is still in the state in which the permit
// was given. Who has waited for something else in between checks it before
// sending; if it is false, report Ignored and ask again.
func (p *Permit) Current() bool {
	p.b.mu.Lock()
	defer p.b.mu.Unlock()
	return p.gen == p.b.gen
}

// ErrOpen matches, with errors.Is, every refusal by an open breaker.
var ErrOpen = errors.New("circuit breaker is open")

// OpenError is the refusal of Allow.
type OpenError struct {
	// RetryIn is how long to wait before asking again, always above zero: the
	// rest of the cooldown, or, while a probe is out and its answer unknown,
	// the first cooldown's ceiling.
	RetryIn time.Duration
}

func (e *OpenError) Error() string {
	return fmt.Sprintf("%v: the endpoint kept failing, try again in %v",
		ErrOpen, max(e.RetryIn.Round(time.Millisecond), time.Millisecond))
}

// Unwrap returns ErrOpen.
func (e *OpenError) Unwrap() error { return ErrOpen }
