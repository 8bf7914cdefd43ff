package chunker

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
)

// maxDigest is the size of the largest checksum, SHA-256's.
const maxDigest = 32

// Digest is a checksum and its algorithm. It is a value: two are equal if they
// are ==. The zero Digest is no checksum.
type Digest struct {
	algorithm Algorithm
	sum       [maxDigest]byte
}

// DigestError says that something is not a checksum, or that checksums do not go
// together.
type DigestError struct {
	Algorithm Algorithm // the one expected; None if there is none to name
	Part      int       // number of the part at fault, 0 if it is not about one
	Reason    string    // what is wrong
}

// Error says which checksum is wrong, and how.
func (e *DigestError) Error() string {
	text := "checksum"
	if e.Algorithm != None {
		text = e.Algorithm.String() + " " + text
	}
	if e.Part != 0 {
		text = fmt.Sprintf("%s of part %d", text, e.Part)
	}
	return text + " " + e.Reason
}

// NewDigest returns the digest with the bytes of sum, as [Algorithm.New]'s Sum
// gives them. A sum of the wrong length, any at all for None, is a
// [*DigestError].
func NewDigest(a Algorithm, sum []byte) (Digest, error) {
	if a != None && a.Size() == 0 {
		return Digest{}, &DigestError{Algorithm: a, Reason: "is of an unknown algorithm"}
	}
	if len(sum) != a.Size() {
		return Digest{}, &DigestError{Algorithm: a, Reason: fmt.Sprintf("has %d bytes instead of %d", len(sum), a.Size())}
	}
	d := Digest{algorithm: a}
	copy(d.sum[:], sum)
	return d, nil
}

// ParseDigest returns the digest that a store writes as base64. Anything but the
// one canonical spelling, the "-N" of a composite checksum included, is a
// [*DigestError].
func ParseDigest(a Algorithm, text string) (Digest, error) {
	// The length is looked at first, so that a store's answer of any size costs
	// nothing.
	if want := base64.StdEncoding.EncodedLen(a.Size()); len(text) != want {
		return Digest{}, &DigestError{Algorithm: a, Reason: fmt.Sprintf("has %d base64 characters instead of %d", len(text), want)}
	}
	sum, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return Digest{}, &DigestError{Algorithm: a, Reason: fmt.Sprintf("%q is not base64", text)}
	}
	d, err := NewDigest(a, sum)
	if err != nil {
		return Digest{}, err
	}
	if d.Base64() != text {
		return Digest{}, &DigestError{Algorithm: a, Reason: fmt.Sprintf("%q is not canonical base64", text)}
	}
	return d, nil
}

// Algorithm returns the algorithm, None for the zero Digest.
func (d Digest) Algorithm() Algorithm { return d.algorithm }

// IsZero reports whether d is no checksum at all. (A checksum may be all zero
// bytes: a CRC of no data is.)
func (d Digest) IsZero() bool { return d == Digest{} }

// Bytes returns the checksum, the caller's to keep; nil for the zero Digest.
func (d Digest) Bytes() []byte { return d.bytes() } // of this copy of d

// Base64 returns the checksum as the headers of S3 carry it; "" for the zero
// Digest.
func (d Digest) Base64() string { return base64.StdEncoding.EncodeToString(d.bytes()) }

// Hex returns the checksum as an ETag carries it; "" for the zero Digest.
func (d Digest) Hex() string { return hex.EncodeToString(d.bytes()) }

// String returns algorithm and checksum, "crc64nvme:rosUhgp5mIg=", or "none".
func (d Digest) String() string {
	if d.IsZero() {
		return None.String()
	}
	return d.algorithm.String() + ":" + d.Base64()
}

// bytes returns the part of the array that the algorithm uses.
func (d *Digest) bytes() []byte {
	if d.algorithm == None {
		return nil
	}
	return d.sum[:d.algorithm.Size()]
}
