package multipart

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart/journal"
	"github.com/chunkup/chunkup/multipart/wire"
)

// DefaultAbortTimeout bounds the clean-up after a failed upload.
const DefaultAbortTimeout = 30 * time.Second

// cancelLimit bounds it after a cancel if there is a journal: another run makes up
// for what does not work in that time.
const cancelLimit = 3 * time.Second

// abortRounds is how often an upload is aborted while parts of it are still seen.
const abortRounds = 3

// lateAfter is how long after the first abort it is done again if a part was cut
// off on its way: one store takes it after the abort, and has the upload anew then.
const lateAfter = 250 * time.Millisecond

// conclude ends an upload: a success needs no journal any more; a failure that
// another run may go on from keeps it, and the parts; what is left of any other is
// dropped.
func (r *run) conclude(ctx context.Context, err error) error {
	switch {
	case err != nil && !r.begun && r.state.goesOn():
		return r.leave(err)
	case err == nil:
		r.dropLeftover(ctx)
		r.forget(r.orphan)
	case r.mayGoOn(ctx, err):
		r.keep(r.state.flush())
		r.state.release()
		if e, ok := errors.AsType[*Error](err); ok && r.source != nil {
			e.Journal = r.state.path()
		}
	case r.upload.ID == "":
		r.forget(r.orphan)
	case !errors.Is(err, ErrUnknownOutcome):
		return r.abort(ctx, err)
	}
	return err
}

// leave ends an upload before it has done anything: what an earlier run has left
// stays as it is.
func (r *run) leave(err error) error {
	if e, ok := errors.AsType[*Error](err); ok && r.state.goesOn() {
		e.Journal = r.state.path()
	}
	r.state.release()
	return err
}

// mayGoOn reports that another run can go on from where this one failed: what
// failed may pass, or be mended, and the source can be read again. Of what the
// store would not tell the outcome, that is all that is known.
func (r *run) mayGoOn(ctx context.Context, err error) bool {
	_, mismatch := errors.AsType[*MismatchError](err)
	switch {
	case !r.state.has(r.upload.ID):
		return false
	case errors.Is(err, ErrUnknownOutcome):
		return true
	case r.source == nil || mismatch || errors.Is(err, ErrSourceChanged) || errors.Is(err, ErrExists):
		return false
	}
	return canceled(ctx) || !slices.Contains(condemned, codeOf(err))
}

// condemned are the answers after which the upload as it is has no future: other
// parts, another object or another upload it would have to be. What else a store or a
// proxy says may be mended.
var condemned = []string{
	"EntityTooLarge", "EntityTooSmall", "InvalidArgument", "InvalidPart", "InvalidPartOrder", "InvalidRequest", "InvalidStorageClass",
	"InvalidTag", "KeyTooLongError", "MetadataTooLarge", "MissingContentLength", "NoSuchUpload", "NotImplemented", "XMinioInvalidObjectName",
}

// abort drops the upload after a failure, and says so in it if it could not.
func (r *run) abort(ctx context.Context, failure error) error {
	r.keep(r.state.note(journal.Aborting, nil))
	err := r.clean(ctx, r.upload)
	if e, ok := errors.AsType[*Error](failure); ok {
		e.Abort = err
	}
	if err == nil {
		r.forget(false)
	}
	return failure
}

// clean drops an upload on a context of its own, because the one that failed may be
// over. After a cancel it asks at once first, past budget and breaker and whatever
// the store had asked for: somebody is waiting.
func (r *run) clean(ctx context.Context, u Upload) error {
	limit := r.options.AbortTimeout
	switch {
	case !canceled(ctx):
		limit += r.endpoint.held()
	case r.state != nil:
		limit = min(limit, cancelLimit)
	}
	clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	if canceled(ctx) && r.dropParts(clean, u, atOnce) == nil {
		return nil
	}
	return r.dropParts(clean, u, r.tryControl)
}

// caller makes one call to the control plane.
type caller func(context.Context, wire.Operation, func(context.Context) error) error

func atOnce(ctx context.Context, _ wire.Operation, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, lookLimitCanceled)
	defer cancel()
	return f(ctx)
}

// dropParts aborts until no part is left: one that was on its way when the
// upload was aborted may have arrived after it
// (https://docs.aws.amazon.com/AmazonS3/latest/API/API_AbortMultipartUpload.html).
func (r *run) dropParts(ctx context.Context, u Upload, call caller) error {
	var left []Receipt
	late := r.cutOff.Load() && u == r.upload
	for rounds := abortRounds; rounds > 0; rounds-- {
		err := call(ctx, wire.Abort, func(ctx context.Context) error { return r.control.Abort(ctx, u) })
		if err != nil && !isNoUpload(err) {
			return err
		}
		err = call(ctx, wire.List, func(ctx context.Context) (err error) {
			left, err = r.control.List(ctx, u)
			return err
		})
		gone := isNoUpload(err) || refused(err) || err == nil && len(left) == 0
		switch {
		case gone && late:
			late, rounds = false, max(rounds, 2) // once more, whatever came before
			if err := r.endpoint.awake.sleep(ctx, lateAfter); err != nil {
				return err
			}
		case gone:
			return nil // or not for us to see
		case err != nil:
			return err
		}
	}
	return fmt.Errorf("%d parts are still there after %d aborts", len(left), abortRounds)
}

// tryControl makes one clean-up call, with its own retries.
func (r *run) tryControl(ctx context.Context, op wire.Operation, f func(context.Context) error) error {
	c := r.newCall(op, 0, 0)
	c.cleanup = true
	defer c.pay.End()
	return r.do(ctx, c, func(ctx context.Context) result { return controlResult(f(ctx)) })
}

// Abort drops an unfinished upload and its parts at the store, again until no part
// is left, and the journal that is about it. An upload that is gone is a success; one
// that another process is at work on, as far as the journals tell, is a
// *journal.LockedError.
func (u *Uploader) Abort(ctx context.Context, up Upload) error {
	k, err := u.claim(u.askedFor(up), nil, chunker.Plan{}, true)
	if err != nil && !u.isAnother(err, up) {
		return err
	}
	r := u.newRun(Object{Bucket: up.Bucket, Key: up.Key}, nil, chunker.Plan{}, k)
	defer r.end()
	r.upload = up
	if err := r.dropParts(ctx, up, r.tryControl); err != nil {
		return err
	}
	if k == nil || k.found == nil || k.found.UploadID != up.ID {
		return nil
	}
	r.dropLeftover(ctx)
	return k.forget(false)
}

// askedFor is the object under which the journals have an upload: a service may have
// given it another key than was asked for.
func (u *Uploader) askedFor(up Upload) Object {
	o := Object{Bucket: up.Bucket, Key: up.Key}
	if u.options.Journal == nil {
		return o
	}
	entries, _ := u.options.Journal.List() // what cannot be read tells nothing
	for _, e := range entries {
		r := e.Record
		if e.Err == nil && r.UploadID == up.ID && r.Endpoint == u.control.Traits().Endpoint && r.Keys[up.ID] == up.Key {
			return Object{Bucket: r.Bucket, Key: r.Key}
		}
	}
	return o
}

// isAnother reports that the journal which another process has open is about another
// upload of the same key: this one is nobody's.
func (u *Uploader) isAnother(err error, up Upload) bool {
	locked, ok := errors.AsType[*journal.LockedError](err)
	if !ok {
		return false
	}
	entries, _ := u.options.Journal.List() // what cannot be read tells nothing
	return slices.ContainsFunc(entries, func(e journal.Entry) bool {
		return e.Path == locked.Path && e.Err == nil && e.Record.UploadID != "" && e.Record.UploadID != up.ID
	})
}
