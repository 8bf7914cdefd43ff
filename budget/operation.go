package budget

import (
	"container/list"
	"context"
	"time"
)

// A Verdict says how an attempt ended, as far as the budget is concerned.
type Verdict uint8

const (
	// Void is an attempt that says nothing of the store: cancelled, failed on this
	// side, or refused for want of a new URL. Its whole charge is given back and
	// nothing else changes. It is the zero value.
	Void Verdict = iota
	// Success ends doubt, earns [Options.Ratio] and gets a retry its charge back.
	Success
	// Failure is the store's fault or the network's. The next attempt of its
	// operation is a retry, and the endpoint is in doubt. What was charged for bytes
	// that were not sent is given back.
	Failure
)

// An Operation is one thing to be done, in as many attempts as it takes: the
// upload of a part, a create. Its methods are for one goroutine at a time, in
// this order: [Operation.Begin] or [Operation.Probe], then [Operation.Settle],
// for each attempt; at last [Operation.End]. Any other order panics. It comes from
// [Share.Operation]; the zero value is not usable.
type Operation struct {
	share *Share
	bytes int64

	// The rest is under the budget's mutex.
	state  state
	failed bool          // the next attempt is a retry
	trying bool          // counted in Budget.trying
	charge amount        // paid for the attempt in progress
	ready  chan struct{} // closed when the parked attempt is granted
	place  *list.Element // of the parked attempt in its line
}

type state uint8

const (
	idle state = iota
	parked
	begun
	ended
)

// Operation returns an operation whose every attempt puts this many bytes on the
// wire; less than 0 counts as 0. It must be ended: while an operation that has
// failed goes on, it holds the first attempts of others, for 15 seconds or more. It
// is safe for concurrent use.
func (s *Share) Operation(bytes int64) *Operation {
	return &Operation{share: s, bytes: max(bytes, 0)}
}

// Begin waits until the next attempt may start, and pays for it if it is a retry.
// A first attempt waits only while the endpoint is in doubt. Begin waits for ever
// if need be, so back off before it and hold nothing that others could use.
//
// When ctx ends first, or has ended before, Begin returns context.Cause(ctx); no
// attempt has begun and nothing was charged. It returns no other error.
func (o *Operation) Begin(ctx context.Context) error {
	ready, err := o.enter(ctx)
	if ready == nil {
		return err
	}
	select {
	case <-ready:
		return nil
	case <-ctx.Done():
		o.withdraw()
		return context.Cause(ctx)
	}
}

// enter begins the attempt, or parks it and returns what to wait for.
func (o *Operation) enter(ctx context.Context) (ready <-chan struct{}, err error) {
	b := o.share.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	o.must(idle, "Begin")
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if !o.failed && !b.doubt {
		o.state = begun
		return nil, nil
	}
	if o.failed {
		o.tries(true)
	}
	o.state = parked
	o.ready = make(chan struct{})
	o.queue().push(o)
	b.pump()
	if o.state == begun {
		return nil, nil
	}
	return o.ready, nil
}

// withdraw undoes a Begin whose context ended, even if the attempt was granted
// at the same moment: nobody would settle it.
func (o *Operation) withdraw() {
	b := o.share.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if o.state == parked {
		o.queue().remove(o)
		o.state = idle
	} else {
		o.settle(Void, 0)
	}
	b.pump()
}

// Probe begins the next attempt in place of Begin, at once, free, and in spite of
// doubt. It is for the probes of a breaker, which has its own bound on them.
func (o *Operation) Probe() {
	b := o.share.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	o.must(idle, "Probe")
	o.state = begun
}

// Current reports whether the attempt begun may still start. It may not if it
// began free and the endpoint has come into doubt since, while the caller waited
// for something else: settle it as [Void] and begin again. It is not for an
// attempt begun with [Operation.Probe], which goes in spite of doubt.
func (o *Operation) Current() bool {
	b := o.share.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	o.must(begun, "Current")
	return o.failed || o.trying || !b.doubt // trying: it began in doubt
}

// Settle ends the attempt begun. sent is how many bytes it put on the wire, at
// most those of the operation; it counts only for a Failure.
func (o *Operation) Settle(v Verdict, sent int64) {
	b := o.share.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	o.must(begun, "Settle")
	if v > Failure {
		panic("budget: Settle with an unknown verdict")
	}
	o.settle(v, sent)
	b.pump()
}

// End says that the operation is over, done or given up. An attempt still open is
// void. Calls after the first do nothing.
func (o *Operation) End() {
	b := o.share.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	switch o.state {
	case parked:
		panic("budget: End during Begin")
	case begun:
		o.settle(Void, 0)
	}
	o.state = ended
	o.tries(false)
	b.pump()
}

// settle books the verdict. The caller pumps.
func (o *Operation) settle(v Verdict, sent int64) {
	b := o.share.budget
	back := o.charge
	switch v {
	case Void:
		o.tries(o.failed)
	case Success:
		b.doubt = false
		o.tries(false)
		price := o.price()
		b.credit(amount{b.ratio * price.requests, b.ratio * price.parts})
	case Failure:
		b.doubt = true
		b.quiet = time.Now()
		o.failed = true
		o.tries(true)
		sent = min(max(sent, 0), o.bytes)
		back.requests = 0
		back.parts *= float64(o.bytes-sent) / float64(max(o.bytes, 1))
	}
	b.credit(back)
	o.charge = amount{}
	o.state = idle
}

// queue returns where the operation's next attempt waits.
func (o *Operation) queue() *queue {
	if o.failed {
		return &o.share.budget.retries
	}
	return &o.share.budget.firsts
}

// price returns what a retry of the operation costs.
func (o *Operation) price() amount {
	return amount{1, float64(o.bytes) / float64(o.share.budget.part)}
}

// tries says whether first attempts wait for the verdict of this operation.
func (o *Operation) tries(yes bool) {
	if yes == o.trying {
		return
	}
	o.trying = yes
	if yes {
		o.share.budget.trying++
	} else {
		o.share.budget.trying--
	}
}

// must panics unless the operation is in the state that the call needs.
func (o *Operation) must(want state, call string) {
	if o.state == want {
		return
	}
	panic("budget: " + call + " " + map[state]string{
		idle:   "without Begin",
		parked: "during Begin",
		begun:  "during an attempt",
		ended:  "after End",
	}[o.state])
}
