package multipart

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/chunkup/chunkup/multipart/wire"
)

// isThere looks, before anything is sent, whether the object is there already: that
// of the same idempotency key, or one which must not be replaced. One that is not
// the source's bytes is ErrExists.
func (r *run) isThere(ctx context.Context) (bool, error) {
	if !r.object.CreateOnly && r.object.IdempotencyKey == "" || r.traits.Unseen {
		return false, nil
	}
	info, err := r.headAlone(ctx)
	switch {
	case statusOf(err) == http.StatusNotFound:
		return false, nil
	case refused(err):
		r.warn(fmt.Errorf("the store does not say whether there is an object already: %w", err))
		return false, nil
	case err != nil:
		return false, err
	}
	ours := info.Metadata[tokenKey] == r.token
	if !ours && !r.object.CreateOnly {
		return false, nil // it is replaced
	}
	if err := r.adopt(ctx, info, ours); err != nil {
		return false, err
	}
	return true, nil
}

// adopt takes an object that is there for the result if it holds the source's
// bytes. A stream is taken at the word of its idempotency key, for it can be read
// only once.
func (r *run) adopt(ctx context.Context, info Info, ours bool) error {
	if r.source == nil {
		if !ours {
			return r.local(wire.Head, ErrExists)
		}
		r.plan.Size = info.Size
	} else if err := r.holds(ctx, info); err != nil && !(ours && errors.Is(err, ErrUnproven)) {
		if _, other := errors.AsType[*MismatchError](err); other || errors.Is(err, ErrUnproven) {
			err = fmt.Errorf("%w: %w", ErrExists, err)
		}
		return r.local(wire.Head, err)
	}
	r.take(info)
	return nil
}

// take takes an object that is there for the result.
func (r *run) take(info Info) {
	r.info, r.stats.Existing = info, true
	if info.Composite == 0 {
		r.whole = info.Digest
	}
}

// inTheWay judges a refusal to replace an object: if that has the source's bytes,
// all is well.
func (r *run) inTheWay(ctx context.Context, c *call) error {
	info, err := r.head(ctx, c)
	if statusOf(err) == http.StatusNotFound {
		return err
	}
	if err != nil {
		return r.fail(c, fmt.Errorf("%w, and the store does not say which: %w", ErrExists, err), nil)
	}
	if r.source != nil {
		return r.adopt(ctx, info, info.Metadata[tokenKey] == r.token)
	}
	// A stream cannot be read again, but what it was is known by now.
	if info.Size != r.plan.Size || !r.names(info) || r.compare(c, info) != nil {
		return r.fail(c, ErrExists, nil)
	}
	r.take(info)
	return nil
}
