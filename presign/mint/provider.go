package mint

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/sync/errgroup"

	"github.com/chunkup/chunkup/presign"
)

// singly is how many calls for one part each run at once where there is none for many.
const singly = 8

// Presign asks the service for the request of a part, or of a whole object if there is
// no upload. While it is asked for others of the same upload, those who come wait and
// go together in the next call; who wants the same request as another shares it. One
// that gives up takes nobody with it.
//
// NotAfter is by this machine's clock: what the service says, moved by as much as its
// clock differs, or what the URL itself says.
//
// Errors: a *multipart.ServiceError, which wraps [presign.ErrCredentials] if the
// service refused the caller; what the store has refused, as the service passes it on;
// the end of the context.
func (c *Client) Presign(ctx context.Context, p presign.Part) (presign.Request, error) {
	if p.UploadID == "" {
		return c.presignObject(ctx, p)
	}
	return c.desk.get(ctx, p)
}

// Anticipate has the request for a part made ahead, together with others. It is used
// once, if it is still good then. Where requests live for less than 30 s nothing is
// made ahead.
func (c *Client) Anticipate(p presign.Part) {
	if p.UploadID != "" {
		c.desk.anticipate(p)
	}
}

// Renew forgets every request that was made ahead. It makes no call and cannot fail.
func (c *Client) Renew(context.Context) error {
	c.desk.forget()
	return nil
}

// presignObject asks for the request of an object in one PUT.
func (c *Client) presignObject(ctx context.Context, p presign.Part) (presign.Request, error) {
	if c.plain {
		return presign.Request{}, c.caller.hopeless("a plain Companion authorises only parts")
	}
	if err := c.checkBucket(p.Bucket); err != nil {
		return presign.Request{}, err
	}
	contentType, metadata, headers := splitHeader(p.Header, c.traits.MetaPrefix)
	createOnly := headers["If-None-Match"] == "*"
	if createOnly {
		delete(headers, "If-None-Match")
	}
	if err := c.checkHeaders(headers); err != nil {
		return presign.Request{}, err
	}
	query := url.Values{queryKey: {p.Key}, queryFilename: {fileName(p.Key)}, queryType: {contentType},
		querySize: {strconv.FormatInt(p.Size, 10)}}
	if p.ChecksumHeader != "" {
		query.Set(queryChecksumHeader, p.ChecksumHeader)
		query.Set(queryChecksum, p.Checksum)
	}
	if createOnly {
		query.Set(queryCreateOnly, "true")
	}
	setMap(query, queryMetadata, metadata)
	setMap(query, queryHeaders, headers)
	asked := time.Now()
	var answer paramsResponse
	if err := c.caller.ask(ctx, question{method: http.MethodGet, path: pathParams, query: query}, &answer); err != nil {
		return presign.Request{}, err
	}
	if answer.Key != "" && answer.Key != p.Key {
		return presign.Request{}, c.caller.hopeless("it put another key in the place of the one that was asked for")
	}
	return c.requestOf(answer.signedRequest, p, asked)
}

// sign asks for the requests of parts of one upload.
func (c *Client) sign(ctx context.Context, parts []presign.Part) ([]outcome, error) {
	if len(parts) == 1 {
		r, err := c.signOne(ctx, parts[0])
		return []outcome{{r, err}}, nil
	}
	if !c.noBatch.Load() {
		outcomes, err := c.signMany(ctx, parts)
		if !c.plain || !missesBatch(err) {
			return outcomes, err
		}
		c.noBatch.Store(true)
	}
	outcomes := make([]outcome, len(parts))
	var g errgroup.Group
	g.SetLimit(singly)
	for i, p := range parts {
		g.Go(func() error {
			outcomes[i].request, outcomes[i].err = c.signOne(ctx, p)
			return nil
		})
	}
	return outcomes, g.Wait()
}

func (c *Client) signOne(ctx context.Context, p presign.Part) (presign.Request, error) {
	query := url.Values{queryKey: {p.Key}}
	if !c.plain {
		query.Set(querySize, strconv.FormatInt(p.Size, 10))
		if p.ChecksumHeader != "" {
			query.Set(queryChecksumHeader, p.ChecksumHeader)
			query.Set(queryChecksum, p.Checksum)
		}
	}
	asked := time.Now()
	var answer signedRequest
	q := question{method: http.MethodGet, path: uploadPath(p.UploadID, strconv.Itoa(p.Number)), query: query}
	if err := c.caller.ask(ctx, q, &answer); err != nil {
		return presign.Request{}, c.asGone(err)
	}
	return c.requestOf(answer, p, asked)
}

func (c *Client) signMany(ctx context.Context, parts []presign.Part) ([]outcome, error) {
	var numbers, sizes, checksums []string
	for _, p := range parts {
		numbers = append(numbers, strconv.Itoa(p.Number))
		sizes = append(sizes, strconv.FormatInt(p.Size, 10))
		checksums = append(checksums, p.Checksum)
	}
	query := url.Values{queryKey: {parts[0].Key}, queryPartNumbers: {strings.Join(numbers, ",")}}
	if !c.plain {
		query.Set(querySizes, strings.Join(sizes, ","))
		if h := parts[0].ChecksumHeader; h != "" {
			query.Set(queryChecksumHeader, h)
			query.Set(queryChecksums, strings.Join(checksums, ","))
		}
	}
	asked := time.Now()
	var answer batchResponse
	q := question{method: http.MethodGet, path: uploadPath(parts[0].UploadID, "batch"), query: query}
	if err := c.caller.ask(ctx, q, &answer); err != nil {
		return nil, c.asGone(err)
	}
	outcomes := make([]outcome, len(parts))
	for i, p := range parts {
		signed, ok := answer.Parts[numbers[i]]
		if !ok {
			signed.URL = answer.PresignedURLs[numbers[i]]
		}
		outcomes[i].request, outcomes[i].err = c.requestOf(signed, p, asked)
	}
	return outcomes, nil
}

// requestOf reads what the service hands out. Whatever is wrong with it, no error says
// what it is: it is a secret.
func (c *Client) requestOf(s signedRequest, p presign.Part, asked time.Time) (presign.Request, error) {
	u, err := url.Parse(s.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return presign.Request{}, c.caller.trouble(fmt.Errorf("it gave no usable URL for part %d", p.Number))
	}
	if method := cmp.Or(s.Method, http.MethodPut); method != http.MethodPut {
		return presign.Request{}, c.caller.trouble(fmt.Errorf("it gave something else than a PUT for part %d", p.Number))
	}
	header := http.Header{}
	for name, value := range s.Headers {
		if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return presign.Request{}, c.caller.trouble(fmt.Errorf("it gave a header that cannot be sent for part %d", p.Number))
		}
		header.Set(name, value)
	}
	if p.ChecksumHeader == "Content-Md5" && header.Get("Content-Md5") == "" {
		header.Set("Content-Md5", p.Checksum) // the one digest that need not be signed
	}
	return presign.Request{Method: http.MethodPut, URL: s.URL, Header: header, NotAfter: c.notAfter(s, u, asked)}, nil
}

// notAfter is when a request ends, by this machine's clock; zero if nobody says.
func (c *Client) notAfter(s signedRequest, u *url.URL, asked time.Time) time.Time {
	end := urlEnd(u)
	switch {
	case s.NotAfter != nil && !s.NotAfter.IsZero():
		return c.caller.clock.here(*s.NotAfter)
	case !end.IsZero():
		return c.caller.clock.here(end)
	case s.Expires > 0 && s.Expires < int64(maxLife/time.Second):
		return asked.Round(0).Add(time.Duration(s.Expires) * time.Second)
	}
	return time.Time{}
}
