// Package budget decides whether a retry may be spent now.
//
// One Budget serves one endpoint: every part of every upload in the process
// draws on it, so that an outage is met with less traffic and not with more.
// An upload calls [Budget.Join] once, makes a [Share.Operation] of each request
// that it wants done, and puts [Operation.Begin] before and [Operation.Settle]
// after every attempt at it.
//
// A retry pays from two counters, requests and bytes, and needs room in both.
// First attempts are free. The counters fill by themselves with time, and a
// little more with every success. An empty budget fails nothing: Begin waits,
// and the shares are served in turn, so that one failing upload cannot starve
// the others.
//
// # Doubt
//
// A budget for retries alone does not stop fresh work from hammering a dead
// store, for first attempts are free and an upload has thousands. So a failure
// puts the endpoint in doubt: until something succeeds, first attempts wait for
// the verdict of those who failed and try again. When all of those have given
// up, a first attempt may take their place, one at a time, and pays like a retry.
// When they say nothing for 15 seconds, for one hangs, and no retry waits to pay,
// one first attempt may join them, and pays too; the next may after 15 seconds more
// without a success or a failure. So what hangs does not hold others for long.
//
// From the failure that raises a doubt to the success that ends it there are at
// most
//
//	attempts in flight at its start + Options.Retries + Options.Floor × seconds
//
// requests, a breaker's probes and void attempts apart, and as many nominal parts
// of bytes on the wire, whatever the sizes of the parts and whoever gives up.
// (A part larger than the capacity counts instead of the capacity, see below. With
// a negative Floor there is one request more for each operation that gives up.)
//
// # Bytes
//
// Bytes are counted in nominal parts, the largest part size among the uploads
// that have joined, so both counters have the same capacity and fill in the same
// time. When the largest upload comes or goes, the counter keeps its number of
// parts, and each is worth more or fewer bytes; what was charged is given back
// in the parts that it was charged in, so coming and going mints nothing. A part
// larger than the whole capacity passes when the counter is full and leaves a
// debt, which keeps its number of parts too and is worked off by time.
//
// # What it does not do
//
// It does not back off, does not count attempts and never gives up: delays and
// limits are the caller's, and so is telling a failure of the store from one of
// our own. It does not see whether the endpoint is down: that is the breaker.
//
// # Where the figures come from
//
// A capacity of 10 and 0.1 for a success are the example of gRPC's retry
// throttling (https://github.com/grpc/proposal/blob/master/A6-client-retries.md),
// which stops at an empty budget where this one waits. That a retry which
// succeeds gets its charge back is from the standard retryer of the AWS SDK
// (aws-sdk-go-v2, aws/retry), whose bucket fills by success only: waiting on
// such a bucket can wait for ever. The refill by time is Finagle's
// (com.twitter.finagle.service.RetryBudget, 10 retries a second); here it is 0.5,
// because a retry is a part of many megabytes and not a call of a few kilobytes.
package budget

import (
	"sync"
	"time"
)

const (
	defaultRetries = 10
	defaultRatio   = 0.1
	defaultFloor   = 0.5
)

// Options are the figures of a Budget. The zero value is the default.
type Options struct {
	// Retries is the capacity, in retries: so many can start at once from a full
	// budget. 0 or less means 10.
	Retries float64

	// Ratio is what a success earns: this much of a retry, and the same share of
	// the bytes of its operation. 0 means 0.1, negative means nothing.
	Ratio float64

	// Floor is what a second earns, in retries, whether anything succeeds or not.
	// 0 means 0.5. Negative means nothing: then retries depend on successes and on
	// what others give back, and if there are none they wait until their context ends.
	// A first attempt that takes the place of all who gave up is free then, since
	// nothing else would ever earn its price.
	Floor float64
}

// A Budget is what an endpoint can spend on retries. Make one with [New]; the
// zero value is not usable. It is safe for concurrent use and has no goroutine,
// only a timer while something waits for a refill.
type Budget struct {
	capacity float64 // of either counter
	ratio    float64
	floor    float64 // a second

	mu      sync.Mutex
	level   amount    // what is left, as of the time at
	at      time.Time // with its monotonic reading
	part    int64     // nominal part, in bytes
	shares  map[*Share]struct{}
	doubt   bool
	quiet   time.Time   // the last failure, or the last first attempt to start in doubt
	trying  int         // operations whose verdict first attempts wait for
	retries queue       // attempts that wait until they can pay
	firsts  queue       // attempts that doubt holds
	timer   *time.Timer // runs pump when the next in turn may start
}

// An amount is a price or a level: requests, and bytes in nominal parts.
type amount struct{ requests, parts float64 }

// New returns a full budget.
func New(o Options) *Budget {
	b := &Budget{
		capacity: defaultRetries,
		ratio:    setting(o.Ratio, defaultRatio),
		floor:    setting(o.Floor, defaultFloor),
		at:       time.Now(),
		part:     1,
		shares:   map[*Share]struct{}{},
	}
	if o.Retries > 0 {
		b.capacity = o.Retries
	}
	b.level = amount{b.capacity, b.capacity}
	return b
}

// setting returns v, or its default for zero, or 0 for "nothing".
func setting(v, zero float64) float64 {
	if v == 0 {
		return zero
	}
	return max(v, 0)
}

// A Share is one upload's place in a [Budget]. Its operations are served in the
// order in which they came, and the shares of a budget in turn. It comes from
// [Budget.Join]; the zero value is not usable. It is safe for concurrent use.
type Share struct {
	budget *Budget
	part   int64
}

// Join adds an upload whose parts have, as a rule, this many bytes; less than 1
// counts as 1. It is safe for concurrent use.
func (b *Budget) Join(part int64) *Share {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := &Share{budget: b, part: max(part, 1)} // so that prices are finite
	nominal := s.part
	if len(b.shares) > 0 {
		nominal = max(nominal, b.part)
	}
	b.shares[s] = struct{}{}
	b.rescale(nominal)
	return s
}

// Leave ends the share, after its operations have ended. Calls after the first
// do nothing. It is safe for concurrent use.
func (s *Share) Leave() {
	b := s.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.shares, s)
	if s.part < b.part || len(b.shares) == 0 {
		return // until the next one joins, Level goes on in the last unit
	}
	b.rescale(b.largest())
}

// largest is the largest part size of those who have joined. Many have the same, as a
// rule: the first that has what was the largest ends the search.
func (b *Budget) largest() int64 {
	largest := int64(1)
	for s := range b.shares {
		if largest = max(largest, s.part); largest == b.part {
			break
		}
	}
	return largest
}

// rescale sets the nominal part. The levels stay as they are, in parts; the prices
// of those who wait change.
func (b *Budget) rescale(nominal int64) {
	if nominal != b.part {
		b.part = nominal
		b.pump()
	}
}

// A Level is a snapshot of a Budget.
type Level struct {
	// Requests and Bytes are what is left. An operation larger than the capacity
	// leaves a debt: they can be negative.
	Requests, Bytes float64
	// CapacityRequests and CapacityBytes are what a full budget has. The bytes
	// follow the nominal part of the uploads that have joined; when all have left
	// it stays as it was.
	CapacityRequests, CapacityBytes float64
	// Parked counts the attempts that wait in Begin: those that cannot pay yet,
	// and first attempts that doubt holds.
	Parked int
	// Doubt is whether something has failed and nothing has succeeded since.
	Doubt bool
}

// Level returns the figures of this moment, for display and tests. It is safe
// for concurrent use.
func (b *Budget) Level() Level {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refill(time.Now())
	return Level{
		Requests:         b.level.requests,
		Bytes:            b.level.parts * float64(b.part),
		CapacityRequests: b.capacity,
		CapacityBytes:    b.capacity * float64(b.part),
		Parked:           b.retries.len + b.firsts.len,
		Doubt:            b.doubt,
	}
}

// refill adds what time has earned up to now. No time earns twice: a now that is
// not later than all before changes nothing, and now has a monotonic reading, which
// a wall clock that is set does not move.
func (b *Budget) refill(now time.Time) {
	passed := now.Sub(b.at).Seconds()
	if passed <= 0 {
		return
	}
	b.at = now
	b.credit(amount{passed * b.floor, passed * b.floor})
}

// credit adds to the level, as far as there is room.
func (b *Budget) credit(a amount) {
	b.level.requests = min(b.capacity, b.level.requests+a.requests)
	b.level.parts = min(b.capacity, b.level.parts+a.parts)
}

// short returns what the emptier counter lacks to pay a: not above 0 when both
// have it. More than the capacity is never there, so a full counter will do.
func (b *Budget) short(a amount) float64 {
	return max(
		min(a.requests, b.capacity)-b.level.requests,
		min(a.parts, b.capacity)-b.level.parts,
	)
}
