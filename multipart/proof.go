package multipart

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/chunkup/chunkup/chunker"
)

// wholeDigest combines the parts' digests, where the store does so too.
func (r *run) wholeDigest() (chunker.Digest, error) {
	if !r.traits.FullObject {
		return chunker.Digest{}, nil
	}
	return chunker.Whole(r.plan, r.digests())
}

// digests are the parts', in order.
func (r *run) digests() []chunker.Digest {
	digests := make([]chunker.Digest, len(r.parts))
	for i, p := range r.parts {
		digests[i] = p.Digest
	}
	return digests
}

// prove holds the answer of Complete against the source, and asks the store
// again where the answer itself is no proof.
func (r *run) prove(ctx context.Context, c *call) error {
	if r.isProof(r.info) {
		return r.compare(c, r.info)
	}
	info, err := r.head(ctx, c)
	// A store that keeps no metadata still names the object that it just made.
	same := sameETag(r.info.ETag, info.ETag) && info.Size == r.plan.Size
	switch {
	case err == nil && (same || r.isOurs(info)):
		r.info.Digest = info.Digest
		return r.compare(c, info)
	case err == nil:
		return r.fail(c, errors.New("another object is under the key: it was overwritten"), nil)
	case refused(err):
		return nil // may write but not look; the store did say that it worked
	}
	return r.unknown(c, errors.New("the answer to complete proves nothing"), err)
}

// isProof reports that an answer names a checksum of the whole object: the
// combined one, or an ETag that is made of the parts' MD5s.
func (r *run) isProof(info Info) bool {
	if r.traits.FullObject {
		return !info.Digest.IsZero()
	}
	return r.traits.Algorithm == chunker.MD5 && sameETag(info.ETag, r.md5ETag())
}

// md5ETag is the ETag of an object from parts, as S3 makes it.
func (r *run) md5ETag() string {
	sum, err := chunker.Composite(r.digests())
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%s-%d", sum.Hex(), len(r.parts))
}

// sameETag compares ETags as stores spell them: quoted or not.
func sameETag(a, b string) bool {
	return b != "" && strings.EqualFold(strings.Trim(a, `"`), strings.Trim(b, `"`))
}

// compare holds what the store says of the object against the source.
func (r *run) compare(c *call, info Info) error {
	if d := info.Digest; !d.IsZero() && !r.whole.IsZero() && d.Algorithm() == r.whole.Algorithm() && d != r.whole {
		return r.fail(c, &MismatchError{What: d.Algorithm().String(), Want: r.whole.Base64(), Got: d.Base64()}, nil)
	}
	if s := info.Size; s != 0 && s != r.plan.Size {
		return r.fail(c, &MismatchError{What: "size", Want: strconv.FormatInt(r.plan.Size, 10), Got: strconv.FormatInt(s, 10)}, nil)
	}
	return nil
}
