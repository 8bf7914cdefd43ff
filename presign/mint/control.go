package mint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/wire"
)

// tokenKey is the metadata in which an upload has its token, which serves as the key
// of its create: the same token is the same upload.
const tokenKey = "chunkup-token"

// Traits are those of the service's store; for a plain Companion, what any store
// takes. It makes no call.
func (c *Client) Traits() multipart.Traits { return c.traits }

// uploadPath is the path of an upload, or of what is below it.
func uploadPath(id string, below ...string) string {
	p := pathMultipart + "/" + url.PathEscape(id)
	for _, b := range below {
		p += "/" + url.PathEscape(b)
	}
	return p
}

// Create begins an upload. The key is the service's to choose, unless it said that
// this caller may; so is the bucket of a plain Companion. What it names in the end is
// in the upload.
func (c *Client) Create(ctx context.Context, i multipart.Intent) (multipart.Upload, error) {
	ask, token, err := c.createRequest(i)
	if err != nil {
		return multipart.Upload{}, err
	}
	q := question{method: http.MethodPost, path: pathMultipart, body: ask, key: token}
	if token == "" {
		q.again = never
	}
	var answer createResponse
	if err := c.caller.ask(ctx, q, &answer); err != nil {
		return multipart.Upload{}, err
	}
	if answer.UploadID == "" {
		return multipart.Upload{}, c.caller.trouble(errJunk)
	}
	u := multipart.Upload{Bucket: cmp.Or(answer.Bucket, i.Bucket), Key: cmp.Or(answer.Key, i.Key), ID: answer.UploadID}
	c.uploads.note(u.Key, u.ID)
	return u, nil
}

// createRequest is what is asked for an upload, and the token that names it to the
// service; empty if that does not know such names.
func (c *Client) createRequest(i multipart.Intent) (ask createRequest, token string, err error) {
	if err := c.checkBucket(i.Bucket); err != nil {
		return ask, "", err
	}
	contentType, metadata, headers := splitHeader(i.Header, c.traits.MetaPrefix)
	if err := c.checkHeaders(headers); err != nil {
		return ask, "", err
	}
	ask = createRequest{Filename: fileName(i.Key), Type: contentType, Metadata: metadata}
	if c.plain {
		return ask, "", nil
	}
	if c.about.ChooseKeys {
		ask.Key = i.Key
	}
	if i.Size >= 0 {
		ask.Size = &i.Size
	}
	ask.Headers, ask.Algorithm, ask.FullObject = headers, algorithmName(i.Algorithm), i.FullObject
	return ask, metadata[tokenKey], nil
}

// checkBucket refuses a bucket that is not the service's: it would put the object
// somewhere else.
func (c *Client) checkBucket(bucket string) error {
	if c.about.Bucket == "" || bucket == c.about.Bucket {
		return nil
	}
	return c.caller.hopeless(fmt.Sprintf("it uploads to the bucket %s, not to %s", c.about.Bucket, bucket))
}

// checkHeaders refuses what the service would refuse, or leave out.
func (c *Client) checkHeaders(headers map[string]string) error {
	allowed := map[string]bool{}
	for _, name := range c.about.Headers {
		allowed[http.CanonicalHeaderKey(name)] = true
	}
	for name := range headers {
		switch {
		case allowed[name]:
		case c.plain:
			return c.caller.hopeless("a plain Companion sets only the content type and metadata of an object, not " + name)
		default:
			return c.caller.hopeless("it does not let this caller set " + name)
		}
	}
	return nil
}

// fileName is the last element of a key, from which a service makes its own.
func fileName(key string) string {
	name := path.Base(strings.TrimRight(key, "/"))
	if name == "." || name == "/" || name == ".." {
		return "file"
	}
	return name
}

// List returns the parts that the store holds.
func (c *Client) List(ctx context.Context, u multipart.Upload) ([]multipart.Receipt, error) {
	c.uploads.note(u.Key, u.ID)
	var parts []part
	q := question{method: http.MethodGet, path: uploadPath(u.ID), query: url.Values{queryKey: {u.Key}}}
	// A Companion that runs for production says of an upload which is not there no more
	// than 500: after an abort that is what it means.
	gone := c.plain && c.aborted.of(u.ID) != ""
	q.again = func(err error) bool { return !gone || statusOf(err) != http.StatusInternalServerError }
	if err := c.caller.ask(ctx, q, &parts); err != nil {
		if gone && statusOf(err) == http.StatusInternalServerError {
			return nil, &wire.StoreError{Status: http.StatusNotFound, Code: "NoSuchUpload", Message: "it was aborted"}
		}
		return nil, c.asGone(err)
	}
	receipts := make([]multipart.Receipt, len(parts))
	for i, p := range parts {
		receipts[i] = p.receipt()
	}
	return receipts, nil
}

// Complete makes the object. A service of this package's is asked again after an answer
// that says that it, or a proxy before it, is in trouble. What may have been done and is
// not sure is returned as that answer, so that the caller looks: a plain Companion is
// asked once, and so is who does not answer.
func (c *Client) Complete(ctx context.Context, u multipart.Upload, done multipart.Completion) (multipart.Info, error) {
	c.uploads.note(u.Key, u.ID)
	if c.plain && done.CreateOnly {
		return multipart.Info{}, c.caller.hopeless("a plain Companion may replace the object that is there")
	}
	var doubt error // the first answer after which it was asked again
	q := question{method: http.MethodPost, path: uploadPath(u.ID, "complete"), query: url.Values{queryKey: {u.Key}},
		body: c.completeRequest(done), timeout: c.timeout}
	q.again = func(err error) bool {
		if c.plain || !isTrouble(statusOf(err)) {
			return false
		}
		doubt = cmp.Or(doubt, err)
		return true
	}
	var answer completeResponse
	err := c.caller.ask(ctx, q, &answer)
	switch {
	case err == nil && c.plain && answer.Location == "" && answer.Key == "":
		return multipart.Info{}, c.caller.trouble(errJunk)
	case err == nil:
		return answer.info(), nil
	case doubt != nil && ctx.Err() == nil && !isUndone(err):
		return multipart.Info{}, doubt
	}
	return multipart.Info{}, c.asGone(err)
}

// isTrouble tells the answers of a server that has most likely not got round to what it
// was asked. One that waited in vain for another (504) may be at it yet.
func isTrouble(status int) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable:
		return true
	}
	return false
}

// isUndone tells a refusal to complete that is not given where it was done before: the
// parts are there, and are not what was named.
func isUndone(err error) bool {
	e, ok := errors.AsType[*wire.StoreError](err)
	return ok && e.Status == http.StatusBadRequest
}

func (c *Client) completeRequest(done multipart.Completion) completeRequest {
	ask := completeRequest{Parts: make([]part, len(done.Parts))}
	for i, r := range done.Parts {
		if c.plain {
			r = multipart.Receipt{Number: r.Number, ETag: r.ETag}
		}
		ask.Parts[i] = partOf(r)
	}
	if !c.plain {
		ask.Size, ask.Checksum, ask.CreateOnly = &done.Size, done.Digest.Base64(), done.CreateOnly
	}
	return ask
}

// Abort drops an upload. That the store has it no more is a success; that the service
// does not know it is not, for its parts may still be there.
func (c *Client) Abort(ctx context.Context, u multipart.Upload) error {
	q := question{method: http.MethodDelete, path: uploadPath(u.ID), query: url.Values{queryKey: {u.Key}}}
	err := c.caller.ask(ctx, q, nil)
	if hasEnded(err) {
		err = nil
	}
	if err == nil {
		c.aborted.note(u.ID, u.Key)
	}
	return err
}

// Head says what the store has under a key. The service answers for the keys of its
// uploads, and for those that the caller may choose; a plain Companion for none.
func (c *Client) Head(ctx context.Context, bucket, key string) (multipart.Info, error) {
	if c.plain {
		return multipart.Info{}, c.caller.hopeless("a plain Companion does not say what is under a key")
	}
	if err := c.checkBucket(bucket); err != nil {
		return multipart.Info{}, err
	}
	query := url.Values{queryKey: {key}}
	if id := c.uploads.of(key); id != "" {
		query.Set(queryUploadID, id)
	}
	var answer objectInfo
	q := question{method: http.MethodGet, path: pathObject, query: query}
	if err := c.caller.ask(ctx, q, &answer); err != nil {
		return multipart.Info{}, asHidden(err)
	}
	if answer.ETag == "" {
		return multipart.Info{}, c.caller.trouble(errJunk)
	}
	return answer.info(), nil
}
