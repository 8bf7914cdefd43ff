package wire

import (
	"bytes"
	"fmt"
	"net/http"
	"time"
)

// maxControl bounds the answer to a control call, in bytes. A page of 10,000
// parts (MinIO) with their checksums is about 4 MB.
const maxControl = 16 << 20

// Doer makes control calls: small requests whose answer is wanted whole. It
// fits the HTTPClient option of the AWS SDK's clients. The body of its answers
// is an io.Seeker: who comes after the SDK can read it again.
type Doer struct {
	client *Client
	limits Limits
	most   int64 // bytes of an answer
}

// Control returns a Doer over the client's connections whose answers may take
// as long as given: until the status line, and from there to their end. 0
// keeps the client's limits.
func (c *Client) Control(answer time.Duration) *Doer {
	limits := c.limits
	if answer != 0 {
		limits.Answer, limits.Read = answer, answer
	}
	return &Doer{client: c, limits: limits, most: maxControl}
}

// Download returns a Doer whose answers have up to size bytes (a refusal may
// always have 64 KiB). From its status line on, an answer may take as long as a
// body of that size may take to be sent.
func (c *Client) Download(size int64) *Doer {
	limits := c.limits
	limits.Read = limits.Send(size, 1)
	return &Doer{client: c, limits: limits, most: max(size, maxAnswer)}
}

// Do sends the request once, under the deadlines, and returns the answer with
// its body already read; a redirect is an answer. Errors are those of
// [Client.Do], but that every status is returned as it is.
func (d *Doer) Do(req *http.Request) (*http.Response, error) {
	if req.ContentLength < 0 || req.ContentLength == 0 && req.Body != nil && req.Body != http.NoBody {
		return nil, fmt.Errorf("%s: a control call needs a body of known length", req.Method)
	}
	a := &attempt{client: d.client, limits: d.limits, size: req.ContentLength, maxRead: d.most + 1}
	answer, err := a.do(req.Clone(req.Context()), req.Body, nil)
	if req.Body != nil {
		req.Body.Close()
	}
	if err == nil && int64(len(answer.Body)) > d.most {
		err = fmt.Errorf("%s: the answer has more than %d bytes", req.Method, d.most)
	}
	if err != nil {
		return nil, err
	}
	return &http.Response{
		Status:     fmt.Sprintf("%d %s", answer.Status, http.StatusText(answer.Status)),
		StatusCode: answer.Status,
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        answer.Header,
		Body:          heldBody{bytes.NewReader(answer.Body)},
		ContentLength: int64(len(answer.Body)),
		Request:       req,
	}, nil
}

// heldBody is a body that is in memory.
type heldBody struct{ *bytes.Reader }

// Close does nothing.
func (heldBody) Close() error { return nil }
