package presign

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// mintTimeout bounds one shared call of a provider. It runs detached from the
// callers, so something has to end it; a minting service that has not answered
// in half a minute will not.
const mintTimeout = 30 * time.Second

var errMintTimeout = fmt.Errorf("presign: the provider has not answered within %v", mintTimeout)

// Share returns a provider over p in which callers that want the same part at
// the same time share one call, and all who report an expiry at the same time
// share one Renew. A shared call is detached from its callers: one that gives
// up does not take the others with it. It ends with the last of them, or after
// 30 s.
// A provider that is [Local] is asked by each caller itself; the 30 s hold for it, too.
// The result is a [Renewer] whether or not p is one, and safe for concurrent
// use.
func Share(p Provider) *Shared {
	local, ok := p.(Local)
	return &Shared{provider: p, local: ok && local.IsLocal()}
}

// Shared is a [Provider] made by [Share]. The zero value is not usable.
type Shared struct {
	provider Provider
	local    bool
	presigns flights
	renewals flights
}

// Presign asks the provider, or joins a caller that is already asking for the
// same part. The headers of what it returns belong to the caller.
func (s *Shared) Presign(ctx context.Context, p Part) (Request, error) {
	if s.local {
		return s.presignHere(ctx, p)
	}
	v, err := s.presigns.do(ctx, p.Identity(), func(ctx context.Context) (any, error) {
		return s.provider.Presign(ctx, p)
	})
	if err != nil {
		return Request{}, err
	}
	r := v.(Request)
	r.Header = r.Header.Clone()
	return r, nil
}

// presignHere asks a provider that needs no sharing.
func (s *Shared) presignHere(ctx context.Context, p Part) (Request, error) {
	if ctx.Err() != nil {
		return Request{}, context.Cause(ctx)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, mintTimeout, errMintTimeout)
	defer cancel()
	return s.provider.Presign(ctx, p)
}

// Renew tells the provider, if it is a [Renewer], to forget what may be stale.
func (s *Shared) Renew(ctx context.Context) error {
	renewer, ok := s.provider.(Renewer)
	if !ok {
		return nil
	}
	_, err := s.renewals.do(ctx, "", func(ctx context.Context) (any, error) {
		return nil, renewer.Renew(ctx)
	})
	return err
}

// Anticipates reports whether the provider is an [Anticipator].
func (s *Shared) Anticipates() bool {
	_, ok := s.provider.(Anticipator)
	return ok
}

// Anticipate tells the provider, if it is an [Anticipator].
func (s *Shared) Anticipate(p Part) {
	if a, ok := s.provider.(Anticipator); ok {
		a.Anticipate(p)
	}
}

// Learn tells the provider, if it is a [Timekeeper].
func (s *Shared) Learn(store time.Time) {
	if k, ok := s.provider.(Timekeeper); ok {
		k.Learn(store)
	}
}

// flights are the calls under way. The zero value is ready to use.
type flights struct {
	group singleflight.Group

	mu   sync.Mutex
	open map[string]*flight
}

// flight is one call, and how many wait for it.
type flight struct {
	ctx     context.Context
	cancel  context.CancelFunc
	waiters int
}

// do runs f once for all who call with the same key meanwhile, on a context that
// keeps ctx's values but ends only when the last of them has left.
func (s *flights) do(ctx context.Context, key string, f func(context.Context) (any, error)) (any, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	call := s.join(ctx, key)
	shared := s.group.DoChan(key, func() (any, error) { return f(call.ctx) })
	defer s.leave(key, call)
	// A provider that is deaf to its context holds up nobody for longer.
	patience, cancel := context.WithTimeoutCause(ctx, mintTimeout, errMintTimeout)
	defer cancel()
	select {
	case r := <-shared:
		return r.Val, r.Err
	case <-patience.Done():
		return nil, context.Cause(patience)
	}
}

func (s *flights) join(ctx context.Context, key string) *flight {
	s.mu.Lock()
	defer s.mu.Unlock()
	call := s.open[key]
	if call == nil {
		call = &flight{}
		call.ctx, call.cancel = context.WithTimeoutCause(context.WithoutCancel(ctx), mintTimeout, errMintTimeout)
		if s.open == nil {
			s.open = map[string]*flight{}
		}
		s.open[key] = call
	}
	call.waiters++
	return call
}

// leave ends a call that nobody waits for any more; the next caller begins another.
func (s *flights) leave(key string, call *flight) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if call.waiters--; call.waiters > 0 {
		return
	}
	call.cancel()
	s.group.Forget(key)
	delete(s.open, key)
}
