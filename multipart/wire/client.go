package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Options of a [Client]. The zero value gives the defaults.
type Options struct {
	// Limits bound the phases of each attempt.
	Limits Limits

	// TLS is used for https; nil verifies with the system's roots.
	TLS *tls.Config

	// Dial opens connections; nil dials TCP, in turn to each of the addresses
	// that the name has, and to the others when one does not answer at once.
	// The context ends when the attempt does.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Client makes single attempts over kept connections. It is safe for
// concurrent use. The zero value is not usable; see [NewClient].
type Client struct {
	limits Limits
	tls    *tls.Config
	dial   func(ctx context.Context, network, address string) (net.Conn, error)
	lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)
	turn   atomic.Uint32 // counts dials, to spread them over the addresses

	mu   sync.Mutex
	free []*carrier // last used last
}

// NewClient returns a client with connections of its own.
func NewClient(o Options) *Client {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.TLS != nil {
		config = o.TLS.Clone()
	}
	// Small records help a page appear early; a part only gets more of them.
	config.DynamicRecordSizingDisabled = true
	if config.ClientSessionCache == nil {
		config.ClientSessionCache = tls.NewLRUClientSessionCache(0)
	}
	c := &Client{limits: o.Limits.WithDefaults(), tls: config, dial: o.Dial, lookup: net.DefaultResolver.LookupNetIP}
	if c.dial == nil {
		c.dial = c.dialName
	}
	return c
}

// Limits are the client's, with the defaults filled in.
func (c *Client) Limits() Limits { return c.limits }

// Request is one attempt to send a body.
type Request struct {
	Method string
	URL    string
	Header http.Header // sent as it is

	// Body is read once, for exactly Size bytes; every attempt needs a fresh
	// one. Do returns only when it is no longer read. The time that a read
	// takes counts for no deadline. Nothing is sent before the first read
	// returns, so that a small body leaves in one piece with the request's head,
	// unless HeadFirst or Expect is set.
	//
	// Of a Body that has the methods File and Skip of a chunker.Reader, the kernel
	// sends by itself what need not be read: on Linux, without TLS, what lies in
	// memory of a file on a file system that says so. A Body that wraps such a reader
	// to see its bytes must not have these methods.
	Body io.Reader
	Size int64

	// HeadFirst sends the head ahead of a body that may be long in coming, for a
	// server closes a connection on which it hears nothing.
	HeadFirst bool

	// Send returns the send deadline; spent is the time that counts towards it, so
	// 0 at first. It is asked again when that has run out,
	// for it may have grown meanwhile: other parts share the link, or the link
	// was learned to be slower. It must return at once. nil = the Send of the
	// client's Limits for a body that has the link to itself.
	Send func(spent time.Duration) time.Duration

	// Stall bounds the time in which no byte of the body is acknowledged.
	// 0 = that of the client's Limits.
	Stall time.Duration

	// Fresh dials anew, with a new lookup of the name, where a kept connection
	// would do.
	Fresh bool

	// Expect asks the server whether it wants the body before it is sent, so
	// that an early refusal is seen. It costs a round trip, and a second on a
	// server that does not answer the question.
	Expect bool

	// Progress, if set, is told of bytes as they are taken from Body, by a read or by
	// the kernel. It is called on the path of every byte: it must only count.
	Progress func(n int)
}

// Answer is what an attempt got. After an error it holds what was seen.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte // at most 64 KiB of it

	// Sent is how many bytes of the body the other side's kernel has
	// acknowledged, where ours tells; else those that the connection accepted.
	// Of an attempt that got no answer it is rather too small than too large.
	Sent int64

	Conn    string        // the connection's local address; empty if there was none
	Elapsed time.Duration // of the whole attempt

	// NoContinue says that Expect was in vain: the server let the body wait
	// until it was sent unasked, or refused the question itself (417).
	NoContinue bool
}

// RequestError is a request that cannot be sent because its method or URL is
// malformed. It does not say which URL: that would be a secret.
type RequestError struct{}

func (*RequestError) Error() string { return "the request has a malformed method or URL" }

// hostOf is how the Host header names the place: without the port that the scheme
// implies, as those who sign requests leave it out.
func hostOf(u *url.URL) string {
	if u.Scheme == "https" {
		return strings.TrimSuffix(u.Host, ":443")
	}
	return strings.TrimSuffix(u.Host, ":80")
}

// Do makes one attempt. Its errors are: *[RequestError] for one that cannot be
// sent; *[StoreError] for any answer but a plain success; *[DeadlineError] when
// a bound of ours ran out; the body's own error when it could not be read;
// context.Cause(ctx) when the caller ended it; else the transport's. After any
// of them but an answer below 500 the connection is closed.
func (c *Client) Do(ctx context.Context, r Request) (Answer, error) {
	start := time.Now()
	req, err := http.NewRequestWithContext(ctx, r.Method, r.URL, nil)
	if err != nil {
		return Answer{}, &RequestError{}
	}
	req.Host = hostOf(req.URL)
	for name, values := range r.Header {
		req.Header[name] = values
	}
	expect := r.Expect && r.Size > 0
	if expect {
		req.Header.Set("Expect", "100-continue")
		// If it is refused, the transport would send the body all the same, to keep a
		// connection that the server may be closing.
		req.Close = true
	}
	a := &attempt{client: c, limits: c.limits, size: r.Size, send: r.Send, fresh: r.Fresh, ahead: r.HeadFirst, maxRead: maxAnswer}
	if r.Stall != 0 {
		a.limits.Stall = r.Stall
	}
	answer, err := a.do(req, r.Body, r.Progress)
	answer.NoContinue = expect && (answer.NoContinue || answer.Status == http.StatusExpectationFailed)
	answer.Elapsed = time.Since(start)
	if err != nil && !(ctx.Err() == nil && isCutRefusal(answer, err)) {
		return answer, err
	}
	if refusal := ParseError(answer.Status, answer.Header, answer.Body); refusal != nil {
		return answer, refusal
	}
	return answer, nil
}

// isCutRefusal reports a refusal whose connection broke in its body: what the
// status says stands, whatever the rest would have been.
func isCutRefusal(a Answer, err error) bool {
	_, late := errors.AsType[*DeadlineError](err)
	return a.Status >= 300 && !late
}
