package multipart

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chunkup/chunkup/budget"
	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign"
)

// run is one upload, from its plan to its result.
type run struct {
	control  Control
	provider *presign.Shared
	options  Options
	endpoint *Endpoint
	traits   Traits

	asked  Object         // as the caller calls it
	object Object         // as the store does: a service may choose the key
	header http.Header    // the object's, with the token
	source chunker.Source // nil for a stream
	plan   chunker.Plan   // of a stream: its size is known at the end
	total  atomic.Int64   // number of the parts; 0 while nobody knows
	token  string
	began  time.Time
	state  *keeper // nil: nothing is kept on disk

	share    *budget.Share
	deck     deck
	progress *progress
	teller   *teller

	upload Upload      // set by create, before there are parts
	cutOff atomic.Bool // a part was on its way when its attempt ended
	begun  bool        // the journal is this run's: before that, what an earlier one left stays
	orphan bool        // an attempt to create got no clear answer
	parts  manifest
	info   Info // what the store said at the end
	whole  chunker.Digest

	mu      sync.Mutex
	stats   Result
	failing *Error    // what failed last, if nothing was done since
	renewed time.Time // when the provider was last told to forget
}

// newRun begins an upload; src is nil for a stream, state if nothing is kept.
func (u *Uploader) newRun(o Object, src chunker.Source, plan chunker.Plan, state *keeper) *run {
	r := &run{
		control: u.control, provider: u.provider, options: u.options,
		endpoint: u.endpoint(o.Bucket), traits: u.control.Traits(),
		asked: o, object: o, source: src, plan: plan, token: state.token(o), began: time.Now(), state: state,
		progress: newProgress(plan.Size),
	}
	if state != nil {
		state.parts = &r.parts
	}
	if src != nil {
		r.total.Store(int64(plan.Len()))
	}
	if src != nil && plan.Size == 0 {
		r.empties()
	}
	r.deck.lanes = r.endpoint.lanes.Limit
	r.header = o.headers(r.traits.MetaPrefix, r.token)
	r.share = r.endpoint.budget.Join(max(plan.PartSize, 1))
	r.teller = newTeller(u.options.OnEvent, o, r.figures)
	r.endpoint.watch(r)
	return r
}

// empties makes an upload one of an empty object, which some stores take no checksum
// of if it is made of an empty part.
func (r *run) empties() {
	if r.traits.PartsOnly {
		r.traits.Algorithm, r.traits.Whole, r.traits.FullObject = chunker.MD5, chunker.None, false
	}
}

// size is that of the object, negative if nobody knows yet.
func (r *run) size() int64 {
	if r.source == nil && r.total.Load() == 0 {
		return -1
	}
	return r.plan.Size
}

func (r *run) end() {
	r.state.release()
	r.endpoint.unwatch(r)
	r.share.Leave()
	r.teller.close()
}

// follow takes the name that the control plane has given the object.
func (r *run) follow(u Upload) {
	was := r.object.String()
	r.object.Bucket, r.object.Key = u.Bucket, u.Key
	r.teller.follow(r.object)
	if name := r.object.String(); name != was {
		r.warn(fmt.Errorf("the object is kept as %s: so the service has chosen", name))
	}
}

// unfollow goes back to the name that the caller uses.
func (r *run) unfollow() {
	r.object = r.asked
	r.teller.follow(r.asked)
}

// warn tells what should be known although nothing failed.
func (r *run) warn(err error) { r.teller.tell(Event{Kind: Warned, Err: err}) }

func (r *run) result() Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	res := r.stats
	res.Object, res.Size, res.PartSize, res.Token = r.object, r.plan.Size, r.plan.PartSize, r.token
	res.ETag, res.VersionID, res.Digest = r.info.ETag, r.info.VersionID, r.whole
	if res.UploadID = r.upload.ID; res.UploadID != "" {
		res.Parts = int(r.total.Load())
	}
	res.Elapsed = time.Since(r.began)
	return res
}

// count adds an attempt to the figures.
func (r *run) count(c *call, res result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if res.local || res.service() {
		return // nothing was sent to the store
	}
	r.stats.Requests++
	if !c.data {
		return
	}
	r.stats.Attempts++
	r.stats.SentBytes += res.answer.Sent
	if c.attempts > 1 {
		r.stats.Retries++
	}
}

// figures are those of this moment.
func (r *run) figures() Event {
	done, total := r.progress.level()
	return Event{Kind: Progressed, Done: done, Total: total, Lanes: r.endpoint.Lanes(), Budget: r.endpoint.Budget()}
}

// tell tells an event about an operation.
func (r *run) tell(c *call, e Event) {
	e.Op, e.Part, e.Attempt = c.op, c.part, c.attempts
	r.teller.tell(e)
}

func (r *run) tellAttempt(c *call, class wire.Class, res result, again bool) {
	e := Event{Kind: Attempted, Class: class, Again: again, Status: res.answer.Status, Sent: res.answer.Sent,
		Elapsed: res.answer.Elapsed, Conn: res.answer.Conn, Err: res.err}
	if e.Status != 0 {
		e.RequestID = res.answer.Header.Get("X-Amz-Request-Id")
	} else if res.err == nil {
		e.Status = http.StatusOK // of a control call, which does not say
	}
	if s, ok := errors.AsType[*wire.StoreError](res.err); ok {
		e.Status, e.Code, e.RequestID = s.Status, s.Code, s.RequestID
	}
	if d, ok := errors.AsType[*wire.DeadlineError](res.err); ok {
		e.Phase = d.Phase
	}
	r.tell(c, e)
}

// stopped makes the error of an operation that was not admitted: the root
// cause first, if it has failed before.
func (r *run) stopped(ctx context.Context, c *call, err error) error {
	if canceled(ctx) {
		return r.ended(ctx, c)
	}
	return r.interrupted(c, err)
}

// ended makes the error of an operation whose context is over: the failure of
// another part of the upload if that ended it, else its own last failure and the
// caller's cause.
func (r *run) ended(ctx context.Context, c *call) error {
	cause := context.Cause(ctx)
	sibling, ok := errors.AsType[*Error](cause)
	if ok && sibling.UploadID == r.upload.ID && sibling.Object == r.object.String() && r.upload.ID != "" {
		return sibling
	}
	return r.interrupted(c, cause)
}

// interrupted makes the error of an operation that was not tried to its end. Its
// last failure is the root cause; if a part has none, then that of the part for
// whose sake it had to wait. No other operation takes a failure that is not its
// own: what it says is looked at.
func (r *run) interrupted(c *call, cause error) error {
	if c.last != nil {
		return r.fail(c, c.last, cause)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failing == nil || c.op != wire.PutPart {
		return r.fail(c, cause, nil)
	}
	e := *r.failing
	e.Stopped, e.Budget, e.Done = cause, r.endpoint.Budget(), r.parts.done()
	return &e
}

// fails remembers what has failed; succeeds forgets it.
func (r *run) fails(c *call, err error) {
	c.fails(err)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failing = r.fail(c, err, nil)
}

func (r *run) succeeds() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failing = nil
}

// fail makes the error of an operation that has ended.
func (r *run) fail(c *call, err, stopped error) *Error {
	return &Error{Op: c.op, Object: r.object.String(), UploadID: r.upload.ID, Part: c.part, Size: c.bytes,
		Done: r.parts.done(), Parts: int(r.total.Load()), Attempts: c.attempts, Elapsed: time.Since(c.began), Stopped: stopped, Err: err, Budget: r.endpoint.Budget()}
}
