package chunker

import (
	"hash"
	"io"
	"slices"
	"sync"
)

// sumBuffer is how much [Sum] reads at once: few system calls, and small enough
// to be hashed while it is still in the processor's cache, and for each lane to have
// one.
const sumBuffer = 32 << 10

// summer is what one Sum needs, kept for the next.
type summer struct {
	buf    [sumBuffer]byte
	sum    [maxDigest]byte
	hashes [len(algorithms)]hash.Hash // by algorithm, made when first needed

	running []Algorithm // those of the hashes that this Sum needs
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
	s.start(a)
	if err := s.read(r); err != nil {
		return Digest{}, err
	}
	return s.digest(a)
}

// SumMany reads r to its end once and returns its digest of each algorithm, in
// the order asked for: what [Sum] does, when a store wants one checksum and
// people another. None among them gives the zero Digest; with no other it reads
// nothing.
func SumMany(r io.Reader, as ...Algorithm) ([]Digest, error) {
	s := summers.Get().(*summer)
	defer summers.Put(s)
	s.start(as...)
	if err := s.read(r); err != nil {
		return nil, err
	}
	digests := make([]Digest, len(as))
	for i, a := range as {
		var err error
		if digests[i], err = s.digest(a); err != nil {
			return nil, err
		}
	}
	return digests, nil
}

// start makes ready one empty hash for each algorithm of as but None.
func (s *summer) start(as ...Algorithm) {
	s.running = s.running[:0]
	for _, a := range as {
		if a == None || slices.Contains(s.running, a) {
			continue
		}
		if a.Size() == 0 || s.hashes[a] == nil {
			s.hashes[a] = a.New() // which panics for what is no algorithm
		}
		s.hashes[a].Reset()
		s.running = append(s.running, a)
	}
}

// read gives all of r to the hashes that run.
func (s *summer) read(r io.Reader) error {
	for len(s.running) > 0 {
		n, err := r.Read(s.buf[:])
		for _, a := range s.running {
			s.hashes[a].Write(s.buf[:n])
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// digest returns what was read, by the hash for a.
func (s *summer) digest(a Algorithm) (Digest, error) {
	if a == None {
		return Digest{}, nil
	}
	return NewDigest(a, s.hashes[a].Sum(s.sum[:0]))
}
