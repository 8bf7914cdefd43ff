package multipart

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign"
)

// mintError is a provider's failure.
type mintError struct{ err error }

func (e *mintError) Error() string { return "no authorised request: " + e.err.Error() }
func (e *mintError) Unwrap() error { return e.err }

// deadError is what ends a part whose request is over when the provider has no
// other. It is one of [ErrExpired].
type deadError struct{ at time.Time }

func (e *deadError) Error() string {
	if e.at.IsZero() {
		return "the request that has expired is the only one that the provider has"
	}
	return "the request that expired at " + e.at.UTC().Format(time.RFC3339) + " is the only one that the provider has"
}

func (e *deadError) Is(target error) bool { return target == ErrExpired }

// mint gets the request for one attempt, just before its use. After an answer
// that said expired, or if what it gets is over already, the provider first
// forgets what may be stale.
func (r *run) mint(ctx context.Context, c *call, p chunker.Part, d chunker.Digest) (presign.Request, error) {
	part := r.partRequest(p, d)
	if c.op == wire.PutObject {
		part.UploadID, part.Number, part.Header = "", 0, r.header
	}
	reason := "first"
	if c.expired {
		reason = "expired"
	}
	request, err := r.mintOnce(ctx, c, part, reason)
	var stale *presign.Request
	if err == nil && isOver(request) {
		// By our clock: if there is a newer one, the store's has to judge.
		stale = &presign.Request{URL: request.URL, Header: request.Header}
		request, err = r.mintOnce(ctx, c, part, "expiring")
	}
	if err == nil && c.isDead(request) && !c.once && !c.ticked {
		c.ticked = true // another second mends nothing
		if err = r.endpoint.awake.sleep(ctx, signatureTick); err == nil {
			request, err = r.mintOnce(ctx, c, part, "expired")
		}
	}
	if err == nil && (c.isDead(request) || stale != nil && same(request, *stale)) {
		return request, &deadError{at: request.NotAfter}
	}
	switch {
	case err == nil:
		c.request = request
		return request, nil
	case canceled(ctx):
		return request, context.Cause(ctx)
	}
	return request, &mintError{err: err}
}

// signatureTick is how long a signature stays the same: its time has no fraction
// of a second.
const signatureTick = time.Second

// isDead tells a request that the store has refused as expired before.
func (c *call) isDead(r presign.Request) bool { return c.expired && same(r, c.refused) }

func same(a, b presign.Request) bool {
	return a.URL == b.URL && maps.EqualFunc(a.Header, b.Header, slices.Equal)
}

func isOver(r presign.Request) bool {
	return !r.NotAfter.IsZero() && !time.Now().Before(r.NotAfter)
}

// mintOnce asks the provider once.
func (r *run) mintOnce(ctx context.Context, c *call, p presign.Part, reason string) (presign.Request, error) {
	if reason != "first" {
		if err := r.renew(ctx, c); err != nil {
			return presign.Request{}, err
		}
	}
	c.minted = time.Now()
	request, err := r.provider.Presign(ctx, p)
	if err != nil {
		return request, err
	}
	if request.Method != http.MethodPut {
		return request, fmt.Errorf("the provider gave a %q instead of a PUT", request.Method)
	}
	r.mu.Lock()
	r.stats.Mints++
	r.mu.Unlock()
	r.teller.tell(Event{Kind: Minted, Part: p.Number, Reason: reason})
	return request, nil
}

// renew makes the provider forget what may be stale, unless it has done so
// since the request that was refused was made: parts that expire together need
// one renewal.
func (r *run) renew(ctx context.Context, c *call) error {
	r.mu.Lock()
	fresh := r.renewed.After(c.minted)
	r.mu.Unlock()
	if fresh && c.data {
		return nil
	}
	began := time.Now()
	if err := r.provider.Renew(ctx); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if began.After(r.renewed) {
		r.renewed = began
	}
	return nil
}

// renewForControl renews before another attempt at a control call, as patiently
// as a part's request is asked for.
func (r *run) renewForControl(ctx context.Context, c *call) error {
	for {
		err := r.renew(ctx, c)
		if err == nil {
			c.mintless = 0
			return nil
		}
		if canceled(ctx) {
			return context.Cause(ctx)
		}
		if again, stopped := r.againMint(c, err); !again {
			return fmt.Errorf("%w: %w", stopped, &mintError{err: err})
		}
		wait := c.wait
		c.wait = 0
		if err := r.endpoint.awake.sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// learn tells the provider what the store's clock shows, for its requests may have
// been refused because this machine's is wrong.
func (r *run) learn(err error) {
	if e, ok := errors.AsType[*wire.StoreError](err); ok && !e.Date.IsZero() {
		r.provider.Learn(e.Date)
	}
}
