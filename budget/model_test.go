package budget_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/chunkup/chunkup/budget"
)

// The model is the contract once more, as plainly as it can be said: a ledger that
// is told what happened and when, and objects to a grant that is out of turn, not
// paid for, early or late.
type model struct {
	options         budget.Options
	requests, parts float64 // left
	at              time.Time
	nominal         int64
	shares          []*modelShare
	doubt           bool
	quiet           time.Time            // the last failure, or first attempt granted in doubt
	waiting         [2][]*modelOperation // first attempts and retries, by arrival
	turns           [2][]*modelShare     // shares that have any of them, by turn
	operations      []*modelOperation
	largest         float64 // price ever paid, in parts
	outage          outage
}

type modelShare struct {
	share *budget.Share
	part  int64
	left  bool
}

type modelOperation struct {
	*budget.Operation
	share                  *modelShare
	bytes                  int64
	failed, trying, parked bool
	paid                   bool // for the attempt in progress
	now                    *attempt
	cancel                 func()
	result                 <-chan result
}

// result is what a Begin returned, and when.
type result struct {
	err error
	at  time.Time
}

// An attempt is what the bound of an outage counts: its price in parts, and then
// what was sent of it.
type attempt struct {
	requests, parts float64
	probe           bool
}

// An outage lasts from a failure that raises a doubt to the success that ends it.
type outage struct {
	from            time.Time
	requests, parts float64    // in flight at its start
	attempts, free  []*attempt // all, and those among them that cost nothing
	gone            float64    // operations that ended
}

const (
	tolerance = 1e-6
	silence   = 15 * time.Second // after which a verdict is no longer waited for
)

func (m *model) price(o *modelOperation) (parts float64) {
	return float64(o.bytes) / float64(m.nominal)
}

// earn adds to both counters, up to the capacity.
func (m *model) earn(requests, parts float64) {
	m.requests = math.Min(m.options.Retries, m.requests+requests)
	m.parts = math.Min(m.options.Retries, m.parts+parts)
}

// advance refills up to a time.
func (m *model) advance(to time.Time) {
	earned := to.Sub(m.at).Seconds() * m.floor()
	m.earn(earned, earned)
	m.at = to
}

// floor is what a second earns.
func (m *model) floor() float64 { return math.Max(0, m.options.Floor) }

// spare is what the level has beyond the price of o: negative if it cannot pay.
func (m *model) spare(o *modelOperation) float64 {
	capacity := m.options.Retries
	return math.Min(m.requests-math.Min(1, capacity), m.parts-math.Min(m.price(o), capacity))
}

// kind is the index of the queue in which the operation's next attempt waits.
func (m *model) kind(o *modelOperation) int {
	if o.failed {
		return 1
	}
	return 0
}

// anyTries tells whether anybody's verdict is waited for.
func (m *model) anyTries() bool {
	return slices.ContainsFunc(m.operations, func(o *modelOperation) bool { return o.trying })
}

// begin records that the operation asks to start.
func (m *model) begin(o *modelOperation) {
	if !o.failed && !m.doubt {
		m.started(o, &attempt{parts: m.price(o), requests: 1}, false)
		return
	}
	o.trying = o.failed
	o.parked = true
	kind := m.kind(o)
	if !slices.Contains(m.turns[kind], o.share) {
		m.turns[kind] = append(m.turns[kind], o.share)
	}
	m.waiting[kind] = append(m.waiting[kind], o)
}

// unpark takes the operation out of the queue; served passes the turn on.
func (m *model) unpark(o *modelOperation, served bool) {
	kind := m.kind(o)
	o.parked = false
	m.waiting[kind] = slices.DeleteFunc(m.waiting[kind], func(w *modelOperation) bool { return w == o })
	more := slices.ContainsFunc(m.waiting[kind], func(w *modelOperation) bool { return w.share == o.share })
	if served || !more {
		m.turns[kind] = slices.DeleteFunc(m.turns[kind], func(s *modelShare) bool { return s == o.share })
	}
	if served && more {
		m.turns[kind] = append(m.turns[kind], o.share)
	}
}

// started records an attempt.
func (m *model) started(o *modelOperation, a *attempt, paid bool) {
	o.now, o.paid = a, paid
	if m.doubt && !a.probe {
		m.outage.attempts = append(m.outage.attempts, a)
	}
}

// next returns the operation that is to be granted next, whether it pays, and before
// when it must not start even if it can.
func (m *model) next() (o *modelOperation, pays bool, from time.Time) {
	kind := 0
	switch tries := m.anyTries(); {
	case !m.doubt && len(m.waiting[0]) > 0: // free
	case !tries: // takes the place of those who gave up
		pays = m.floor() > 0
	case len(m.waiting[1]) > 0:
		kind, pays = 1, true
	default: // joins those who say nothing
		pays, from = true, m.quiet.Add(silence)
	}
	if len(m.turns[kind]) == 0 {
		return nil, false, from
	}
	for _, w := range m.waiting[kind] {
		if w.share == m.turns[kind][0] {
			return w, pays, from
		}
	}
	panic("a share has a turn and nobody who waits")
}

// grants checks the Begins that returned, in the order of their times. quiet is
// whether time alone has granted them, so that none may be late.
func (m *model) grants(granted map[*modelOperation]time.Time, quiet bool) error {
	for len(granted) > 0 {
		o, pays, from := m.next()
		if o == nil {
			return errors.New("an attempt was granted although none was next")
		}
		at, ok := granted[o]
		if !ok {
			return fmt.Errorf("not the head of the turn was granted (%d at once)", len(granted))
		}
		delete(granted, o)
		moved := at.After(m.at)
		m.advance(at)
		m.unpark(o, true)
		if at.Before(from) {
			return fmt.Errorf("a first attempt was granted after %v of silence", at.Sub(m.quiet))
		}
		if spare := m.spare(o); pays && spare < -tolerance {
			return fmt.Errorf("an attempt was granted %v short", -spare)
		} else if quiet && moved && at.After(from) && (!pays || spare > tolerance) {
			return fmt.Errorf("an attempt was granted late (pays: %v, %v to spare, %v)", pays, spare, at.Sub(from))
		}
		m.granted(o, pays)
	}
	m.advance(time.Now())
	o, pays, from := m.next()
	if o != nil && !m.at.Before(from) && (!pays || m.spare(o) > tolerance) {
		return fmt.Errorf("an attempt stays parked although it may start (pays: %v, %v to spare)", pays, m.spare(o))
	}
	return nil
}

// granted books a grant.
func (m *model) granted(o *modelOperation, pays bool) {
	a := &attempt{requests: 1, parts: m.price(o)}
	if pays {
		m.requests--
		m.parts -= a.parts
		m.largest = math.Max(m.largest, a.parts)
	} else if m.doubt {
		m.outage.free = append(m.outage.free, a)
	}
	m.started(o, a, pays)
	if m.doubt && !o.failed {
		m.quiet = m.at
	}
	o.trying = o.trying || m.doubt
}

// settle books a verdict.
func (m *model) settle(o *modelOperation, v budget.Verdict, sent int64) {
	a := o.now
	o.now = nil
	price := m.price(o)
	back := *a
	if !o.paid {
		back = attempt{}
	}
	switch v {
	case budget.Void:
		o.trying = o.failed
		a.requests, a.parts = 0, 0
	case budget.Success:
		m.doubt, o.trying = false, false
		m.outage = outage{}
		m.earn(m.options.Ratio, m.options.Ratio*price)
	case budget.Failure:
		if !m.doubt {
			m.raise(a)
		}
		o.failed, o.trying, m.quiet = true, true, m.at
		back.requests = 0
		if o.bytes > 0 {
			share := float64(sent) / float64(o.bytes)
			back.parts *= 1 - share
			a.parts *= share
		}
	}
	m.earn(back.requests, back.parts)
}

// raise begins a doubt, with what is in flight.
func (m *model) raise(failed *attempt) {
	m.doubt = true
	m.outage = outage{from: m.at, attempts: []*attempt{failed}}
	for _, o := range m.operations {
		if o.now != nil {
			m.outage.attempts = append(m.outage.attempts, o.now)
		}
	}
	m.outage.requests, m.outage.parts = sum(m.outage.attempts)
}

func sum(attempts []*attempt) (requests, parts float64) {
	for _, a := range attempts {
		requests += a.requests
		parts += a.parts
	}
	return requests, parts
}

// check compares the level with the ledger, its range, and the bound of an outage.
func (m *model) check(l budget.Level) error {
	capacity, nominal := m.options.Retries, float64(m.nominal)
	debt := math.Max(0, m.largest-capacity)
	most := math.Max(0, 1-capacity) // of requests, if not even one is the capacity
	switch {
	case !near(l.Requests, m.requests) || !near(l.Bytes/nominal, m.parts):
		return fmt.Errorf("level %+v, ledger %v requests and %v bytes", l, m.requests, m.parts*nominal)
	case l.CapacityRequests != capacity || l.CapacityBytes != capacity*nominal:
		return fmt.Errorf("capacity %+v, want %v parts of %v", l, capacity, nominal)
	case l.Requests > capacity || l.Bytes > l.CapacityBytes || l.Requests < -most-tolerance:
		return fmt.Errorf("level out of range: %+v", l)
	case l.Bytes/nominal < -debt-tolerance:
		return fmt.Errorf("debt of %v parts, at most %v", -l.Bytes/nominal, debt)
	case l.Parked != len(m.waiting[0])+len(m.waiting[1]) || l.Doubt != m.doubt:
		return fmt.Errorf("level %+v, want %d parked, doubt %v", l, len(m.waiting[0])+len(m.waiting[1]), m.doubt)
	}
	if !m.doubt {
		return nil
	}
	requests, parts := sum(m.outage.attempts)
	free, freeParts := sum(m.outage.free)
	if free > m.outage.gone {
		return fmt.Errorf("%v free attempts in an outage, and %v operations gave up", free, m.outage.gone)
	}
	earned := m.at.Sub(m.outage.from).Seconds() * m.floor()
	if most := m.outage.requests + free + math.Max(capacity, 1) + earned; requests > most+tolerance {
		return fmt.Errorf("%v requests in an outage, at most %v", requests, most)
	}
	if most := m.outage.parts + freeParts + math.Max(capacity, m.largest) + earned; parts > most+tolerance*most {
		return fmt.Errorf("%v parts sent in an outage, at most %v", parts, most)
	}
	return nil
}
