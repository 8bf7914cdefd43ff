package journal

import (
	"maps"
	"slices"
	"strings"

	"github.com/chunkup/chunkup/chunker"
)

// Listed is a part as the store lists it.
type Listed = Part

// Kept returns the listed parts that may be kept, in the order of their numbers,
// with the digest that the local bytes must have. It is a pure function: the
// local bytes are still to be looked at.
//
// A part may be kept if its number is in the record's plan and its size is the
// plan's, if it has an ETag, and if a digest that the store lists is of the
// record's algorithm; if that is none, listed digests are left out, for some stores
// make one unasked. Of two with one number the last counts, good or bad. Where the store
// lists no digest, the record's own receipt lends its, provided that it is of
// the same number, ETag and size: the store has the bytes that were sent then.
// A digest that is still zero is not known, and then the ETag must be the MD5 of
// the local bytes. ETags are compared without their quotes.
//
// From a stream, which has no plan, nothing can be kept.
func Kept(rec Record, listed []Listed) []Part {
	if rec.unplanned() {
		return nil
	}
	receipts := byNumber(rec.Parts)
	listings := byNumber(listed)
	var kept []Part
	for _, n := range slices.Sorted(maps.Keys(listings)) {
		p := listings[n]
		if n < 1 || n > rec.Plan.Len() || p.Size != rec.Plan.Part(n).Size || bare(p.ETag) == "" {
			continue
		}
		switch {
		case rec.Algorithm == chunker.None:
			p.Digest = chunker.Digest{}
		case p.Digest.IsZero():
			p.Digest = lent(rec.Algorithm, receipts[n], p)
		case p.Digest.Algorithm() != rec.Algorithm:
			continue
		}
		kept = append(kept, p)
	}
	return kept
}

// lent returns the digest of a receipt, if it is of what is listed.
func lent(a chunker.Algorithm, receipt, listed Part) chunker.Digest {
	if receipt.Digest.Algorithm() != a || receipt.Size != listed.Size || bare(receipt.ETag) != bare(listed.ETag) {
		return chunker.Digest{}
	}
	return receipt.Digest
}

// bare returns an ETag without the quotes, which some answers of one store have
// and others do not.
func bare(etag string) string { return strings.Trim(etag, `"`) }

// byNumber returns the last part of each number.
func byNumber(parts []Part) map[int]Part {
	m := make(map[int]Part, len(parts))
	for _, p := range parts {
		m[p.Number] = p
	}
	return m
}
