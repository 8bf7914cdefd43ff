package mint

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/presign"
)

const (
	maxNumbers  = 1000
	maxChecksum = 128 // characters
)

// sign hands out the request for one part: GET /s3/multipart/{uploadId}/{partNumber}.
func (c *call) sign() (any, error) {
	u, seal, err := c.live()
	if err != nil {
		return nil, err
	}
	p, err := c.part(u, seal, c.number, c.query.Get(querySize), c.query.Get(queryChecksum))
	if err != nil {
		return nil, err
	}
	c.partNumber = p.Number
	return c.presign(p)
}

// batch hands out those for several: GET /s3/multipart/{uploadId}/batch.
func (c *call) batch() (any, error) {
	u, seal, err := c.live()
	if err != nil {
		return nil, err
	}
	numbers := strings.Split(c.query.Get(queryPartNumbers), ",")
	if len(numbers) > maxNumbers {
		return nil, refuse(http.StatusBadRequest, "partNumbers has %d numbers: at most %d", len(numbers), maxNumbers)
	}
	sizes, err := c.list(querySizes, len(numbers))
	if err != nil {
		return nil, err
	}
	checksums, err := c.list(queryChecksums, len(numbers))
	if err != nil {
		return nil, err
	}
	answer := batchResponse{PresignedURLs: map[string]string{}, Parts: map[string]signedRequest{}}
	for i, number := range numbers {
		p, err := c.part(u, seal, number, sizes[i], checksums[i])
		if err != nil {
			return nil, err
		}
		r, err := c.presign(p)
		if err != nil {
			return nil, err
		}
		answer.PresignedURLs[number], answer.Parts[number] = r.URL, r
	}
	return answer, nil
}

// list reads a list of the query that has as many elements as there are parts; one
// that is not there has that many empty ones.
func (c *call) list(name string, n int) ([]string, error) {
	if !c.query.Has(name) {
		return make([]string, n), nil
	}
	list := strings.Split(c.query.Get(name), ",")
	if len(list) != n {
		return nil, refuse(http.StatusBadRequest, "%s has %d elements, partNumbers %d", name, len(list), n)
	}
	return list, nil
}

// part checks what is asked for a part. Without a size, the request is good for any.
func (c *call) part(u multipart.Upload, seal sealed, number, size, checksum string) (presign.Part, error) {
	p := presign.Part{Bucket: u.Bucket, Key: u.Key, UploadID: u.ID, Checksum: checksum}
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > c.h.maxParts() || strconv.Itoa(n) != number {
		return p, refuse(http.StatusBadRequest, "the part number must be a number between 1 and %d", c.h.maxParts())
	}
	p.Number = n
	if p.Size, err = c.partSize(size, seal.Size); err != nil {
		return p, err
	}
	if p.ChecksumHeader, err = c.checksumHeader(checksum); err == nil && size != "" {
		p = bindEmpty(p)
	}
	return p, err
}

// emptyMD5 is the digest of nothing.
const emptyMD5 = "1B2M2Y8AsgTpgAmY7PhCfg=="

// bindEmpty makes a request without a byte good for nothing else: signers do not sign a
// length of 0, so the digest has to say it.
func bindEmpty(p presign.Part) presign.Part {
	if p.Size == 0 && p.ChecksumHeader == "" {
		p.ChecksumHeader, p.Checksum = "Content-Md5", emptyMD5
	}
	return p
}

// partSize reads the size of a part; 0 if it was not said.
func (c *call) partSize(text string, object *int64) (int64, error) {
	if text == "" {
		return 0, nil
	}
	size, err := strconv.ParseInt(text, 10, 64)
	if err != nil || size < 0 {
		return 0, refuse(http.StatusBadRequest, "the size of a part must be a number of bytes")
	}
	limit := c.h.traits().Limits.MaxPart
	if whole := c.maxSize(); whole > 0 {
		limit = min(limit, whole)
	}
	if object != nil {
		limit = min(limit, *object)
	}
	if size > limit {
		return 0, refuse(http.StatusRequestEntityTooLarge, "the part has %d bytes: at most %d are allowed", size, limit)
	}
	return size, nil
}

// checksumHeader is the header in which the checksum is to go; it may be no other than
// one that carries a digest of the body.
func (c *call) checksumHeader(checksum string) (string, error) {
	name := http.CanonicalHeaderKey(c.query.Get(queryChecksumHeader))
	if checksum == "" {
		if name != "" && !c.query.Has(queryChecksums) {
			return "", refuse(http.StatusBadRequest, "checksumHeader comes with a checksum")
		}
		return "", nil
	}
	if len(checksum) > maxChecksum || strings.ContainsFunc(checksum, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", refuse(http.StatusBadRequest, "the checksum must be one, in base64")
	}
	switch name {
	case "X-Amz-Checksum-Crc32", "X-Amz-Checksum-Crc32c", "X-Amz-Checksum-Crc64nvme", "X-Amz-Checksum-Sha1",
		"X-Amz-Checksum-Sha256", "Content-Md5", "X-Goog-Hash":
		return name, nil
	}
	return "", refuse(http.StatusBadRequest, "checksumHeader must be one that carries a digest of the part")
}

// presign asks the provider.
func (c *call) presign(p presign.Part) (signedRequest, error) {
	r, err := c.h.o.Provider.Presign(c.r.Context(), p)
	if err != nil {
		return signedRequest{}, &failure{status: http.StatusBadGateway, cause: err,
			message: "this service cannot sign requests at the moment"}
	}
	answer := signedRequest{Method: r.Method, URL: r.URL}
	for name, values := range r.Header {
		if answer.Headers == nil {
			answer.Headers = map[string]string{}
		}
		answer.Headers[name] = strings.Join(values, ", ")
	}
	if !r.NotAfter.IsZero() {
		end := r.NotAfter.UTC()
		answer.NotAfter, answer.Expires = &end, secondsUntil(end)
	}
	return answer, nil
}

// secondsUntil is rounded down, so that no authority is said to live longer than it does.
func secondsUntil(end time.Time) int64 { return max(int64(time.Until(end)/time.Second), 0) }
