package multipart

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chunkup/chunkup/breaker"
	"github.com/chunkup/chunkup/budget"
	"github.com/chunkup/chunkup/multipart/lanes"
	"github.com/chunkup/chunkup/multipart/wire"
)

// DefaultLanes is how many parts are in flight at an endpoint unless told
// otherwise.
const DefaultLanes = 8

// EndpointOptions configure an [Endpoint]; the zero value gives the defaults.
type EndpointOptions struct {
	// Lanes is how many parts may be in flight over all uploads. 0 =
	// [DefaultLanes].
	Lanes int

	// Budget is that of the retries. Retries 0 = max(10, Lanes).
	Budget budget.Options

	// Breaker guards the endpoint. Its OnChange, if set, is called besides the
	// uploads' own events.
	Breaker breaker.Options

	// Client sends the parts. nil makes one of its own with default limits.
	Client *wire.Client
}

// Endpoint is what all uploads to one scheme, host and bucket share: the retry
// budget, the circuit breaker, the lanes, the connections, and a store's word
// when to come back. It is safe for concurrent use; the zero value is not
// usable, see [NewEndpoint] and [DefaultEndpoints].
type Endpoint struct {
	budget  *budget.Budget
	breaker *breaker.Breaker
	lanes   *lanes.Gate
	client  *wire.Client

	contacted atomic.Bool // the host has answered once

	mu        sync.Mutex
	notBefore time.Time // a Retry-After, for everybody
	watchers  map[*run]struct{}
}

// NewEndpoint returns an endpoint that shares nothing with others.
func NewEndpoint(o EndpointOptions) *Endpoint {
	if o.Lanes <= 0 {
		o.Lanes = DefaultLanes
	}
	if o.Budget.Retries == 0 {
		o.Budget.Retries = float64(max(10, o.Lanes))
	}
	if o.Client == nil {
		o.Client = wire.NewClient(wire.Options{})
	}
	e := &Endpoint{
		budget:   budget.New(o.Budget),
		lanes:    lanes.New(o.Lanes),
		client:   o.Client,
		watchers: map[*run]struct{}{},
	}
	also := o.Breaker.OnChange
	o.Breaker.OnChange = func(from, to breaker.State) {
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

// CloseIdle closes the connections that no part is using.
func (e *Endpoint) CloseIdle() { e.client.CloseIdle() }

func (e *Endpoint) watch(r *run) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.watchers[r] = struct{}{}
}

func (e *Endpoint) unwatch(r *run) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.watchers, r)
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

// held is how long everybody still has to wait.
func (e *Endpoint) held() time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return max(time.Until(e.notBefore), 0)
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

// sleep waits for d or for the end of ctx, whose cause it then returns.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// random is the source of jitter unless one is given.
func random() float64 { return rand.Float64() }
