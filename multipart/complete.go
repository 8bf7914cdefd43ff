package multipart

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/chunkup/chunkup/multipart/wire"
)

// create begins the upload at the store.
func (r *run) create(ctx context.Context) error {
	c := r.newCall(wire.Create, 0, 0)
	defer c.pay.End()
	c.first = true
	return r.do(ctx, c, func(ctx context.Context) result {
		upload, err := r.control.Create(ctx, Intent{Bucket: r.object.Bucket, Key: r.object.Key,
			Header: r.header, Algorithm: r.traits.Algorithm, FullObject: r.traits.FullObject})
		if err == nil && upload.ID == "" {
			return result{bare: true, err: errors.New("the store answered success without an upload id")}
		}
		r.upload = upload
		return controlResult(err)
	})
}

// complete makes the object from the parts and proves that it is there. A
// completion whose answer is in doubt is looked up before it is sent again:
// not every store takes it twice.
func (r *run) complete(ctx context.Context) error {
	whole, err := r.wholeDigest()
	if err != nil {
		return &Error{Op: wire.Complete, Object: r.object.String(), UploadID: r.upload.ID, Err: err}
	}
	r.whole = whole
	c := r.newCall(wire.Complete, 0, 0)
	defer c.pay.End()
	for {
		err := r.do(ctx, c, r.completeOnce)
		doubt, ok := errors.AsType[*ambiguity](err)
		if err != nil && !ok {
			return err
		}
		if ok {
			c.ambiguous = true
			again, err := r.lookUp(ctx, c, doubt)
			if err != nil {
				return err
			}
			if again {
				continue
			}
		}
		return r.compare(c)
	}
}

func (r *run) completeOnce(ctx context.Context) result {
	info, err := r.control.Complete(ctx, r.upload, Completion{Parts: r.parts, Size: r.plan.Size,
		Algorithm: r.traits.Algorithm, FullObject: r.traits.FullObject, Digest: r.whole})
	if err == nil && info.ETag == "" {
		return result{bare: true, err: errors.New("the store answered success without an ETag")}
	}
	r.info = info
	return controlResult(err)
}

// lookUp finds out whether a completion in doubt was applied. It returns again
// if it was not and may be sent once more, neither if the object is ours, and
// an error if there is no hope or no way to know.
func (r *run) lookUp(ctx context.Context, c *call, doubt *ambiguity) (again bool, err error) {
	info, err := r.head(ctx, c)
	if err == nil && info.Metadata[tokenKey] == r.token && info.Size == r.plan.Size {
		r.info = info
		return false, nil
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
	case statusOf(listErr) == http.StatusNotFound:
		return false, r.fail(c, fmt.Errorf("the upload is gone and made no object: %w", doubt.err), nil)
	case listErr != nil:
		return false, r.unknown(c, doubt.err, listErr)
	case doubt.stopped != nil:
		return false, r.fail(c, doubt.err, doubt.stopped)
	}
	return true, nil
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
	inner := &call{op: op, pay: c.pay, waits: newSchedule(r.options.Backoff, r.options.Rand),
		name: c.name, began: time.Now(), wait: c.wait, reason: c.reason}
	c.wait = 0
	return inner
}

// unknown is the error of an operation whose outcome the store would not tell.
func (r *run) unknown(c *call, cause, why error) error {
	return r.fail(c, fmt.Errorf("%w: %w; then %w", ErrUnknownOutcome, cause, why), nil)
}

// compare holds what the store says of the object against the source.
func (r *run) compare(c *call) error {
	if d := r.info.Digest; !d.IsZero() && !r.whole.IsZero() && d.Algorithm() == r.whole.Algorithm() && d != r.whole {
		return r.fail(c, &MismatchError{What: d.Algorithm().String(), Want: r.whole.Base64(), Got: d.Base64()}, nil)
	}
	if s := r.info.Size; s != 0 && s != r.plan.Size {
		return r.fail(c, &MismatchError{What: "size", Want: strconv.FormatInt(r.plan.Size, 10), Got: strconv.FormatInt(s, 10)}, nil)
	}
	return nil
}

// statusOf is the status of the refusal in err, 0 if there is none.
func statusOf(err error) int {
	if e, ok := errors.AsType[*wire.StoreError](err); ok {
		return e.Status
	}
	return 0
}

// refused reports an answer that says: not for you.
func refused(err error) bool {
	s := statusOf(err)
	return s == http.StatusForbidden || s == http.StatusUnauthorized
}
