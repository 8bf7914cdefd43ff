package multipart

import (
	"context"
	"fmt"
	"time"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign"
)

// mintAttempts is how often a provider is asked for one request. Its failures
// are not the store's: neither the budget nor the breaker hears of them.
const mintAttempts = 3

// mintError is a provider's failure.
type mintError struct{ err error }

func (e *mintError) Error() string { return "no authorised request: " + e.err.Error() }
func (e *mintError) Unwrap() error { return e.err }

// mint gets the request for one attempt, just before its use. After an answer
// that said expired, the provider first forgets what may be stale.
func (r *run) mint(ctx context.Context, c *call, p chunker.Part, d chunker.Digest) (presign.Request, error) {
	part := presign.Part{Bucket: r.object.Bucket, Key: r.object.Key, Size: p.Size}
	if c.op == wire.PutPart {
		part.UploadID, part.Number = r.upload.ID, p.Number
	} else {
		part.Header = r.header
	}
	if !d.IsZero() {
		part.ChecksumHeader, part.Checksum = checksumHeader(d.Algorithm()), d.Base64()
	}
	reason := "first"
	if c.expired {
		reason = "expired"
	}
	waits := newSchedule(r.options.Backoff, r.options.Rand)
	var last error
	for try := range mintAttempts {
		if try > 0 {
			if err := sleep(ctx, waits.next()); err != nil {
				return presign.Request{}, err
			}
		}
		request, stale, err := r.mintOnce(ctx, part, reason)
		switch {
		case err == nil && !stale:
			return request, nil
		case canceled(ctx):
			return presign.Request{}, context.Cause(ctx)
		case stale:
			err, reason = fmt.Errorf("it had expired at %v, before it was used", request.NotAfter), "expiring"
		}
		last = err
	}
	return presign.Request{}, &mintError{err: last}
}

// mintOnce asks the provider once; stale says that what it gave is over.
func (r *run) mintOnce(ctx context.Context, p presign.Part, reason string) (request presign.Request, stale bool, err error) {
	if reason != "first" {
		if err := r.provider.Renew(ctx); err != nil {
			return request, false, err
		}
	}
	request, err = r.provider.Presign(ctx, p)
	if err != nil {
		return request, false, err
	}
	r.mu.Lock()
	r.stats.Mints++
	r.mu.Unlock()
	r.teller.tell(Event{Kind: Minted, Part: p.Number, Reason: reason})
	return request, !request.NotAfter.IsZero() && !time.Now().Before(request.NotAfter), nil
}
