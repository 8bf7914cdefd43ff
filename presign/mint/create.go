package mint

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart"
)

const (
	maxCreate      = 64 << 10 // bytes of the body
	maxIdempotency = 255      // bytes of the key
	createPatience = time.Minute
)

var errNoID = errors.New("the store has begun an upload without an id")

// create begins an upload: POST /s3/multipart.
func (c *call) create() (any, error) {
	var q createRequest
	if err := c.decode(maxCreate, &q); err != nil {
		return nil, err
	}
	name := c.r.Header.Get(HeaderIdempotency)
	if len(name) > maxIdempotency {
		return nil, refuse(http.StatusBadRequest, "%s has more than %d bytes", HeaderIdempotency, maxIdempotency)
	}
	e, intent, err := c.planCreate(q)
	if err != nil {
		return nil, err
	}
	e.ID, e.Named = recordID(e.Bucket, c.caller.Name, name), name != ""
	c.h.sweep(c.r.Context())
	// One who hangs up takes nobody with him, and what the store does is recorded.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.r.Context()), createPatience)
	defer cancel()
	v, err, _ := c.h.creates.Do(e.ID+e.Asked, func() (any, error) { return c.h.begin(ctx, e, intent) })
	if err != nil {
		return nil, err
	}
	e = v.(Entry)
	c.key = e.Key
	return createResponse{Key: e.Key, Bucket: e.Bucket, UploadID: c.h.sealer.seal(c.caller.Name, e.Key, sealed{
		ID: e.UploadID, Begun: e.Begun.Unix(), Size: e.Size, Algorithm: e.Algorithm, FullObject: e.FullObject, Record: e.ID})}, nil
}

// planCreate checks what is asked for, before anything is done.
func (c *call) planCreate(q createRequest) (e Entry, i multipart.Intent, err error) {
	if err := c.checkSize(q.Size); err != nil {
		return e, i, err
	}
	algorithm, err := algorithmOf(q.Algorithm)
	if err != nil || q.FullObject && !algorithm.Combines() {
		return e, i, refuse(http.StatusBadRequest, "algorithm is none of an upload: use that of /s3/chunkup")
	}
	header, err := c.h.objectHeader(q.Type, q.Metadata, q.Headers)
	if err != nil {
		return e, i, err
	}
	filename := cmp.Or(q.Filename, q.Key)
	if filename == "" {
		return e, i, refuse(http.StatusBadRequest, "filename is required and must not be empty")
	}
	key, err := c.h.keyFor(c.caller, q.Key, filename)
	if err != nil {
		return e, i, err
	}
	asked, err := json.Marshal(q) // in one order: what is asked for again is the same
	if err != nil {
		return e, i, broken("the request cannot be recorded", err)
	}
	sum := sha256.Sum256(asked)
	e = Entry{Bucket: c.h.o.Bucket, Caller: c.caller.Name, Key: key, Asked: hex.EncodeToString(sum[:]),
		Begun: time.Now().UTC(), Size: q.Size, Algorithm: algorithmName(algorithm), FullObject: q.FullObject}
	i = multipart.Intent{Bucket: e.Bucket, Header: header, Algorithm: algorithm, FullObject: q.FullObject, Size: -1}
	if q.Size != nil {
		i.Size = *q.Size
	}
	return e, i, nil
}

// recordID is the id of the entry of a caller's idempotency key in a bucket: 128 bits,
// random ones if there is no key.
func recordID(bucket, caller, name string) string {
	if name == "" {
		name = rand.Text()
	}
	inBucket, ofCaller := sha256.Sum256([]byte(bucket)), sha256.Sum256([]byte(caller))
	sum := sha256.Sum256(slices.Concat(inBucket[:], ofCaller[:], []byte(name)))
	return hex.EncodeToString(sum[:16])
}

// begin creates the upload of an entry, unless an equal create has done so: the
// intent is recorded before it, the upload's id after it.
func (h *Handler) begin(ctx context.Context, e Entry, i multipart.Intent) (Entry, error) {
	e, fresh, err := h.book.reserve(e)
	if err != nil || e.UploadID != "" && !h.book.isOver(e, time.Now()) {
		return e, err
	}
	defer h.book.release(e.ID)
	switch {
	case fresh:
	case e.UploadID != "": // its time is over
		if err := h.retire(ctx, e); err != nil {
			return e, err
		}
		e.UploadID = ""
	default: // a create of it was not answered, or the process died
		if e.UploadID = h.findUpload(ctx, e); e.UploadID != "" {
			return e, h.record(ctx, e)
		}
	}
	if !fresh {
		e.Begun = time.Now().UTC()
	}
	if err := h.book.write(e); err != nil {
		return e, errors.Join(broken("the upload cannot be recorded", err), h.book.drop(e.ID))
	}
	i.Key = e.Key
	u, err := h.o.Control.Create(ctx, i)
	if err == nil && u.ID == "" {
		err = errNoID
	}
	if err != nil {
		// In doubt, the one who has named it will ask again; nobody else can.
		if isRefusal(err) || !e.Named {
			_ = h.book.drop(e.ID) // an intent without an upload; the sweep finds it
		}
		return e, err
	}
	e.UploadID = u.ID
	return e, h.record(ctx, e)
}

// record keeps the id of an upload, or does not keep the upload.
func (h *Handler) record(ctx context.Context, e Entry) error {
	err := h.book.write(e)
	if err == nil {
		return nil
	}
	if abortErr := h.retire(ctx, e); abortErr == nil {
		_ = h.book.drop(e.ID)
	}
	return broken("the upload cannot be recorded", err)
}

// objectHeader makes the headers of an object of what was asked for, if all of it is
// allowed.
func (h *Handler) objectHeader(contentType string, metadata, others map[string]string) (http.Header, error) {
	encoded := make(map[string]string, len(metadata))
	for name, value := range metadata {
		if name == "" {
			return nil, refuse(http.StatusBadRequest, "metadata has a value without a name")
		}
		encoded[name] = encodeWord(value)
	}
	for name := range others {
		if _, ok := h.headers[http.CanonicalHeaderKey(name)]; !ok {
			return nil, refuse(http.StatusBadRequest, "the header %.100q is not one that an object may have here", name)
		}
	}
	header := joinHeader(contentType, encoded, others, h.traits().MetaPrefix)
	for name, values := range header {
		if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(strings.Join(values, "")) {
			return nil, refuse(http.StatusBadRequest, "the header %.100q has characters that cannot be sent", name)
		}
	}
	return header, nil
}

// encodeWord writes what is not ASCII as RFC 2047 has it, as S3 and Companion do for
// metadata.
func encodeWord(s string) string {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return "=?UTF-8?B?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?="
		}
	}
	return s
}

// checkSize tells whether an object may have so many bytes; nil: it was not said.
func (c *call) checkSize(size *int64) error {
	limit := c.maxSize()
	switch {
	case size == nil:
		return nil
	case *size < 0:
		return refuse(http.StatusBadRequest, "size must not be negative")
	case limit > 0 && *size > limit:
		return refuse(http.StatusRequestEntityTooLarge, "the object has %d bytes: at most %d are allowed", *size, limit)
	}
	return nil
}

// maxSize bounds the caller's objects, in bytes; 0: only the store does.
func (c *call) maxSize() int64 {
	limit := int64(0)
	for _, l := range []int64{c.caller.MaxSize, c.h.o.MaxSize, c.h.traits().Limits.MaxObject} {
		if l > 0 && (limit == 0 || l < limit) {
			limit = l
		}
	}
	return limit
}

// traits are the store's, its limits without their defaults but for the parts'.
func (h *Handler) traits() multipart.Traits {
	t := h.o.Control.Traits()
	t.Limits.MaxPart = cmp.Or(t.Limits.MaxPart, chunker.MaxPart)
	t.Limits.MaxParts = cmp.Or(t.Limits.MaxParts, chunker.MaxParts)
	return t
}
