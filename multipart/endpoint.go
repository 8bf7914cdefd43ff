package multipart

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/chunkup/chunkup/breaker"
	"github.com/chunkup/chunkup/budget"
	"github.com/chunkup/chunkup/multipart/lanes"
	"github.com/chunkup/chunkup/multipart/wire"
)

// How many parts are in flight at an endpoint at first, and at most, unless told
// otherwise.
const (
	DefaultLanes = lanes.DefaultStart
	MaxLanes     = lanes.DefaultMax
)

// EndpointOptions configure an [Endpoint]; the zero value gives the defaults.
type EndpointOptions struct {
	// Lanes is the ceiling on parts in flight over all uploads; how many there
	// are below it is found out. 0 = [MaxLanes]. It begins with [DefaultLanes].
	Lanes int

	// Budget is that of the retries. Retries 0 = max(10, Lanes).
	Budget budget.Options

	// Breaker guards the endpoint. Its OnChange, if set, is called besides the
	// uploads' own events.
	Breaker breaker.Options

	// Client sends the parts. nil makes one of its own with default limits.
	Client *wire.Client

	// Bandwidth bounds what all uploads together send, in bytes a second. 0 =
	// no bound.
	Bandwidth int64

	// Wall reads the wall clock, by which the endpoint notices that the machine
	// was suspended. nil = time.Now.
	Wall func() time.Time
}

// Endpoint is what all uploads to one scheme, host and bucket share: the retry
// budget, the circuit breaker, the lanes, the connections, what was learned of the
// link, and a store's word when to come back. It is safe for concurrent use; the zero value is not
// usable, see [NewEndpoint] and [DefaultEndpoints].
type Endpoint struct {
	budget  *budget.Budget
	breaker *breaker.Breaker
	lanes   *lanes.Gate
	client  *wire.Client
	awake   *awake
	pace    *rate.Limiter // nil: as fast as it goes
	link    link

	contacted  atomic.Bool  // the host has answered once
	noContinue atomic.Bool  // the host lets those who Expect wait in vain
	successes  atomic.Int64 // operations that were done
	troubled   atomic.Int64 // operations under way whose last attempt failed

	mu        sync.Mutex
	notBefore time.Time // a Retry-After, for everybody
	watchers  map[*run]struct{}
}

// NewEndpoint returns an endpoint that shares nothing with others.
func NewEndpoint(o EndpointOptions) *Endpoint {
	if o.Budget.Retries == 0 {
		o.Budget.Retries = float64(max(10, o.Lanes))
	}
	if o.Lanes <= 0 {
		o.Lanes = MaxLanes
	}
	if o.Client == nil {
		o.Client = wire.NewClient(wire.Options{})
	}
	if o.Wall == nil {
		o.Wall = time.Now
	}
	e := &Endpoint{
		budget:   budget.New(o.Budget),
		lanes:    lanes.New(lanes.Options{Start: DefaultLanes, Max: o.Lanes}),
		client:   o.Client,
		watchers: map[*run]struct{}{},
	}
	e.awake = newAwake(o.Wall, e.woke)
	if o.Bandwidth > 0 {
		e.pace = newPace(o.Bandwidth)
	}
	also := o.Breaker.OnChange
	o.Breaker.OnChange = func(from, to breaker.State) {
		if to == breaker.Open {
			// Prepared now, for those who wait may be let go before they are told.
			e.lanes.SlowStart()
		}
		e.tellChange(from, to)
		if also != nil {
			also(from, to)
		}
	}
	e.breaker = breaker.New(o.Breaker)
	return e
}

// Budget is the live level of the retry budget.
func (e *Endpoint) Budget() budget.Level { return e.budget.Level() }

// Breaker is the state of the circuit breaker.
func (e *Endpoint) Breaker() breaker.State { return e.breaker.State() }

// Lanes is how many parts may be in flight now.
func (e *Endpoint) Lanes() int { return e.lanes.Limit() }

// CloseIdle closes the connections that no part is using.
func (e *Endpoint) CloseIdle() { e.client.CloseIdle() }

func (e *Endpoint) watch(r *run) {
	e.awake.begin()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.watchers[r] = struct{}{}
}

func (e *Endpoint) unwatch(r *run) {
	e.awake.end()
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.watchers, r)
}

// woke makes good for a sleep of the machine: the kept connections are dead, what
// the breaker knows is old, and the time was nobody's trouble.
func (e *Endpoint) woke() {
	e.client.CloseIdle()
	e.breaker.Forget()
	e.mu.Lock()
	defer e.mu.Unlock()
	for r := range e.watchers {
		r.progress.seen()
	}
}

func (e *Endpoint) tellChange(from, to breaker.State) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for r := range e.watchers {
		r.teller.tell(Event{Kind: BreakerChanged, From: from, To: to})
	}
}

// hold makes everybody wait for d: a store that says when to come back says it
// to all.
func (e *Endpoint) hold(d time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if until := time.Now().Add(d); until.After(e.notBefore) {
		e.notBefore = until
	}
}

// held is how long everybody still has to wait, by whichever clock has gone
// further: one stops while the machine sleeps, the other may be set back.
func (e *Endpoint) held() time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return max(min(time.Until(e.notBefore), e.notBefore.Round(0).Sub(e.awake.now())), 0)
}

// Endpoints is a registry: one [Endpoint] per scheme, host and bucket. The
// zero value is ready to use, and safe for concurrent use.
type Endpoints struct {
	mu sync.Mutex
	m  map[string]*Endpoint
}

// DefaultEndpoints serves the uploaders that are given no endpoint, so that a
// process which makes an uploader per request still has one budget. It is to
// endpoints what http.DefaultTransport is to connections.
var DefaultEndpoints Endpoints

// Get returns the endpoint of a store's scheme and host ("https://host") and a
// bucket, making it with the default options at first.
func (s *Endpoints) Get(host, bucket string) *Endpoint {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := host + "/" + bucket
	e := s.m[key]
	if e == nil {
		if s.m == nil {
			s.m = map[string]*Endpoint{}
		}
		e = NewEndpoint(EndpointOptions{})
		s.m[key] = e
	}
	return e
}

// random is the source of jitter unless one is given.
func random() float64 { return rand.Float64() }
