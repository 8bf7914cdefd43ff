package multipart

import (
	"context"
	"net/http"
	"slices"

	"github.com/chunkup/chunkup/multipart/journal"
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

// refusedAfter finds out what is behind a refusal of the parts when an earlier
// completion may have been applied, be applied just now, or have been cut short. It
// returns again if there may be one more, neither if the object is ours, the refusal
// as it is if the parts tell why, and a *spoiltError if the upload has no future.
func (r *run) refusedAfter(ctx context.Context, c *call, refusal error) (again bool, err error) {
	for {
		made, blind, err := r.isMadeNow(ctx, c, refusal)
		if made || err != nil {
			return false, err
		}
		listed, err := r.list(ctx, c)
		switch {
		case isNoUpload(err) && blind, err != nil && !isNoUpload(err) && !refused(err):
			return false, r.unknown(c, refusal, err)
		case err == nil && codeOf(refusal) == "InvalidPart" && r.hasSome(listed):
			return false, refusal
		case c.looks == underWayLooks:
			return false, r.fail(c, &spoiltError{refusal}, nil)
		}
		if err := r.endpoint.awake.sleep(ctx, underWayWait<<c.looks); err != nil {
			return false, r.unknown(c, refusal, err)
		}
		if c.looks++; c.looks == underWayLooks && isOfBytes(refusal) {
			return true, nil // what was refused in passing is not refused now
		}
	}
}

// isMadeNow looks for the object; blind says that it is not to be seen whether it is
// there or not.
func (r *run) isMadeNow(ctx context.Context, c *call, refusal error) (made, blind bool, err error) {
	if r.traits.Unseen {
		return false, true, nil
	}
	info, err := r.head(ctx, c)
	switch {
	case err == nil && info.Metadata[tokenKey] == r.token:
		r.info = info
		return true, false, r.judgeOurs(c, info)
	case err == nil, statusOf(err) == http.StatusNotFound:
		return false, false, nil
	case refused(err):
		return false, true, nil
	}
	return false, false, r.unknown(c, refusal, err)
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
