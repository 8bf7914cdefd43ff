package chunker

import (
	"encoding/binary"
	"fmt"
)

// Combine returns the digest of the data of a followed by the sizeB bytes of the
// data of b. Both must be of one algorithm that [Algorithm.Combines], and sizeB
// not negative, or the error is a [*DigestError]. It takes some microseconds,
// whatever the sizes.
func Combine(a, b Digest, sizeB int64) (Digest, error) {
	if err := combinable(a.algorithm, a, b); err != nil {
		return Digest{}, err
	}
	if sizeB < 0 {
		return Digest{}, &DigestError{Algorithm: a.algorithm, Reason: fmt.Sprintf("cannot be of %d bytes", sizeB)}
	}
	poly := algorithms[a.algorithm].poly
	return a.followedBy(b, poly, poly.shift(sizeB)), nil
}

// Whole returns the digest of the whole object from those of its parts, in
// order. A wrong number of them, a missing one, two algorithms or one that does
// not combine are a [*DigestError]. 10,000 parts take a few milliseconds.
func Whole(p Plan, parts []Digest) (Digest, error) {
	if len(parts) != p.Len() || len(parts) == 0 {
		return Digest{}, &DigestError{Reason: fmt.Sprintf("of the whole needs those of %d parts, not of %d", p.Len(), len(parts))}
	}
	return join(parts, func(n int) int64 { return p.Part(n).Size })
}

// Join returns the digest of pieces of data one after another, from the size in
// bytes and the digest of each: what [Whole] does for the parts of a plan, for
// parts of any sizes. No pieces at all, more sizes than digests or fewer, a
// negative size, a missing digest, two algorithms or one that does not combine
// are a [*DigestError].
func Join(sizes []int64, parts []Digest) (Digest, error) {
	if len(parts) != len(sizes) || len(parts) == 0 {
		return Digest{}, &DigestError{Reason: fmt.Sprintf("of %d pieces needs as many digests, and one at least, not %d", len(sizes), len(parts))}
	}
	for i, size := range sizes {
		if size < 0 {
			return Digest{}, &DigestError{Algorithm: parts[i].algorithm, Part: i + 1, Reason: fmt.Sprintf("cannot be of %d bytes", size)}
		}
	}
	return join(parts, func(n int) int64 { return sizes[n-1] })
}

// join combines the digests of parts, of which there is one at least, given the
// size of part n, counted from 1.
func join(parts []Digest, size func(n int) int64) (Digest, error) {
	whole := parts[0]
	if err := combinable(whole.algorithm, parts...); err != nil {
		return Digest{}, err
	}
	// A shift is kept for the next part, which mostly has the same size.
	poly := algorithms[whole.algorithm].poly
	moved, shift := int64(0), poly.shift(0)
	for i, d := range parts[1:] {
		if n := size(i + 2); n != moved {
			moved, shift = n, poly.shift(n)
		}
		whole = whole.followedBy(d, poly, shift)
	}
	return whole, nil
}

// Composite returns the digest of the parts' digests written one after another:
// S3's checksums of type COMPOSITE, and with MD5 the ETag of a multipart upload.
// Stores write "-" and the number of parts after it; that is not in a Digest. No
// parts at all, a missing digest or two algorithms are a [*DigestError].
func Composite(parts []Digest) (Digest, error) {
	if len(parts) == 0 {
		return Digest{}, &DigestError{Reason: "of no parts does not exist"}
	}
	a := parts[0].algorithm
	if err := uniform(a, parts...); err != nil {
		return Digest{}, err
	}
	h := a.New()
	for _, d := range parts {
		h.Write(d.bytes())
	}
	return NewDigest(a, h.Sum(nil))
}

// uniform returns an error unless all digests are of a, which is not None.
func uniform(a Algorithm, parts ...Digest) error {
	for i, d := range parts {
		switch d.algorithm {
		case None:
			return &DigestError{Algorithm: a, Part: i + 1, Reason: "is missing"}
		case a:
		default:
			return &DigestError{Algorithm: a, Part: i + 1, Reason: "is a " + d.algorithm.String() + " instead"}
		}
	}
	return nil
}

// combinable returns an error unless all digests are of a, and a combines.
func combinable(a Algorithm, parts ...Digest) error {
	if err := uniform(a, parts...); err != nil {
		return err
	}
	if !a.Combines() {
		return &DigestError{Algorithm: a, Reason: "does not follow from those of the parts; crc64nvme, crc32c and crc32 do"}
	}
	return nil
}

// followedBy returns the digest of d's data followed by b's, given the shift of the
// length of b's data.
func (d Digest) followedBy(b Digest, poly polynomial, shift uint64) Digest {
	d.setCRC(poly.mul(d.crc(), shift) ^ b.crc())
	return d
}

// crc returns the checksum as a number, which S3 writes big-endian.
func (d *Digest) crc() uint64 {
	if d.algorithm.Size() == 4 {
		return uint64(binary.BigEndian.Uint32(d.sum[:]))
	}
	return binary.BigEndian.Uint64(d.sum[:])
}

// setCRC is the inverse of crc.
func (d *Digest) setCRC(crc uint64) {
	if d.algorithm.Size() == 4 {
		binary.BigEndian.PutUint32(d.sum[:], uint32(crc))
		return
	}
	binary.BigEndian.PutUint64(d.sum[:], crc)
}
