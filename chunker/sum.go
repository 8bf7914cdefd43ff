package chunker

import (
	"hash"
	"io"
	"sync"
)

// sumBuffer is how much [Sum] reads at once: few system calls, and small enough
// to be hashed while it is still in the processor's cache.
const sumBuffer = 256 << 10

// summer is what one Sum needs, kept for the next.
type summer struct {
	buf    [sumBuffer]byte
	sum    [maxDigest]byte
	hashes [len(algorithms)]hash.Hash // by algorithm, made when first needed
}

// summers only saves allocations: nothing that is in it can be seen outside.
var summers = sync.Pool{New: func() any { return new(summer) }}

// Sum reads r to its end and returns the digest of what it read. An error of r
// is returned as it is. With None it reads nothing and returns the zero Digest.
// It panics for what is no algorithm. Many goroutines may call it at once; it
// allocates nothing that the last call did not leave behind.
func Sum(r io.Reader, a Algorithm) (Digest, error) {
	if a == None {
		return Digest{}, nil
	}
	s := summers.Get().(*summer)
	defer summers.Put(s)
	h := s.hash(a)
	for {
		n, err := r.Read(s.buf[:])
		h.Write(s.buf[:n])
		if err == io.EOF {
			break
		}
		if err != nil {
			return Digest{}, err
		}
	}
	return NewDigest(a, h.Sum(s.sum[:0]))
}

// hash returns an empty hash for a.
func (s *summer) hash(a Algorithm) hash.Hash {
	if a.Size() == 0 || s.hashes[a] == nil {
		h := a.New()
		s.hashes[a] = h
		return h
	}
	s.hashes[a].Reset()
	return s.hashes[a]
}
