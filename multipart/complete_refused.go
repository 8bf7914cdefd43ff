package multipart

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/chunkup/chunkup/multipart/journal"
	"github.com/chunkup/chunkup/multipart/wire"
)

// spoiltError is the refusal of a completion by a store that an earlier one was cut
// short at: it has the upload, and makes no object of it ever again. MinIO ends its
// work with the connection that asked for it, and has then forgotten what parts there
// are, and mostly what checksum the upload was to have; it takes the parts again, and
// says of every completion that the checksum is another.
type spoiltError struct{ refusal error }

func (e *spoiltError) Error() string {
	return "a completion that was cut short has left the upload of no use at the store: " + e.refusal.Error()
}

func (e *spoiltError) Unwrap() error { return e.refusal }

// isOfParts tells the refusal of a completion for the sake of its parts, or of the
// bytes that they make.
func isOfParts(err error) bool { return codeOf(err) == "InvalidPart" || isOfBytes(err) }

func isOfBytes(err error) bool {
	code := codeOf(err)
	return code == "BadDigest" || code == "XAmzContentChecksumMismatch"
}

// missesPart tells the plain refusal of a completion for a part, behind which there is
// nothing else.
func missesPart(err error) bool {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return false
	}
	refusal, ok := e.Err.(*wire.StoreError)
	return ok && refusal.Code == "InvalidPart"
}

// sight is what is to be seen under the key.
type sight int

const (
	absent   sight = iota
	stranger       // another object
	hidden         // nobody says
)

// refusedAfter finds out what is behind a refusal of the parts when an earlier
// completion may have been applied, be applied just now, or have been cut short. It
// returns again if there may be one more, neither if the object is ours, and a
// *spoiltError if the upload is still there and has no future.
func (r *run) refusedAfter(ctx context.Context, c *call, refusal error) (again bool, err error) {
	for {
		made, seen, err := r.isMadeNow(ctx, c, refusal)
		if made || err != nil {
			return false, err
		}
		listed, err := r.list(ctx, c)
		switch {
		case seen == hidden && (isNoUpload(err) || refused(err)), err != nil && !isNoUpload(err) && !refused(err):
			return false, r.unknown(c, refusal, err)
		case err == nil && codeOf(refusal) == "InvalidPart" && r.hasSome(listed):
			return false, refusal
		case c.checks == underWayLooks:
			return false, r.futureless(c, seen, refusal, err)
		}
		if err := r.endpoint.awake.sleep(ctx, underWayWait<<c.checks); err != nil {
			return false, r.unknown(c, refusal, err)
		}
		if c.checks++; c.checks == underWayLooks && isOfBytes(refusal) {
			return true, nil // what was refused in passing is not refused now
		}
	}
}

// futureless is the error of an upload that was refused, and looked after, for long
// enough. Only of one that is seen to be there it can be said that it is spoilt.
func (r *run) futureless(c *call, seen sight, refusal, listing error) error {
	switch {
	case listing == nil:
		return r.fail(c, &spoiltError{refusal}, nil)
	case isNoUpload(listing) && seen == stranger:
		return r.fail(c, fmt.Errorf("another object is under the key and the upload is gone: it was overwritten or aborted (%w)", refusal), nil)
	case isNoUpload(listing):
		return r.fail(c, fmt.Errorf("the upload is gone and made no object: %w", refusal), nil)
	}
	return refusal
}

// isMadeNow looks for the object, and says what there is instead.
func (r *run) isMadeNow(ctx context.Context, c *call, refusal error) (made bool, seen sight, err error) {
	if r.traits.Unseen {
		return false, hidden, nil
	}
	info, err := r.head(ctx, c)
	switch {
	case err == nil && info.Metadata[tokenKey] == r.token:
		r.info = info
		return true, absent, r.judgeOurs(c, info)
	case err == nil:
		return false, stranger, nil
	case statusOf(err) == http.StatusNotFound:
		return false, absent, nil
	case refused(err):
		return false, hidden, nil
	}
	return false, absent, r.unknown(c, refusal, err)
}

// hasSome reports that a list has one of the parts that are to become the object.
func (r *run) hasSome(listed []Receipt) bool {
	return slices.ContainsFunc(listed, func(l Receipt) bool { return sameETag(l.ETag, r.parts.get(l.Number).ETag) })
}

// repair lists the parts and sends those again that are not there as they were
// sent. It reports whether there were any.
func (r *run) repair(ctx context.Context) (bool, error) {
	listed, err := r.listed(ctx)
	if err != nil {
		return false, err
	}
	there := map[int]journal.Part{}
	for _, p := range listed {
		there[p.Number] = p
	}
	sent := r.parts.all()
	r.parts.forget()
	r.progress.done.Add(-r.plan.Size)
	for _, p := range sent {
		l := there[p.Number]
		if l.Size == p.Size && sameETag(l.ETag, p.ETag) && (l.Digest.IsZero() || l.Digest == p.Digest) {
			r.parts.add(p)
			r.progress.done.Add(p.Size)
		}
	}
	if r.parts.done() == len(sent) {
		return false, nil
	}
	return true, r.sendAll(ctx)
}
