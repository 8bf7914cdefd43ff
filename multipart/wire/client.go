package wire

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"time"
)

// Options of a [Client]. The zero value gives the defaults.
type Options struct {
	// Limits bound the phases of each attempt.
	Limits Limits

	// TLS is used for https; nil verifies with the system's roots.
	TLS *tls.Config

	// Dial opens connections; nil dials TCP.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Client makes single attempts over kept connections. It is safe for
// concurrent use. The zero value is not usable; see [NewClient].
type Client struct {
	limits    Limits
	transport *http.Transport
}

// NewClient returns a client with connections of its own.
func NewClient(o Options) *Client {
	limits := o.Limits.WithDefaults()
	dial := o.Dial
	if dial == nil {
		// The dialer's own bound ends a dial that the transport has detached
		// from the attempt that wanted it.
		dial = (&net.Dialer{Timeout: limits.Connect, KeepAlive: 30 * time.Second}).DialContext
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.TLS != nil {
		config = o.TLS.Clone()
	}
	// Small records help a page appear early; a part only gets more of them.
	config.DynamicRecordSizingDisabled = true
	var http1 http.Protocols
	http1.SetHTTP1(true)
	return &Client{limits: limits, transport: &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dial,
		TLSClientConfig:       config,
		TLSHandshakeTimeout:   limits.Connect,
		Protocols:             &http1,
		DisableCompression:    true,
		MaxIdleConnsPerHost:   128,
		IdleConnTimeout:       20 * time.Second, // below the 30 s at which MinIO closes
		ExpectContinueTimeout: time.Second,
	}}
}

// Limits are the client's, with the defaults filled in.
func (c *Client) Limits() Limits { return c.limits }

// CloseIdle closes the connections that no attempt is using.
func (c *Client) CloseIdle() { c.transport.CloseIdleConnections() }

// Request is one attempt to send a body.
type Request struct {
	Method string
	URL    string
	Header http.Header // sent as it is

	// Body is read once, for exactly Size bytes; every attempt needs a fresh
	// one. Do returns only when it is no longer read.
	Body io.Reader
	Size int64

	// InFlight is the number of parts that share the link; it sizes the send
	// deadline.
	InFlight int

	// Expect asks the server whether it wants the body before it is sent, so
	// that an early refusal is seen. It costs a round trip.
	Expect bool

	// Progress, if set, is told of bytes as they are taken from Body. It is
	// called on the path of every byte: it must only count.
	Progress func(n int)
}

// Answer is what an attempt got. After an error it holds what was seen.
type Answer struct {
	Status  int
	Header  http.Header
	Body    []byte        // at most 64 KiB of it
	Sent    int64         // bytes of the body that the connection had accepted
	Conn    string        // the connection's local address; empty if there was none
	Elapsed time.Duration // of the whole attempt
}

// RequestError is a request that cannot be sent because its method or URL is
// malformed. It does not say which URL: that would be a secret.
type RequestError struct{}

func (*RequestError) Error() string { return "the request has a malformed method or URL" }

// Do makes one attempt. Its errors are: *[RequestError] for one that cannot be
// sent; *[StoreError] for any answer but a
// plain success; *[DeadlineError] when a bound of ours ran out; the body's own
// error when it could not be read; context.Cause(ctx) when the caller ended
// it; else the transport's.
func (c *Client) Do(ctx context.Context, r Request) (Answer, error) {
	start := time.Now()
	req, err := http.NewRequestWithContext(ctx, r.Method, r.URL, nil)
	if err != nil {
		return Answer{}, &RequestError{}
	}
	for name, values := range r.Header {
		req.Header[name] = values
	}
	if r.Expect && r.Size > 0 {
		req.Header.Set("Expect", "100-continue")
	}
	a := &attempt{client: c, limits: c.limits, size: r.Size, inFlight: r.InFlight, maxRead: maxAnswer}
	answer, err := a.do(req, r.Body, r.Progress)
	answer.Elapsed = time.Since(start)
	if err != nil {
		return answer, err
	}
	if refusal := ParseError(answer.Status, answer.Header, answer.Body); refusal != nil {
		return answer, refusal
	}
	return answer, nil
}

// attempt is the state of one round trip.
type attempt struct {
	client   *Client
	limits   Limits
	size     int64
	inFlight int
	maxRead  int64
}

func (a *attempt) do(req *http.Request, source io.Reader, progress func(int)) (Answer, error) {
	parent := req.Context()
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	w := &watch{limits: a.limits, send: a.limits.Send(a.size, a.inFlight), size: a.size, cancel: cancel}
	b := &body{source: source, left: a.size, watch: w, progress: progress}

	var answer Answer
	req = req.WithContext(httptrace.WithClientTrace(ctx, a.trace(w, &answer)))
	req.Body, req.ContentLength = http.NoBody, a.size
	if a.size > 0 {
		req.Body = b
	}
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", "chunkup")
	}
	w.enter(PhaseConnect)
	err := a.exchange(req, w, &answer)
	unreadable := b.end()
	answer.Sent = w.stop()

	switch {
	case err == nil:
		return answer, nil
	case parent.Err() != nil:
		return answer, context.Cause(parent)
	case ctx.Err() != nil:
		return answer, context.Cause(ctx)
	case unreadable != nil:
		return answer, unreadable
	}
	return answer, err
}

// trace moves the watch along as the transport reports.
func (a *attempt) trace(w *watch, answer *Answer) *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			answer.Conn = info.Conn.LocalAddr().String()
			w.enter(PhaseSend)
		},
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			if info.Err == nil {
				w.enter(PhaseAnswer)
			}
		},
	}
}

func (a *attempt) exchange(req *http.Request, w *watch, answer *Answer) error {
	resp, err := a.client.transport.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	w.enter(PhaseRead)
	answer.Status, answer.Header = resp.StatusCode, resp.Header
	answer.Body, err = io.ReadAll(io.LimitReader(resp.Body, a.maxRead))
	return err
}
