package mint

import (
	"context"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/chunkup/chunkup/presign"
)

const (
	// maxBatch and maxChecksums bound what goes into one call: parts, and bytes of
	// their checksums. A proxy may take no longer line than 8 KiB.
	maxBatch     = 100
	maxChecksums = 4 << 10

	// leastLife is how long requests must live for it to be worth making them ahead.
	leastLife = 30 * time.Second

	// maxReady bounds the requests that are kept for later.
	maxReady = 1000
)

var errClosed = errors.New("the client of the minting service is closed")

// signer asks for the requests of parts of one upload, with one header for their
// checksums. Either all fail with the error, or each has an outcome.
type signer func(ctx context.Context, parts []presign.Part) ([]outcome, error)

// outcome is a request, or why there is none.
type outcome struct {
	request presign.Request
	err     error
}

// line names those that can go in one call.
type line struct{ bucket, key, uploadID, checksumHeader string }

// want is a request that somebody waits for, or is expected to.
type want struct {
	part    presign.Part
	id      string
	line    line
	ahead   bool    // it is kept if nobody waits for it when it comes
	waiters int     // who do
	flight  *flight // that brings it; nil: it waits for one
	done    chan struct{}
	outcome outcome // once done is closed
}

// useless tells what nobody wants any more.
func (w *want) useless() bool { return w.waiters == 0 && !w.ahead }

// flight is one call under way.
type flight struct {
	wants  []*want
	cancel context.CancelFunc
}

// desk brings together those who want requests of one upload: while a call for it is
// under way they queue, and go together in the next. It is safe for concurrent use.
type desk struct {
	sign  signer
	limit time.Duration // of a flight
	late  error         // of one that takes longer

	mu      sync.Mutex
	open    map[string]*want // by identity: those that another may join
	queues  map[line][]*want // there is one as long as a flight of its line is under way
	ready   map[string]made  // made ahead, by identity
	life    time.Duration    // of the last request; 0: unknown
	flights map[*flight]struct{}
	closed  bool
}

func newDesk(sign signer, limit time.Duration, late error) *desk {
	return &desk{sign: sign, limit: limit, late: late, open: map[string]*want{}, queues: map[line][]*want{},
		ready: map[string]made{}, flights: map[*flight]struct{}{}}
}

// made is a request that was made ahead.
type made struct {
	request presign.Request
	margin  time.Duration // which must be left of its life
}

// isGood reports that a request made ahead will reach the store in time.
func (m made) isGood() bool {
	return m.request.NotAfter.IsZero() || time.Until(m.request.NotAfter) > m.margin
}

// get returns the request for a part: one made ahead, once; else what the next call
// brings. Its context ends the waiting, and the call only if nobody else waits for it.
func (d *desk) get(ctx context.Context, p presign.Part) (presign.Request, error) {
	if ctx.Err() != nil {
		return presign.Request{}, context.Cause(ctx)
	}
	d.mu.Lock()
	id := p.Identity()
	m, found := d.ready[id]
	delete(d.ready, id)
	switch {
	case d.closed:
		d.mu.Unlock()
		return presign.Request{}, errClosed
	case found && m.isGood():
		d.mu.Unlock()
		return m.request, nil
	}
	w := d.enter(ctx, p, id)
	w.waiters++
	d.mu.Unlock()
	select {
	case <-w.done:
		r := w.outcome.request
		r.Header = r.Header.Clone() // there may be others
		return r, w.outcome.err
	case <-ctx.Done():
		d.leave(w)
		return presign.Request{}, context.Cause(ctx)
	}
}

// anticipate has a request made that will be wanted, unless those live too shortly.
func (d *desk) anticipate(p presign.Part) {
	d.mu.Lock()
	defer d.mu.Unlock()
	id := p.Identity()
	m, found := d.ready[id]
	if len(d.ready) >= maxReady {
		maps.DeleteFunc(d.ready, func(_ string, m made) bool { return !m.isGood() })
	}
	if d.closed || found && m.isGood() || d.life != 0 && d.life < leastLife || len(d.ready) >= maxReady {
		return
	}
	d.enter(context.Background(), p, id).ahead = true
}

// enter joins who wants the same already, or queues. The lock is held.
func (d *desk) enter(ctx context.Context, p presign.Part, id string) *want {
	if w := d.open[id]; w != nil {
		return w
	}
	w := &want{part: p, id: id, line: line{p.Bucket, p.Key, p.UploadID, p.ChecksumHeader}, done: make(chan struct{})}
	d.open[id] = w
	queue, underWay := d.queues[w.line]
	d.queues[w.line] = append(queue, w)
	if !underWay {
		d.depart(ctx, w.line)
	}
	return w
}

// leave is the end of one's waiting.
func (d *desk) leave(w *want) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if w.waiters--; w.useless() {
		d.drop(w)
	}
}

// drop forgets what nobody wants any more, and ends the call that would bring nothing
// else. The lock is held.
func (d *desk) drop(w *want) {
	if d.open[w.id] == w {
		delete(d.open, w.id)
	}
	if w.flight == nil {
		d.queues[w.line] = slices.DeleteFunc(d.queues[w.line], func(other *want) bool { return other == w })
	} else if !slices.ContainsFunc(w.flight.wants, func(other *want) bool { return !other.useless() }) {
		w.flight.cancel()
	}
}

// depart begins the next call of a line, detached from who happened to be first. The
// lock is held.
func (d *desk) depart(ctx context.Context, l line) {
	wants := d.next(l)
	if len(wants) == 0 {
		delete(d.queues, l)
		return
	}
	f := &flight{wants: wants}
	ctx, f.cancel = context.WithTimeoutCause(context.WithoutCancel(ctx), d.limit, d.late)
	parts := make([]presign.Part, len(wants))
	for i, w := range wants {
		w.flight, parts[i] = f, w.part
	}
	d.flights[f] = struct{}{}
	go func() {
		defer f.cancel()
		outcomes, err := d.sign(ctx, parts)
		d.land(ctx, f, l, outcomes, err)
	}()
}

// next takes from a queue what fits into one call, in whose answer a number has one
// request. The lock is held.
func (d *desk) next(l line) []*want {
	queue, numbers := d.queues[l], map[int]bool{}
	n, bytes := 0, 0
	for ; n < min(len(queue), maxBatch); n++ {
		p := queue[n].part
		bytes += len(url.QueryEscape(p.Checksum)) + len(strconv.FormatInt(p.Size, 10))
		if numbers[p.Number] || bytes > maxChecksums && n > 0 {
			break
		}
		numbers[p.Number] = true
	}
	taken := queue[:n:n]
	d.queues[l] = queue[n:]
	return taken
}

// land hands out what a call has brought, and lets the next one go.
func (d *desk) land(ctx context.Context, f *flight, l line, outcomes []outcome, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.flights, f)
	if d.closed {
		err = errClosed
	}
	for i, w := range f.wants {
		if err != nil {
			w.outcome = outcome{err: err}
		} else {
			w.outcome = outcomes[i]
		}
		d.hand(w)
	}
	if !d.closed {
		d.depart(ctx, l)
	}
}

// hand gives a request to those who wait for it, or keeps it. The lock is held.
func (d *desk) hand(w *want) {
	if d.open[w.id] == w {
		delete(d.open, w.id)
	}
	close(w.done)
	if w.outcome.err != nil {
		return
	}
	r := w.outcome.request
	var life time.Duration
	if !r.NotAfter.IsZero() {
		life = max(time.Until(r.NotAfter), 1)
		d.life = life
	}
	if w.waiters == 0 && w.ahead {
		d.ready[w.id] = made{request: r, margin: min(2*time.Second, life/10)}
	}
}

// forget drops all that was made ahead, or is being made: it may be as stale as what
// has just been refused. Who waits already gets it all the same.
func (d *desk) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.ready)
	for id, w := range d.open {
		w.ahead = false
		if w.flight != nil {
			delete(d.open, id)
		}
		if w.useless() {
			d.drop(w)
		}
	}
}

// close ends all calls; who waits for one gets an error.
func (d *desk) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	clear(d.ready)
	for f := range d.flights {
		f.cancel()
	}
	for _, queue := range d.queues {
		for _, w := range queue {
			w.outcome.err = errClosed
			close(w.done)
		}
	}
	clear(d.queues)
	clear(d.open)
}
