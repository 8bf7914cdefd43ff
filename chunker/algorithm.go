package chunker

import (
	"crypto/md5"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"strings"

	"github.com/minio/crc64nvme"
)

// Algorithm is a checksum that stores know. The zero value is [None].
type Algorithm uint8

// The algorithms.
const (
	None      Algorithm = iota // no checksum
	CRC64NVME                  // S3's default, and its fastest
	CRC32C                     // Castagnoli's polynomial; also Google's
	CRC32                      // the IEEE polynomial
	SHA256
	MD5 // ETag and Content-MD5
)

// ErrUnknownAlgorithm is wrapped by the error of [ParseAlgorithm].
var ErrUnknownAlgorithm = errors.New("unknown checksum algorithm")

// algorithms describes the constants above and is never written to.
var algorithms = [...]struct {
	name string
	size int // bytes of a checksum
	poly polynomial
	new  func() hash.Hash
}{
	None:      {name: "none"},
	CRC64NVME: {"crc64nvme", crc64nvme.Size, polynomial{crc64nvme.NVME, 64}, func() hash.Hash { return crc64nvme.New() }},
	CRC32C:    {"crc32c", crc32.Size, polynomial{crc32.Castagnoli, 32}, func() hash.Hash { return crc32.New(crc32.MakeTable(crc32.Castagnoli)) }},
	CRC32:     {"crc32", crc32.Size, polynomial{crc32.IEEE, 32}, func() hash.Hash { return crc32.NewIEEE() }},
	SHA256:    {name: "sha256", size: sha256.Size, new: sha256.New},
	MD5:       {name: "md5", size: md5.Size, new: md5.New},
}

// ParseAlgorithm returns the algorithm of that name, as [Algorithm.String]
// spells it, in upper or lower case.
func ParseAlgorithm(name string) (Algorithm, error) {
	var names []string
	for a, known := range algorithms {
		if strings.ToLower(name) == known.name {
			return Algorithm(a), nil
		}
		names = append(names, known.name)
	}
	return None, fmt.Errorf("%w %q: use one of %s", ErrUnknownAlgorithm, name, strings.Join(names, ", "))
}

// String returns the name: "crc64nvme", "crc32c", "crc32", "sha256", "md5",
// "none".
func (a Algorithm) String() string {
	if int(a) >= len(algorithms) {
		return fmt.Sprintf("Algorithm(%d)", uint8(a))
	}
	return algorithms[a].name
}

// Size returns the number of bytes of a checksum, 0 for None and what is no
// algorithm.
func (a Algorithm) Size() int {
	if int(a) >= len(algorithms) {
		return 0
	}
	return algorithms[a].size
}

// New returns a new hash. Its Sum is in the order of bytes that stores use, for
// a CRC the most significant first. New panics for None and what is no
// algorithm.
func (a Algorithm) New() hash.Hash {
	if a.Size() == 0 {
		panic("chunker: no hash for " + a.String())
	}
	return algorithms[a].new()
}

// Combines reports whether the checksum of two pieces of data together follows
// from the checksums of each: true for the CRCs.
func (a Algorithm) Combines() bool {
	return int(a) < len(algorithms) && algorithms[a].poly.bits != 0
}
