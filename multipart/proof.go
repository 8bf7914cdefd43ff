package multipart

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/chunkup/chunkup/chunker"
)

// wholeDigest is the digest of the whole object, where those of the parts combine.
func (r *run) wholeDigest() (chunker.Digest, error) {
	all := r.parts.all()
	sizes, digests := make([]int64, len(all)), r.parts.digests()
	for i, p := range all {
		sizes[i] = p.Size
		if r.traits.Whole != chunker.None {
			digests[i] = p.whole
		}
	}
	switch {
	case !digests[0].Algorithm().Combines():
		return chunker.Digest{}, nil
	case r.source != nil:
		return chunker.Whole(r.plan, digests)
	}
	return chunker.Join(sizes, digests)
}

// checkParts refuses to make an object of anything but all parts: a store
// assembles whatever list it is given.
func (r *run) checkParts() error {
	var size int64
	for i, p := range r.parts.all() {
		if p.Number != i+1 || p.ETag == "" {
			return fmt.Errorf("part %d has no receipt: the object is not made", i+1)
		}
		size += p.Size
	}
	if size != r.plan.Size || int64(r.parts.done()) != r.total.Load() {
		return fmt.Errorf("the parts have %d bytes and the source %d: the object is not made", size, r.plan.Size)
	}
	return nil
}

// prove holds the answer of Complete against the source, and asks the store
// again where the answer itself is no proof.
func (r *run) prove(ctx context.Context, c *call) error {
	if err := r.compare(c, r.info); err != nil || r.isProof(r.info) {
		return err
	}
	if r.traits.Unseen {
		return r.judge(c, r.info)
	}
	info, err := r.head(ctx, c)
	// A store that keeps no metadata still names the object that it just made.
	same := sameETag(r.info.ETag, info.ETag) && info.Size == r.plan.Size
	switch {
	case err == nil && (same || r.isOurs(info)):
		answered := r.info.ETag
		r.info.Digest, r.info.Composite, r.info.ETag = info.Digest, info.Composite, info.ETag
		if err := r.judge(c, info); err != nil {
			return err
		}
		if !sameETag(answered, info.ETag) {
			return r.fail(c, &MismatchError{What: "ETag", Want: info.ETag, Got: answered}, nil)
		}
		return nil
	case err == nil && info.Metadata[tokenKey] == r.token:
		return r.judgeOurs(c, info)
	case err == nil:
		return r.fail(c, errors.New("another object is under the key: it was overwritten"), nil)
	case refused(err):
		r.warn(fmt.Errorf("the store said that the object is made, and does not let us look at it: %w", err))
		return r.judge(c, r.info)
	}
	return r.unknown(c, errors.New("the answer to complete proves nothing"), err)
}

// names reports that the store names a digest of the object that can be compared.
func (r *run) names(info Info) bool {
	want := r.whole.Algorithm()
	if info.Composite > 0 {
		want = r.traits.Algorithm
	}
	return want != chunker.None && info.Digest.Algorithm() == want
}

// isProof reports that an answer, which contradicts nothing, names a checksum of
// the whole object that the store has made itself.
func (r *run) isProof(info Info) bool {
	return r.names(info) && (!md5ETag.MatchString(info.ETag) || sameETag(info.ETag, r.partsETag()))
}

// partsETag is the ETag of an object from parts as S3 makes it, of the parts'
// ETags; empty if these are no MD5s.
func (r *run) partsETag() string {
	h := md5.New()
	all := r.parts.all()
	for _, p := range all {
		sum, err := hex.DecodeString(strings.Trim(p.ETag, `"`))
		if err != nil || len(sum) != md5.Size {
			return ""
		}
		h.Write(sum)
	}
	return fmt.Sprintf("%x-%d", h.Sum(nil), len(all))
}

// sameETag compares ETags as stores spell them: quoted or not.
func sameETag(a, b string) bool {
	return b != "" && strings.EqualFold(strings.Trim(a, `"`), strings.Trim(b, `"`))
}

// compare holds what the store says of the object against the source: its digest,
// its size.
func (r *run) compare(c *call, info Info) error {
	if s := info.Size; s != 0 && s != r.plan.Size {
		return r.fail(c, r.sizeMismatch(info), nil)
	}
	want := r.whole
	if info.Composite > 0 {
		want, _ = chunker.Composite(r.parts.digests()) // zero if there are none
	}
	d := info.Digest
	if d.IsZero() || want.IsZero() || d.Algorithm() != want.Algorithm() {
		return nil
	}
	if d != want || info.Composite > 0 && int64(info.Composite) != r.total.Load() {
		return r.fail(c, &MismatchError{What: d.Algorithm().String(), Want: want.Base64(), Got: d.Base64()}, nil)
	}
	return nil
}

func (r *run) sizeMismatch(info Info) error {
	return &MismatchError{What: "size", Want: strconv.FormatInt(r.plan.Size, 10), Got: strconv.FormatInt(info.Size, 10)}
}

// judgeOurs judges what is under the key with this upload's token: whatever its size
// is, 0 too, it must be the source's.
func (r *run) judgeOurs(c *call, info Info) error {
	if info.Size != r.plan.Size {
		return r.fail(c, r.sizeMismatch(info), nil)
	}
	return r.judge(c, info)
}

// judge compares, and where there is no digest takes an ETag for one: that of an
// object from parts is made of the parts' own, which for MD5 are what was sent. A store that makes
// it of anything else has a profile that says so.
func (r *run) judge(c *call, info Info) error {
	if err := r.compare(c, info); err != nil || r.names(info) {
		return err
	}
	if r.traits.OpaqueETag || info.OpaqueETag || !md5ETag.MatchString(info.ETag) {
		return nil
	}
	for _, p := range r.parts.all() {
		if r.traits.Algorithm == chunker.MD5 && !sameETag(p.ETag, p.Digest.Hex()) {
			return nil
		}
	}
	if want := r.partsETag(); want != "" && !sameETag(info.ETag, want) {
		return r.fail(c, &MismatchError{What: "ETag", Want: want, Got: info.ETag}, nil)
	}
	return nil
}

// misstored tells from the answer to a part that the store has other bytes than
// were sent.
func (r *run) misstored(h http.Header, d chunker.Digest) error {
	if d.IsZero() {
		return nil
	}
	if d.Algorithm() != chunker.MD5 {
		got := h.Get(r.checksumHeader(d.Algorithm()))
		if _, err := chunker.ParseDigest(d.Algorithm(), got); err == nil && got != d.Base64() {
			return &MismatchError{What: d.Algorithm().String(), Want: d.Base64(), Got: got}
		}
		return nil
	}
	etag := strings.Trim(h.Get("ETag"), `"`)
	m := md5ETag.FindStringSubmatch(etag)
	encrypted := strings.HasPrefix(h.Get("X-Amz-Server-Side-Encryption"), "aws:kms") ||
		h.Get("X-Amz-Server-Side-Encryption-Customer-Algorithm") != ""
	if m == nil || m[2] != "" || encrypted || r.traits.OpaqueETag || strings.EqualFold(etag, d.Hex()) {
		return nil
	}
	return &MismatchError{What: "ETag", Want: d.Hex(), Got: etag}
}
