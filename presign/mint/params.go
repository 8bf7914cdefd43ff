package mint

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/chunkup/chunkup/presign"
)

// FormSigner signs a form that a browser sends by POST, whose policy bounds the size of
// the file: what /s3/params answers when the size was not said.
type FormSigner interface {
	// PresignForm returns where the form goes and all its fields, those that were given
	// included, and until when it is good. maxSize is in bytes; 0 sets no bound.
	PresignForm(ctx context.Context, bucket, key string, fields map[string]string, maxSize int64) (url string, form map[string]string, notAfter time.Time, err error)
}

// params hands out one request for a whole object: GET /s3/params.
func (c *call) params() (any, error) {
	q := c.query
	header, err := c.h.objectHeader(q.Get(queryType), getMap(q, queryMetadata), getMap(q, queryHeaders))
	if err != nil {
		return nil, err
	}
	filename := cmp.Or(q.Get(queryFilename), q.Get(queryKey))
	if filename == "" {
		return nil, refuse(http.StatusBadRequest, "filename is required and must not be empty")
	}
	if q.Get(queryCreateOnly) == "true" {
		if !c.h.traits().CreateOnly {
			return nil, refuse(http.StatusBadRequest, "this store cannot be kept from replacing an object")
		}
		header.Set("If-None-Match", "*")
	}
	key, err := c.h.keyFor(c.caller, q.Get(queryKey), filename)
	if err != nil {
		return nil, err
	}
	c.key = key
	if q.Has(querySize) {
		return c.put(key, header)
	}
	return c.form(key, header)
}

// put is a PUT of exactly so many bytes.
func (c *call) put(key string, header http.Header) (any, error) {
	size, err := strconv.ParseInt(c.query.Get(querySize), 10, 64)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "size must be a number of bytes")
	}
	if err := c.checkSize(&size); err != nil {
		return nil, err
	}
	if limit := c.h.traits().Limits.MaxPart; size > limit {
		return nil, refuse(http.StatusRequestEntityTooLarge, "the object has %d bytes: send more than %d in parts", size, limit)
	}
	p := presign.Part{Bucket: c.h.o.Bucket, Key: key, Size: size, Checksum: c.query.Get(queryChecksum), Header: header}
	if p.ChecksumHeader, err = c.checksumHeader(p.Checksum); err != nil {
		return nil, err
	}
	r, err := c.presign(bindEmpty(p))
	return paramsResponse{signedRequest: r, Fields: map[string]string{}, Key: key, Bucket: c.h.o.Bucket}, err
}

// form is a POST, of any size up to the limit.
func (c *call) form(key string, header http.Header) (any, error) {
	if c.h.o.Forms == nil {
		return nil, refuse(http.StatusNotImplemented, "this service signs no forms: say the size, or send the object in parts")
	}
	fields := map[string]string{"success_action_status": "201"}
	for name, values := range header {
		fields[fieldName(name)] = strings.Join(values, ", ")
	}
	url, form, notAfter, err := c.h.o.Forms.PresignForm(c.r.Context(), c.h.o.Bucket, key, fields, c.mostInOne())
	if err != nil {
		return nil, &failure{status: http.StatusBadGateway, cause: err, message: "this service cannot sign requests at the moment"}
	}
	answer := paramsResponse{Fields: maps.Clone(form), Key: key, Bucket: c.h.o.Bucket,
		signedRequest: signedRequest{Method: http.MethodPost, URL: url}}
	if !notAfter.IsZero() {
		end := notAfter.UTC()
		answer.NotAfter, answer.Expires = &end, secondsUntil(end)
	}
	return answer, nil
}

// mostInOne is what one request may carry: a bound of none would let a store take what
// no one PUT can.
func (c *call) mostInOne() int64 {
	most := c.h.traits().Limits.MaxPart
	if limit := c.maxSize(); limit > 0 {
		most = min(most, limit)
	}
	return most
}

// fieldName spells a header as a field of a form: S3's own are in lower case
// (https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-HTTPPOSTForms.html).
func fieldName(header string) string {
	if strings.HasPrefix(header, "X-") {
		return strings.ToLower(header)
	}
	return header
}

// object tells what the store has under a key: GET /s3/object. The upload that has made
// it allows that, or a prefix under which the caller may choose keys.
func (c *call) object() (any, error) {
	key := c.query.Get(queryKey)
	if id := c.query.Get(queryUploadID); id != "" {
		if _, ok := c.h.sealer.open(c.caller.Name, key, id); !ok {
			return nil, noSuchUpload()
		}
	} else if err := mayChoose(c.caller, key); err != nil {
		return nil, err
	}
	c.key = key
	info, err := c.h.o.Control.Head(c.r.Context(), c.h.o.Bucket, key)
	if err != nil {
		return nil, err
	}
	return objectInfoOf(info), nil
}

// about tells what the service is: GET /s3/chunkup.
func (c *call) about() (any, error) {
	h := c.h
	return About{Version: Version, Bucket: h.o.Bucket, ChooseKeys: c.caller.Prefix != "", Prefix: c.caller.Prefix,
		MaxSize: c.maxSize(), MaxParts: h.maxParts(), Headers: h.o.Headers, Store: storeOf(h.o.Control.Traits())}, nil
}
