package mint

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart"
)

const (
	maxComplete      = 4 << 20 // bytes of the body: 10,000 parts with their checksums
	completePatience = 15 * time.Minute
	abortPatience    = time.Minute
)

// list tells the parts that the store has: GET /s3/multipart/{uploadId}.
func (c *call) listParts() (any, error) {
	u, seal, err := c.live()
	if err != nil {
		return nil, err
	}
	receipts, err := c.h.o.Control.List(c.r.Context(), u)
	if err != nil {
		return nil, c.gone(seal, err)
	}
	parts := make([]part, len(receipts))
	for i, r := range receipts {
		parts[i] = partOf(r)
	}
	return parts, nil
}

// gone forgets an upload that the store does not know any more, so that an equal create
// is not given it again.
func (c *call) gone(seal sealed, err error) error {
	if isGone(err) {
		c.h.book.forget(seal)
	}
	return err
}

// complete makes the object: POST /s3/multipart/{uploadId}/complete. The sizes are the
// store's, and the parts are pinned by their ETags, so that nothing larger than allowed
// becomes an object.
func (c *call) complete() (any, error) {
	u, seal, err := c.live()
	if err != nil {
		return nil, err
	}
	var q completeRequest
	if err := c.decode(maxComplete, &q); err != nil {
		return nil, err
	}
	if err := c.checkParts(q.Parts); err != nil {
		return nil, err
	}
	// One who hangs up shall find an object or none, and the entry as it is then.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.r.Context()), completePatience)
	defer cancel()
	has, err := c.h.o.Control.List(ctx, u)
	if err != nil {
		return nil, c.gone(seal, err)
	}
	done, err := c.completion(seal, q, has)
	if err != nil {
		return nil, err
	}
	if limit := c.maxSize(); limit > 0 && done.Size > limit {
		return nil, c.tooLarge(ctx, u, seal, done.Size, limit)
	}
	info, err := c.h.o.Control.Complete(ctx, u, done)
	if err != nil {
		return nil, c.gone(seal, err)
	}
	c.h.book.close(seal)
	return completeResponse{Key: u.Key, Bucket: u.Bucket, Location: c.location(u), objectInfo: objectInfoOf(info)}, nil
}

// checkParts tells whether a list of parts is one.
func (c *call) checkParts(parts []part) error {
	if len(parts) == 0 {
		return refuse(http.StatusBadRequest, "parts must be a list of {ETag, PartNumber} with at least one")
	}
	last := 0
	for _, p := range parts {
		if p.PartNumber <= last || p.PartNumber > c.h.maxParts() || strings.Trim(p.ETag, `"`) == "" {
			return refuse(http.StatusBadRequest, "parts must have an ETag each, and rising numbers between 1 and %d", c.h.maxParts())
		}
		last = p.PartNumber
	}
	return nil
}

// completion is what the store is told: the parts as it has them, if they are those
// that the client means.
func (c *call) completion(seal sealed, q completeRequest, has []multipart.Receipt) (multipart.Completion, error) {
	algorithm, _ := algorithmOf(seal.Algorithm) // it was one when it was sealed
	done := multipart.Completion{Algorithm: algorithm, FullObject: seal.FullObject, CreateOnly: q.CreateOnly}
	byNumber := make(map[int]multipart.Receipt, len(has))
	for _, r := range has {
		byNumber[r.Number] = r
	}
	for _, p := range q.Parts {
		r, found := byNumber[p.PartNumber]
		meant := p.receipt().Digest
		differs := !meant.IsZero() && meant.Algorithm() == r.Digest.Algorithm() && meant != r.Digest
		if !found || strings.Trim(r.ETag, `"`) != strings.Trim(p.ETag, `"`) || differs {
			return done, invalidPart(p.PartNumber)
		}
		if r.Digest.IsZero() {
			r.Digest = meant
		}
		done.Parts = append(done.Parts, r)
		done.Size += r.Size
	}
	for _, said := range []*int64{q.Size, seal.Size} {
		if said != nil && *said != done.Size {
			return done, refuse(http.StatusBadRequest, "the parts have %d bytes in all, the object is to have %d", done.Size, *said)
		}
	}
	if q.CreateOnly && !c.h.traits().CreateOnly {
		return done, refuse(http.StatusBadRequest, "this store cannot be kept from replacing an object")
	}
	if q.Checksum == "" {
		return done, nil
	}
	var err error
	if done.Digest, err = chunker.ParseDigest(algorithm, q.Checksum); err != nil || !seal.FullObject || algorithm == chunker.None {
		return done, refuse(http.StatusBadRequest, "checksum is not one of the algorithm that the upload was begun with")
	}
	return done, nil
}

// invalidPart is what the store would say: it has no such part, or another one.
func invalidPart(number int) error {
	f := refuse(http.StatusBadRequest, "the store does not have part %d, or has another one of that number", number)
	f.store = &storeError{Status: http.StatusBadRequest, Code: "InvalidPart", Message: f.message}
	return f
}

// tooLarge drops an upload whose parts are more than an object may have.
func (c *call) tooLarge(ctx context.Context, u multipart.Upload, seal sealed, size, limit int64) error {
	f := refuse(http.StatusRequestEntityTooLarge, "the object has %d bytes: at most %d are allowed", size, limit)
	if f.cause = c.h.o.Control.Abort(ctx, u); f.cause == nil {
		c.h.book.close(seal)
	}
	return f
}

// abort drops an upload: DELETE /s3/multipart/{uploadId}.
func (c *call) abort() (any, error) {
	u, seal, err := c.upload()
	if err != nil {
		return nil, err
	}
	return struct{}{}, c.end(u, seal)
}

// end aborts an upload at the store and closes its entry.
func (c *call) end(u multipart.Upload, seal sealed) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.r.Context()), abortPatience)
	defer cancel()
	if err := c.h.o.Control.Abort(ctx, u); err != nil {
		return err
	}
	c.h.book.close(seal)
	return nil
}

// location is the address of an object, as Companion passes it on.
func (c *call) location(u multipart.Upload) string {
	segments := strings.Split(u.Key, "/")
	for i, s := range segments {
		segments[i] = url.PathEscape(s)
	}
	return strings.TrimSuffix(c.h.traits().Endpoint, "/") + "/" + u.Bucket + "/" + strings.Join(segments, "/")
}
