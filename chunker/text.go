package chunker

import (
	"fmt"
	"strings"
)

// MarshalText implements [encoding.TextMarshaler], for JSON and for flags: the
// name, as [Algorithm.String] gives it. What is no algorithm has none; the error
// wraps [ErrUnknownAlgorithm].
func (a Algorithm) MarshalText() ([]byte, error) {
	if int(a) >= len(algorithms) {
		return nil, fmt.Errorf("%w %d", ErrUnknownAlgorithm, uint8(a))
	}
	return []byte(a.String()), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler]: it sets a to the algorithm
// of that name, as [ParseAlgorithm] does, and leaves it alone when there is none.
func (a *Algorithm) UnmarshalText(text []byte) error {
	parsed, err := ParseAlgorithm(string(text))
	if err != nil {
		return err
	}
	*a = parsed
	return nil
}

// MarshalText implements [encoding.TextMarshaler]: "crc64nvme:rosUhgp5mIg=", as
// [Digest.String] gives it, but "" for the zero Digest. It never fails.
func (d Digest) MarshalText() ([]byte, error) {
	if d.IsZero() {
		return []byte{}, nil
	}
	return []byte(d.String()), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler]: it reads what
// [Digest.MarshalText] wrote. Anything else is a [*DigestError], or wraps
// [ErrUnknownAlgorithm], and leaves d alone.
func (d *Digest) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*d = Digest{}
		return nil
	}
	name, sum, found := strings.Cut(string(text), ":")
	if !found {
		return &DigestError{Reason: `is not written as algorithm, ":" and base64`}
	}
	a, err := ParseAlgorithm(name)
	if err != nil {
		return err
	}
	if a == None || name != a.String() {
		return &DigestError{Algorithm: a, Reason: fmt.Sprintf("is of %q, which no checksum is", name)}
	}
	parsed, err := ParseDigest(a, sum)
	if err != nil {
		return err
	}
	*d = parsed
	return nil
}
