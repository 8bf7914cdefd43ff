package multipart

import (
	"sync"
	"time"

	"github.com/chunkup/chunkup/breaker"
	"github.com/chunkup/chunkup/budget"
	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart/wire"
)

// Kind says what an [Event] tells.
type Kind uint8

// The kinds, with the fields that each fills besides Time and Object.
const (
	Planned        Kind = iota + 1 // Plan
	Attempted                      // Op, Part, Attempt, Status, Code, Class, Again, Phase, Sent, Elapsed, RequestID, Conn, Err
	Waited                         // Op, Part, Attempt, Wait, Reason
	Minted                         // Part, Reason
	BreakerChanged                 // From, To
	Progressed                     // Done, Total, Lanes, Budget
	Warned                         // Err: nothing failed, but it should be known
	Created                        // UploadID
	Resumed                        // UploadID, Parts and Done: what the store has from an earlier run
)

// Event is one thing that happened in an upload. It holds no secret but those
// that the caller has put into the Object's headers.
type Event struct {
	Kind   Kind
	Time   time.Time
	Object Object

	Plan    chunker.Plan
	Op      wire.Operation
	Part    int // 0 if it is not about a part
	Attempt int // 1-based

	Status    int
	Code      string
	Class     wire.Class
	Again     bool       // another attempt follows
	Phase     wire.Phase // whose deadline was missed; 0 if none was
	Sent      int64      // bytes
	Elapsed   time.Duration
	RequestID string
	Conn      string // local address
	Err       error

	// Wait is, for backoff and retry-after, what will be waited; for budget
	// and breaker, whose end nobody knows before, what was.
	Wait   time.Duration
	Reason string // backoff, retry-after, budget, breaker; first, expiring, expired

	From, To breaker.State

	UploadID string
	Parts    int

	Done, Total int64 // bytes; Done falls when an attempt fails

	Lanes  int          // parts that may be in flight at the endpoint
	Budget budget.Level // of the endpoint's retries
}

// progressEvery is how often progress is told.
const progressEvery = 250 * time.Millisecond

// teller hands events to an observer, in order, from a goroutine of its own, so
// that a slow observer holds up nobody. A nil teller tells nobody.
type teller struct {
	observe  func(Event)
	object   Object
	progress func() Event

	mu     sync.Mutex
	queue  []Event
	wake   chan struct{}
	closed bool
	done   chan struct{}
}

func newTeller(observe func(Event), o Object, progress func() Event) *teller {
	if observe == nil {
		return nil
	}
	t := &teller{observe: observe, object: o, progress: progress,
		wake: make(chan struct{}, 1), done: make(chan struct{})}
	go t.run()
	return t
}

func (t *teller) tell(e Event) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	e.Time, e.Object = time.Now(), t.object
	if t.closed {
		return
	}
	t.queue = append(t.queue, e)
	select {
	case t.wake <- struct{}{}:
	default: // it is awake already
	}
}

// follow makes what is told from now on about an object of another name.
func (t *teller) follow(o Object) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.object = o
}

// close tells the last progress and everything still queued, then returns.
func (t *teller) close() {
	if t == nil {
		return
	}
	t.tell(t.progress())
	t.mu.Lock()
	t.closed = true
	close(t.wake)
	t.mu.Unlock()
	<-t.done
}

func (t *teller) run() {
	defer close(t.done)
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case _, open := <-t.wake:
			t.flush()
			if !open {
				return
			}
		case <-tick.C:
			t.tell(t.progress())
			t.flush()
		}
	}
}

func (t *teller) flush() {
	t.mu.Lock()
	events := t.queue
	t.queue = nil
	t.mu.Unlock()
	for _, e := range events {
		t.observe(e)
	}
}
