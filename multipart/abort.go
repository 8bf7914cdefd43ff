package multipart

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/chunkup/chunkup/multipart/wire"
)

// Bounds on cleaning up. A caller that has cancelled is waiting.
const (
	abortLimit         = 30 * time.Second
	abortLimitCanceled = time.Second
	abortRounds        = 3
)

// abort drops the upload after a failure and says so in it if it could not.
// The context that failed it may be over, so it has one of its own. After a
// cancel it is one call, at once, past budget and breaker: there is no time to
// wait for them, and the connections of the parts are closed already.
func (r *run) abort(ctx context.Context, failure error) error {
	var err error
	if canceled(ctx) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortLimitCanceled)
		defer cancel()
		err = r.control.Abort(ctx, r.upload)
	} else {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortLimit+r.endpoint.held())
		defer cancel()
		err = r.dropParts(ctx)
	}
	if e, ok := errors.AsType[*Error](failure); ok && err != nil && statusOf(err) != http.StatusNotFound {
		e.Abort = err
	}
	return failure
}

// dropParts aborts until no part is left: one that was on its way when the
// upload was aborted may have arrived after it
// (https://docs.aws.amazon.com/AmazonS3/latest/API/API_AbortMultipartUpload.html).
func (r *run) dropParts(ctx context.Context) error {
	var left []Receipt
	for range abortRounds {
		err := r.tryControl(ctx, wire.Abort, func(ctx context.Context) error { return r.control.Abort(ctx, r.upload) })
		if err != nil && statusOf(err) != http.StatusNotFound {
			return err
		}
		err = r.tryControl(ctx, wire.List, func(ctx context.Context) (err error) {
			left, err = r.control.List(ctx, r.upload)
			return err
		})
		if statusOf(err) == http.StatusNotFound || refused(err) || err == nil && len(left) == 0 {
			return nil // gone, or not for us to see
		}
		if err != nil {
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
