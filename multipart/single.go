package multipart

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart/wire"
)

// putObject sends all bytes of src in one PUT. Whoever did not hear its answer
// asks what is under the key.
func (r *run) putObject(ctx context.Context, src io.ReaderAt) error {
	p := chunker.Part{Number: 1, Size: r.plan.Size}
	c := r.newCall(wire.PutObject, 0, p.Size)
	defer c.pay.End()
	c.first = true
	if r.object.CreateOnly {
		r.header.Set("If-None-Match", "*")
	}
	var receipt Receipt
	var info Info
	err := r.do(ctx, c, func(ctx context.Context) result {
		res := r.put(ctx, c, p, src, &receipt)
		c.ambiguous = c.ambiguous || !res.local && !res.other && mayHaveWorked(res.err)
		info = Info{ETag: receipt.ETag, VersionID: res.answer.Header.Get("X-Amz-Version-Id")}
		return res
	})
	if doubt, ok := errors.AsType[*ambiguity](err); ok {
		err = r.fail(c, doubt.err, doubt.stopped)
	}
	r.whole = receipt.Digest
	if err != nil && c.ambiguous {
		info, err = r.foundAfter(ctx, c, err)
	}
	if r.object.CreateOnly && statusOf(err) == http.StatusPreconditionFailed {
		return r.inTheWay(ctx, c)
	}
	if err != nil {
		return err
	}
	r.parts.add(Receipt{Number: 1, Size: p.Size, ETag: info.ETag, Digest: receipt.Digest})
	r.info = info
	if err := r.proveSource(ctx, wire.PutObject); err != nil {
		err.Err = fmt.Errorf("%w (the object holds what was read)", err.Err)
		return err
	}
	return nil
}

// How long a failed upload may look for what it has perhaps made after all. A
// caller that has cancelled is waiting.
const (
	lookLimit         = 10 * time.Second
	lookLimitCanceled = time.Second
)

// lookAfter bounds a look at the store after an upload has ended.
func lookAfter(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := lookLimit
	if canceled(ctx) {
		limit = lookLimitCanceled
	}
	return context.WithTimeout(context.WithoutCancel(ctx), limit)
}

// foundAfter looks for the object of a PUT that failed in doubt: the store may
// have it although no answer said so. What is not found leaves the failure as it
// is, for the next PUT is as good as this one.
func (r *run) foundAfter(ctx context.Context, c *call, failure error) (Info, error) {
	ctx, cancel := lookAfter(ctx)
	defer cancel()
	info, err := r.control.Head(ctx, r.object.Bucket, r.object.Key)
	if err != nil || !r.isOurs(info) {
		return Info{}, failure
	}
	if r.names(info) || info.OpaqueETag {
		return info, r.compare(c, info)
	}
	if wrong := r.misstored(http.Header{"Etag": {info.ETag}}, r.whole); wrong != nil {
		return Info{}, r.fail(c, wrong, nil)
	}
	return info, nil
}
