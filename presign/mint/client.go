package mint

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/presign"
)

const (
	defaultTimeout  = 30 * time.Second
	defaultRetries  = 4
	completeTimeout = 10 * time.Minute // a store may be at work on it for so long
	idleTimeout     = 20 * time.Second // below the minute or less at which proxies close
)

// ClientOptions of a [Client]. The zero value, or nil, gives the defaults.
type ClientOptions struct {
	// Header is sent with each call: what the service wants to know the caller by.
	// It is in no error, and goes to no other host: redirects are not followed.
	Header http.Header

	// TLS is used for https; nil verifies with the system's roots. It has no effect
	// with HTTP.
	TLS *tls.Config

	// Timeout bounds one attempt at a call, the answer included. 0 = 30 s. A Complete
	// may take 10 min, or this if it is longer.
	Timeout time.Duration

	// Retries is how often a call that may be repeated is, after its first attempt.
	// 0 = 4; negative: never.
	Retries int

	// Rand returns a number in [0, 1), from which the waits before the retries are
	// made. nil = the one of math/rand/v2. It must be safe for concurrent use.
	Rand func() float64

	// HTTP makes the calls; nil: a client of its own. It is copied, so that it follows
	// no redirect.
	HTTP *http.Client
}

// Client uploads without credentials: it is the control plane of a store and the
// provider of requests for its parts, both through a minting service, this package's
// [Handler] or Uppy's Companion. It is safe for concurrent use; make one with [Dial].
type Client struct {
	caller  *caller
	about   About
	plain   bool
	traits  multipart.Traits
	timeout time.Duration // of a Complete
	desk    *desk
	uploads memory      // the upload of a key
	aborted memory      // the key of an upload
	noBatch atomic.Bool // it knows no call for the requests of many parts
	close   func()
}

var (
	_ multipart.Control   = (*Client)(nil)
	_ presign.Provider    = (*Client)(nil)
	_ presign.Renewer     = (*Client)(nil)
	_ presign.Anticipator = (*Client)(nil)
)

// Dial returns a client of the service at the address, which is that of its root:
// "https://uploads.example.com" or "https://example.com/companion". It asks the
// service what it is; one that does not know the question is taken for a plain
// Companion, see [Client.Plain]. The context is for this question only.
//
// Errors: an address that is none; a *multipart.ServiceError, which wraps
// [presign.ErrCredentials] if the service did not take the header; the end of the
// context.
func Dial(ctx context.Context, address string, o *ClientOptions) (*Client, error) {
	if o == nil {
		o = &ClientOptions{}
	}
	base, header, err := split(address, o.Header)
	if err != nil {
		return nil, err
	}
	calls := &caller{name: base, header: header, secrets: secretsOf(header), timeout: cmp.Or(o.Timeout, defaultTimeout),
		retries: max(cmp.Or(o.Retries, defaultRetries), 0), rand: o.Rand}
	if calls.rand == nil {
		calls.rand = rand.Float64
	}
	c := &Client{caller: calls, timeout: max(completeTimeout, o.Timeout)}
	calls.http, c.close = transport(o)
	patience := max(calls.timeout, defaultTimeout)
	c.desk = newDesk(c.sign, patience, calls.trouble(fmt.Errorf("it gave no request within %v", patience)))
	if err := c.meet(ctx); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// split takes the secret out of an address, which becomes a header. It names no
// address that is wrong: it may have a secret where none belongs.
func split(address string, h http.Header) (base string, header http.Header, err error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return "", nil, errors.New("the address of a minting service is like https://host/path, without a query")
	}
	header = h.Clone()
	if header == nil {
		header = http.Header{}
	}
	if password, _ := u.User.Password(); u.User != nil && header.Get("Authorization") == "" {
		header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+password)))
	}
	u.User = nil
	return strings.TrimRight(u.String(), "/"), header, nil
}

// transport is what makes the calls, and what ends it.
func transport(o *ClientOptions) (*http.Client, func()) {
	mine := &http.Client{}
	end := func() {}
	if o.HTTP != nil {
		*mine = *o.HTTP
	} else {
		dialer := &net.Dialer{Timeout: 10 * time.Second}
		t := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: o.TLS, DialContext: dialer.DialContext,
			ForceAttemptHTTP2: true, TLSHandshakeTimeout: 10 * time.Second, MaxIdleConnsPerHost: 8, IdleConnTimeout: idleTimeout}
		mine.Transport, end = t, t.CloseIdleConnections
	}
	mine.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return mine, end
}

// meet asks the service what it is.
func (c *Client) meet(ctx context.Context) error {
	err := c.caller.ask(ctx, question{method: http.MethodGet, path: pathAbout}, &c.about)
	switch status := statusOf(err); {
	case err == nil && c.about.Version > 0 && c.about.Bucket != "":
		return c.know()
	case err == nil, errors.Is(err, errJunk), errors.Is(err, errTooLong), isNone(status):
		c.about, c.plain, c.traits = About{}, true, plainTraits(c.caller.name)
		return nil
	}
	return err
}

// isNone tells the status of a server that does not know the question from one that
// has something against who asks, or is in trouble.
func isNone(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired,
		http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	}
	return status/100 == 4
}

// know takes over what the service says of itself and its store.
func (c *Client) know() error {
	t, err := c.about.Store.traits()
	if err != nil {
		return c.caller.trouble(fmt.Errorf("its store wants what this version does not know: %w", err))
	}
	t.Endpoint, t.SameCreate, t.PartsOnly = c.caller.name, true, !c.about.ChooseKeys
	t.Limits = bounded(t.Limits, c.about)
	c.traits = t
	return nil
}

// bounded are the store's limits, or the service's where those are less.
func bounded(l chunker.Limits, a About) chunker.Limits {
	if a.MaxSize > 0 && (l.MaxObject == 0 || a.MaxSize < l.MaxObject) {
		l.MaxObject = a.MaxSize
	}
	if a.MaxParts > 0 && (l.MaxParts == 0 || a.MaxParts < l.MaxParts) {
		l.MaxParts = a.MaxParts
	}
	return l
}

// Bucket is where the service puts objects; empty if it does not say.
func (c *Client) Bucket() string { return c.about.Bucket }

// About is what the service says of itself; zero if it is a plain Companion.
func (c *Client) About() About { return c.about }

// Plain reports that the service is a plain Companion: it chooses every key, takes
// nothing but a content type and metadata, and can neither bind a checksum to a
// request nor say what became of an object.
func (c *Client) Plain() bool { return c.plain }

// Close ends what is being asked for and frees the connections. Of calls under way
// some may still end well; later ones for a request fail.
func (c *Client) Close() {
	c.desk.close()
	c.close()
}
