package s3store

import (
	"net/http"
	"strconv"
	"strings"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart"
)

// checksums are those that an answer of S3 has room for.
type checksums struct{ crc64nvme, crc32c, crc32, sha256 *string }

// read returns the one that the store named, if it is well formed. A composite
// one has the number of its parts after it ("AAAAAA==-3"); of any other, parts
// is 0.
func (c checksums) read() (d chunker.Digest, parts int) {
	for _, named := range []struct {
		algorithm chunker.Algorithm
		text      *string
	}{{chunker.CRC64NVME, c.crc64nvme}, {chunker.CRC32C, c.crc32c}, {chunker.CRC32, c.crc32}, {chunker.SHA256, c.sha256}} {
		if named.text == nil {
			continue
		}
		text, number, composite := strings.Cut(*named.text, "-") // base64 has no "-"
		if composite {
			n, err := strconv.Atoi(number)
			if err != nil || n < 1 {
				continue
			}
			parts = n
		}
		if d, err := chunker.ParseDigest(named.algorithm, text); err == nil {
			return d, parts
		}
		parts = 0
	}
	return chunker.Digest{}, 0
}

// proof fills in the checksum that an answer names of an object.
func (s *Store) proof(info *multipart.Info, c checksums, kind types.ChecksumType, header http.Header) {
	d, parts := c.read()
	if parts == 0 && !s.isOfWhole(info.ETag, d.Algorithm(), kind) {
		d = chunker.Digest{} // and of how many parts it is, nobody says
	}
	if d.IsZero() {
		d = googHash(header, s.profile.Traits.Algorithm)
	}
	info.Digest, info.Composite = d, parts
}

// isOfWhole reports that a checksum without a number of parts is of the bytes.
// Where the store does not name the type (MinIO does not in its answer to
// Complete) and the object was made of parts, that depends on what was declared.
func (s *Store) isOfWhole(etag string, a chunker.Algorithm, kind types.ChecksumType) bool {
	switch {
	case a == chunker.CRC64NVME: // it has no composite form
		return true
	case kind != "":
		return kind == types.ChecksumTypeFullObject
	}
	return !strings.Contains(etag, "-") || s.profile.Traits.FullObject && s.profile.Traits.Algorithm == a
}

// googHash reads what GCS says of every object: X-Goog-Hash, in one line or in
// several, as in "crc32c=n03x6A==,md5=Ojk9c3dhfxgoKVVHYwFbHQ==". Of several
// digests it prefers the one of algorithm a, then CRC32C: an object that was
// made of parts has no other
// (https://cloud.google.com/storage/docs/xml-api/reference-headers#xgooghash).
func googHash(header http.Header, a chunker.Algorithm) (best chunker.Digest) {
	for _, field := range strings.Split(strings.Join(header.Values("X-Goog-Hash"), ","), ",") {
		name, text, _ := strings.Cut(strings.TrimSpace(field), "=")
		algorithm, err := chunker.ParseAlgorithm(name)
		if err != nil {
			continue
		}
		d, err := chunker.ParseDigest(algorithm, text)
		if err == nil && (algorithm == a || algorithm == chunker.CRC32C && best.Algorithm() != a || best.IsZero()) {
			best = d
		}
	}
	return best
}

// headerOf is the header of the answer that the SDK has read.
func headerOf(m middleware.Metadata) http.Header {
	if answer, ok := awsmiddleware.GetRawResponse(m).(*smithyhttp.Response); ok && answer.Response != nil {
		return answer.Header
	}
	return nil
}
