package multipart

import (
	"errors"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/chunkup/chunkup/breaker"
	"github.com/chunkup/chunkup/budget"
	"github.com/chunkup/chunkup/multipart/lanes"
	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign"
)

// call is one operation from its first attempt to its end: what the retry loop
// remembers about it.
type call struct {
	op      wire.Operation
	part    int
	name    string // tells operations apart at the breaker
	bytes   int64  // what one attempt puts on the wire
	data    bool   // it is of the data plane: takes a lane
	first   bool   // the first of an upload: refused, not kept waiting, by an open breaker
	cleanup bool   // drops what a failed upload has left
	inner   bool   // part of completing: its success is not another operation's
	pay     *budget.Operation
	waits   *schedule
	lane    *lanes.Lane // while an attempt is under way

	permit *breaker.Permit // of the attempt under way
	free   bool            // which neither pays nor heeds doubt

	began     time.Time
	since     time.Time // it has been in trouble: the elapsed bound counts from here
	attempts  int       // that were made
	failures  int       // in a row, with nothing else succeeding in between
	counted   int       // failures in all
	successes int64     // of the endpoint, at the last failure
	stretch   int       // the next send deadline is so many times as long
	remints   int       // in a row
	rereads   int
	looks     int       // for an object that may be on its way
	checks    int       // of what is behind a refusal
	mintless  int       // attempts in a row for which there was no request
	minted    time.Time // the last request
	request   presign.Request
	refused   presign.Request // the last that was refused as expired
	wait      time.Duration   // before the next attempt
	reason    string          // of that wait
	ambiguous bool            // an earlier attempt may have been applied
	expect    bool            // the last attempt may have hidden a refusal
	fresh     bool            // the last attempt's connection, or the way to it, was bad
	expired   bool            // the last attempt's request was refused for its age, or for what a new one may mend
	ticked    bool            // it has waited for the next second, for another signature
	once      bool            // no more than one new request may mend it
	last      error           // what failed last
	troubled  bool            // counted in others
	others    *atomic.Int64   // the endpoint's operations that are in trouble, this one included
}

// newCall begins an operation; its end must be told to c.pay.
func (r *run) newCall(op wire.Operation, part int, bytes int64) *call {
	return &call{
		op: op, part: part, bytes: bytes,
		name:  r.token + "/" + op.String() + "/" + strconv.Itoa(part),
		data:  op == wire.PutPart || op == wire.PutObject,
		pay:   r.share.Operation(bytes),
		waits: newSchedule(r.options.Backoff, r.options.Rand),
		began: time.Now(), since: time.Now(), stretch: 1, others: &r.endpoint.troubled,
	}
}

// fails remembers what failed last. With its first failure an operation comes
// into trouble.
func (c *call) fails(err error) {
	if c.last == nil {
		c.since = time.Now()
	}
	c.last = err
	if !c.troubled {
		c.troubled = true
		c.others.Add(1)
	}
}

// over ends the call's trouble.
func (c *call) over() {
	if c.troubled {
		c.troubled = false
		c.others.Add(-1)
	}
}

// isAlone reports that no other operation at the endpoint is in trouble.
func (c *call) isAlone() bool { return c.others.Load() <= 1 }

// result is what one attempt got.
type result struct {
	answer  wire.Answer
	err     error
	local   bool // it failed on this side
	bare    bool // a success without its proof
	other   bool // the store has other bytes than were sent
	expired bool // by the store's clock
}

// controlResult is the result of a control call.
func controlResult(err error) result { return result{err: err, local: isLocal(err)} }

// service reports that a service in between failed, and not the store.
func (res result) service() bool {
	_, ok := errors.AsType[*ServiceError](res.err)
	return ok
}

// missed is the phase whose deadline was missed, 0 if none was.
func (res result) missed() wire.Phase {
	if e, ok := errors.AsType[*wire.DeadlineError](res.err); ok {
		return e.Phase
	}
	return 0
}

// slow reports a send deadline that was missed although bytes moved.
func (res result) slow() bool {
	e, ok := errors.AsType[*wire.DeadlineError](res.err)
	return ok && e.Slow()
}

// idled reports the store's word that nothing came from here for too long.
func (res result) idled() bool {
	e, ok := errors.AsType[*wire.StoreError](res.err)
	return ok && e.Code == "RequestTimeout" && e.Status == 400
}

// unsent reports an attempt that was none: the machine slept through it, or the
// bytes were ready when it was too late to send them.
func (res result) unsent() bool {
	return errors.Is(res.err, errSuspended) || errors.Is(res.err, errTooLate)
}

// classify puts the attempt's end before the classifier; renewed says that its
// request was a new one after a refusal.
func (r *run) classify(c *call, res result, renewed bool) wire.Class {
	o := wire.Outcome{Op: c.op, Status: res.answer.Status, Bare: res.bare || res.err != nil, Expired: res.expired,
		Ambiguous: c.ambiguous, Renewed: renewed, Contacted: r.endpoint.contacted.Load()}
	if e, ok := errors.AsType[*wire.StoreError](res.err); ok {
		o.Status, o.Code, o.Message = e.Status, e.Code, e.Message
	} else if res.err != nil {
		o.Status, o.Err = 0, res.err
	} else if o.Status == 0 {
		o.Status = 200 // a control call that returned without an error
	}
	return wire.Classify(o)
}

// hidesRefusal tells a connection that broke before any status, behind which the
// store may have refused the request without reading the body: the next attempt
// asks first.
func hidesRefusal(res result) bool {
	_, late := errors.AsType[*wire.DeadlineError](res.err)
	return res.err != nil && !res.local && !late && res.answer.Status == 0 && res.answer.Conn != ""
}

// neverConnected tells an attempt that found no host, or none that would take a
// connection.
func neverConnected(err error) bool {
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" {
		return true
	}
	if d, ok := errors.AsType[*wire.DeadlineError](err); ok && d.Phase == wire.PhaseConnect {
		return true
	}
	_, ok := errors.AsType[*net.DNSError](err)
	return ok
}
