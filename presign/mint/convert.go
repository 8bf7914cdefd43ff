package mint

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/wire"
)

// What the queries of the questions hold. Companion knows the first six. Lists are
// joined with commas; a map is spelled name[key]=value, once for each of its keys.
const (
	queryKey            = "key"
	queryPartNumbers    = "partNumbers"
	queryFilename       = "filename"
	queryType           = "type"
	queryMetadata       = "metadata" // a map
	queryUploadID       = "uploadId"
	querySize           = "size"
	queryChecksum       = "checksum"
	queryChecksumHeader = "checksumHeader"
	querySizes          = "sizes"
	queryChecksums      = "checksums"
	queryHeaders        = "headers"    // a map
	queryCreateOnly     = "createOnly" // true: refused with 412 if there is an object
)

// setMap puts a map into a query.
func setMap(q url.Values, name string, m map[string]string) {
	for k, v := range m {
		q.Set(name+"["+k+"]", v)
	}
}

// getMap reads a map out of a query; nil if there is none.
func getMap(q url.Values, name string) map[string]string {
	var m map[string]string
	for k := range q {
		inner, ok := strings.CutPrefix(k, name+"[")
		if inner, closed := strings.CutSuffix(inner, "]"); ok && closed {
			if m == nil {
				m = map[string]string{}
			}
			m[inner] = q.Get(k)
		}
	}
	return m
}

// metaPrefixOf is how headers of user metadata begin; empty means S3's.
func metaPrefixOf(prefix string) string {
	if prefix == "" {
		return "X-Amz-Meta-"
	}
	return prefix
}

// splitHeader sorts an object's headers into those of the protocol: its type, its
// metadata (names in lower case), and the others. Several values of a header are
// one, joined with commas, as HTTP has it.
func splitHeader(h http.Header, metaPrefix string) (contentType string, metadata, others map[string]string) {
	metadata, others = map[string]string{}, map[string]string{}
	prefix := strings.ToLower(metaPrefixOf(metaPrefix))
	for name, values := range h {
		value := strings.Join(values, ", ")
		key, isMeta := strings.CutPrefix(strings.ToLower(name), prefix)
		switch {
		case isMeta:
			metadata[key] = value
		case strings.EqualFold(name, "Content-Type"):
			contentType = value
		default:
			others[http.CanonicalHeaderKey(name)] = value
		}
	}
	return contentType, metadata, others
}

// joinHeader undoes splitHeader.
func joinHeader(contentType string, metadata, others map[string]string, metaPrefix string) http.Header {
	h := http.Header{}
	for name, value := range others {
		h.Set(name, value)
	}
	for key, value := range metadata {
		h.Set(metaPrefixOf(metaPrefix)+key, value)
	}
	if contentType != "" {
		h.Set("Content-Type", contentType)
	}
	return h
}

// partOf is a receipt as the protocol writes it. It has no room for a digest that
// is not one of S3's checksums.
func partOf(r multipart.Receipt) part {
	p := part{PartNumber: r.Number, Size: r.Size, ETag: r.ETag}
	switch sum := r.Digest.Base64(); r.Digest.Algorithm() {
	case chunker.CRC64NVME:
		p.ChecksumCRC64NVME = sum
	case chunker.CRC32C:
		p.ChecksumCRC32C = sum
	case chunker.CRC32:
		p.ChecksumCRC32 = sum
	case chunker.SHA256:
		p.ChecksumSHA256 = sum
	}
	return p
}

// receipt undoes partOf. A checksum that is none counts as not named.
func (p part) receipt() multipart.Receipt {
	r := multipart.Receipt{Number: p.PartNumber, Size: p.Size, ETag: p.ETag}
	for _, named := range []struct {
		algorithm chunker.Algorithm
		text      string
	}{{chunker.CRC64NVME, p.ChecksumCRC64NVME}, {chunker.CRC32C, p.ChecksumCRC32C},
		{chunker.CRC32, p.ChecksumCRC32}, {chunker.SHA256, p.ChecksumSHA256}} {
		if d, err := chunker.ParseDigest(named.algorithm, named.text); err == nil {
			r.Digest = d
			break
		}
	}
	return r
}

// objectInfoOf is what the protocol says of an object.
func objectInfoOf(i multipart.Info) objectInfo {
	o := objectInfo{Size: i.Size, ETag: i.ETag, VersionID: i.VersionID, Composite: i.Composite,
		Metadata: i.Metadata, OpaqueETag: i.OpaqueETag}
	if !i.Digest.IsZero() {
		o.Algorithm, o.Checksum = i.Digest.Algorithm().String(), i.Digest.Base64()
	}
	return o
}

// info undoes objectInfoOf. A checksum that is none counts as not named.
func (o objectInfo) info() multipart.Info {
	i := multipart.Info{Size: o.Size, ETag: o.ETag, VersionID: o.VersionID, OpaqueETag: o.OpaqueETag,
		Metadata: map[string]string{}}
	for k, v := range o.Metadata {
		i.Metadata[strings.ToLower(k)] = v
	}
	algorithm, err := chunker.ParseAlgorithm(o.Algorithm)
	if err != nil {
		return i
	}
	if d, err := chunker.ParseDigest(algorithm, o.Checksum); err == nil && !d.IsZero() {
		i.Digest, i.Composite = d, o.Composite
	}
	return i
}

// storeOf is what the service says of its store.
func storeOf(t multipart.Traits) Store {
	return Store{
		MinPart: t.Limits.MinPart, MaxPart: t.Limits.MaxPart, MaxParts: t.Limits.MaxParts, MaxObject: t.Limits.MaxObject,
		Algorithm: algorithmName(t.Algorithm), Whole: algorithmName(t.Whole),
		FullObject: t.FullObject, EqualParts: t.EqualParts, CreateOnly: t.CreateOnly,
		OpaqueETag: t.OpaqueETag, GoogHash: t.GoogHash, MetaPrefix: t.MetaPrefix,
	}
}

// traits undoes storeOf, but for what the client knows better. The error is that of
// an algorithm that is unknown here.
func (s Store) traits() (multipart.Traits, error) {
	t := multipart.Traits{
		Limits:     chunker.Limits{MinPart: s.MinPart, MaxPart: s.MaxPart, MaxParts: s.MaxParts, MaxObject: s.MaxObject},
		FullObject: s.FullObject, EqualParts: s.EqualParts, CreateOnly: s.CreateOnly,
		OpaqueETag: s.OpaqueETag, GoogHash: s.GoogHash, MetaPrefix: s.MetaPrefix,
	}
	var err error
	if t.Algorithm, err = algorithmOf(s.Algorithm); err != nil {
		return t, err
	}
	t.Whole, err = algorithmOf(s.Whole)
	return t, err
}

// algorithmName spells an algorithm; none is empty.
func algorithmName(a chunker.Algorithm) string {
	if a == chunker.None {
		return ""
	}
	return a.String()
}

// algorithmOf undoes algorithmName.
func algorithmOf(name string) (chunker.Algorithm, error) {
	if name == "" {
		return chunker.None, nil
	}
	return chunker.ParseAlgorithm(name)
}

// storeErrorOf is how the service passes on what the store has refused.
func storeErrorOf(e *wire.StoreError) *storeError {
	return &storeError{Status: e.Status, Code: e.Code, Message: e.Message, RequestID: e.RequestID,
		RetryAfterMS: e.RetryAfter.Milliseconds()}
}

// restore undoes storeErrorOf. It trusts the service with no more than it would the
// store: texts are cut and freed of what looks like a secret.
func (e *storeError) restore() *wire.StoreError {
	h := http.Header{}
	h.Set("X-Amz-Request-Id", e.RequestID)
	h.Set("X-Amz-Retry-After", strconv.FormatInt(e.RetryAfterMS, 10))
	return wire.NewStoreError(e.Status, h, e.Code, e.Message)
}
