package multipart

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/chunkup/chunkup/multipart/journal"
	"github.com/chunkup/chunkup/multipart/wire"
)

// create begins the upload at the store. An attempt that got no clear answer may
// have begun one, too, whose id nobody knows: it is not looked for, because it
// could be a stranger's, but it is told of.
func (r *run) create(ctx context.Context) error {
	c := r.newCall(wire.Create, 0, 0)
	defer c.pay.End()
	c.first = true
	err := r.do(ctx, c, func(ctx context.Context) result {
		upload, err := r.control.Create(ctx, Intent{Bucket: r.asked.Bucket, Key: r.asked.Key, Size: r.size(),
			Header: r.header, Algorithm: r.traits.Algorithm, FullObject: r.traits.FullObject})
		if err == nil && upload.ID == "" {
			r.orphan = true
			return result{bare: true, err: errors.New("the store answered success without an upload id")}
		}
		r.upload = upload
		r.orphan = r.orphan || mayHaveWorked(err)
		return controlResult(err)
	})
	if err == nil && r.traits.SameCreate {
		r.orphan = false // it is this one
	}
	if e, ok := errors.AsType[*Error](err); ok {
		e.Orphan = r.orphan
	} else if r.orphan {
		r.warn(fmt.Errorf("an attempt to begin the upload got no clear answer: "+
			"besides this one, an unfinished upload of %s may be left at the store", r.object))
	}
	return err
}

// mayHaveWorked tells a failure behind which the store may have done what it was
// asked to.
func mayHaveWorked(err error) bool {
	if e, ok := errors.AsType[*wire.StoreError](err); ok {
		return e.Status == http.StatusBadGateway || e.Status == http.StatusGatewayTimeout
	}
	return err != nil && !isLocal(err) && !neverConnected(err)
}

// complete makes the object from the parts and proves that it is there. A
// completion whose answer is in doubt is looked up before it is sent again:
// not every store takes it twice. Parts that the store says it does not have, or
// has otherwise, are sent again, once.
func (r *run) complete(ctx context.Context) error {
	whole, err := r.wholeDigest()
	if err = errors.Join(r.checkParts(), err); err != nil {
		return r.local(wire.Complete, err)
	}
	r.whole = whole
	earlier := r.state.goesOn() && r.state.found.State == journal.Completing && r.state.found.UploadID == r.upload.ID
	r.keep(r.state.note(journal.Completing, nil))
	ambiguous, err := r.completeParts(ctx, earlier)
	if !missesPart(err) || r.source == nil {
		return err
	}
	r.warn(fmt.Errorf("the store misses a part, which is looked for and sent again: %w", err))
	repaired, failed := r.repair(ctx)
	switch {
	case failed != nil:
		return failed
	case !repaired:
		return err
	}
	_, err = r.completeParts(ctx, ambiguous)
	return err
}

// completeParts sends Complete until it is known what has become of it. earlier says
// that it may have been applied before; what is returned, that it may have been since.
func (r *run) completeParts(ctx context.Context, earlier bool) (ambiguous bool, err error) {
	c := r.newCall(wire.Complete, 0, 0)
	defer c.pay.End()
	c.ambiguous = earlier
	err = r.completeCall(ctx, c)
	return c.ambiguous, err
}

func (r *run) completeCall(ctx context.Context, c *call) error {
	cut := false // an attempt was under way when the caller ended it
	once := func(ctx context.Context) result {
		res := r.completeOnce(ctx)
		cut = canceled(ctx) && res.err != nil && !res.local
		return res
	}
	for {
		err := r.do(ctx, c, once)
		doubt, ok := errors.AsType[*ambiguity](err)
		switch {
		case err == nil:
			return r.prove(ctx, c)
		case !ok && canceled(ctx) && (cut || c.ambiguous):
			return r.lookOnce(ctx, c, err)
		case !ok && r.object.CreateOnly && isInTheWay(err):
			return r.yield(ctx, c, err)
		case !ok && c.ambiguous && isOfParts(err):
			again, err := r.refusedAfter(ctx, c, err)
			if err != nil || !again {
				return err
			}
			continue
		case !ok:
			return err
		}
		if codeOf(doubt.err) == "NoSuchUpload" && !c.ambiguous {
			// No attempt of ours can have made the object: somebody has ended the upload.
			return r.fail(c, fmt.Errorf("the upload was aborted or completed by somebody else: %w", doubt.err), nil)
		}
		if neverConnected(doubt.err) && !c.ambiguous { // no attempt can have been applied
			if doubt.stopped != nil {
				return r.fail(c, doubt.err, doubt.stopped)
			}
			continue
		}
		c.ambiguous = true
		again, err := r.lookUp(ctx, c, doubt)
		if err != nil || !again {
			return err
		}
	}
}

func (r *run) completeOnce(ctx context.Context) result {
	completion := Completion{Parts: r.parts.all(), Size: r.plan.Size, Algorithm: r.traits.Algorithm,
		FullObject: r.traits.FullObject, CreateOnly: r.object.CreateOnly}
	if r.traits.FullObject {
		completion.Digest = r.whole
	}
	info, err := r.control.Complete(ctx, r.upload, completion)
	if err == nil && info.ETag == "" && !r.traits.Unseen {
		return result{bare: true, err: errors.New("the store answered success without an ETag")}
	}
	r.info = info
	return controlResult(err)
}

// isInTheWay tells the refusal to replace an object, or to do it while another one
// is being made.
func isInTheWay(err error) bool {
	return statusOf(err) == http.StatusPreconditionFailed || codeOf(err) == "ConditionalRequestConflict"
}

// yield ends an upload that may only create an object, and found one: this one's
// parts are dropped if that has the same bytes. If there is none, another call was
// in the way.
func (r *run) yield(ctx context.Context, c *call, refusal error) error {
	err := r.inTheWay(ctx, c)
	if statusOf(err) == http.StatusNotFound {
		return refusal
	}
	if err == nil {
		r.drop(ctx)
	}
	return err
}

// drop aborts the upload, because another one takes its place.
func (r *run) drop(ctx context.Context) {
	id := r.upload.ID
	r.state.owes([]string{id})
	if err := r.clean(ctx, r.upload); err != nil {
		r.warn(fmt.Errorf("upload %s has no use any more and could not be aborted: %w", id, err))
	} else {
		r.state.paid(id)
	}
	r.upload = Upload{}
}

// lookAtUpload finds out, where nobody can look at the object, whether a completion in
// doubt may be sent once more: if the upload is still there it was not applied.
func (r *run) lookAtUpload(ctx context.Context, c *call, doubt *ambiguity) (again bool, err error) {
	_, err = r.list(ctx, c)
	switch {
	case err != nil:
		return false, r.unknown(c, doubt.err, err)
	case doubt.stopped != nil:
		return false, r.fail(c, doubt.err, doubt.stopped)
	}
	return true, nil
}

// lookUp finds out whether a completion in doubt was applied. It returns again
// if it was not and may be sent once more, neither if the object is ours, and
// an error if there is no hope or no way to know.
func (r *run) lookUp(ctx context.Context, c *call, doubt *ambiguity) (again bool, err error) {
	if r.traits.Unseen {
		return r.lookAtUpload(ctx, c, doubt)
	}
	info, err := r.head(ctx, c)
	if err == nil && info.Metadata[tokenKey] == r.token {
		r.info = info
		return false, r.judgeOurs(c, info)
	}
	if err != nil && statusOf(err) != http.StatusNotFound {
		if c.attempts == 1 && doubt.stopped == nil && refused(err) {
			return true, nil // may write but not look: one blind repeat is all there is
		}
		return false, r.unknown(c, doubt.err, err)
	}
	// Nothing of ours is under the key; the parts decide whether it can be.
	_, listErr := r.list(ctx, c)
	switch {
	case statusOf(listErr) == http.StatusNotFound && err == nil:
		return false, r.fail(c, errors.New("another object is under the key and the upload is gone: it was overwritten or aborted"), nil)
	case statusOf(listErr) == http.StatusNotFound && c.looks < underWayLooks:
		if err := r.endpoint.awake.sleep(ctx, underWayWait<<c.looks); err != nil {
			return false, r.unknown(c, doubt.err, err)
		}
		c.looks++
		return r.lookUp(ctx, c, doubt) // the store may still be at work on it
	case statusOf(listErr) == http.StatusNotFound:
		return false, r.fail(c, fmt.Errorf("the upload is gone and made no object: %w", doubt.err), nil)
	case listErr != nil:
		return false, r.unknown(c, doubt.err, listErr)
	case doubt.stopped != nil:
		return false, r.fail(c, doubt.err, doubt.stopped)
	}
	return true, nil
}

// isOurs tells this upload's object by its token.
func (r *run) isOurs(info Info) bool {
	return info.Metadata[tokenKey] == r.token && info.Size == r.plan.Size
}

// lookOnce looks for the object after the caller has ended a completion that
// was sent: it may have been applied, or be applied yet.
func (r *run) lookOnce(ctx context.Context, c *call, ended error) error {
	ctx, cancel := lookAfter(ctx)
	defer cancel()
	info, err := r.control.Head(ctx, r.object.Bucket, r.object.Key)
	if err == nil && r.isOurs(info) {
		r.info = info
		return r.judge(c, info)
	}
	return r.fail(c, fmt.Errorf("%w: %w", ErrUnknownOutcome, ended), nil)
}

// head looks at the object as part of completing it: its attempts are paid
// from the same operation.
func (r *run) head(ctx context.Context, c *call) (info Info, err error) {
	err = r.do(ctx, r.within(c, wire.Head), func(ctx context.Context) result {
		info, err = r.control.Head(ctx, r.object.Bucket, r.object.Key)
		return controlResult(err)
	})
	return info, err
}

func (r *run) list(ctx context.Context, c *call) (parts []Receipt, err error) {
	err = r.do(ctx, r.within(c, wire.List), func(ctx context.Context) result {
		parts, err = r.control.List(ctx, r.upload)
		return controlResult(err)
	})
	return parts, err
}

// within begins a call that belongs to another operation and is paid by it. It
// waits as that one would have.
func (r *run) within(c *call, op wire.Operation) *call {
	inner := &call{op: op, inner: true, pay: c.pay, waits: newSchedule(r.options.Backoff, r.options.Rand),
		name: c.name, began: time.Now(), since: time.Now(), wait: c.wait, reason: c.reason, stretch: 1, others: c.others}
	c.wait = 0
	return inner
}

// unknown is the error of an operation whose outcome the store would not tell.
func (r *run) unknown(c *call, cause, why error) error {
	return r.fail(c, fmt.Errorf("%w: %w; then %w", ErrUnknownOutcome, cause, why), nil)
}

// statusOf is the status of the refusal in err, 0 if there is none.
func statusOf(err error) int {
	if e, ok := errors.AsType[*wire.StoreError](err); ok {
		return e.Status
	}
	return 0
}

// codeOf is the store's code of the refusal in err; empty if there is none.
func codeOf(err error) string {
	if e, ok := errors.AsType[*wire.StoreError](err); ok {
		return e.Code
	}
	return ""
}

// refused reports an answer that says: not for you.
func refused(err error) bool {
	s := statusOf(err)
	return s == http.StatusForbidden || s == http.StatusUnauthorized
}
