package mint

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/wire"
)

const (
	// maxAnswer bounds an answer, in bytes. A list of 10,000 parts has about 2 MB.
	maxAnswer = 8 << 20

	// retryBase and retryCap bound the wait before a call is made again: full
	// jitter, the ceiling doubling from the one to the other.
	retryBase = 250 * time.Millisecond
	retryCap  = 4 * time.Second

	// askedCap is what a longer Retry-After is cut to.
	askedCap = time.Minute
)

// errJunk is an answer of success that is none.
var errJunk = errors.New("the answer is not that of a minting service: is the address right?")

// errTooLong is an answer that nobody would wait for.
var errTooLong = fmt.Errorf("the answer has more than %d bytes", maxAnswer)

// caller makes the calls to the service. It is the one place of their retries, of
// the secrets in them and of the service's clock. It is safe for concurrent use.
type caller struct {
	name    string // the service's address, without a secret
	header  http.Header
	secrets secrets
	http    *http.Client
	timeout time.Duration // of an attempt
	retries int           // after the first attempt
	rand    func() float64
	clock   clock

	contacted atomic.Bool

	mu    sync.Mutex
	quiet time.Time // the service asked to be left alone until then
}

// question is one call.
type question struct {
	method  string
	path    string // below the address, escaped
	query   url.Values
	body    any           // is sent as JSON; nil: none
	key     string        // the Idempotency-Key; empty: none
	timeout time.Duration // of an attempt; 0: as for all

	// again is asked after a failure that may pass by itself, if there is an attempt
	// left, and says whether it may be made. nil: always.
	again func(error) bool
}

// never is for what may have been done, and must not be done twice.
func never(error) bool { return false }

// ask puts a question until it has an answer, which it reads into the value, or until
// asking again is no use. Errors: a *multipart.ServiceError; the *wire.StoreError that
// the service passes on, which is never tried again here; the end of the context.
func (c *caller) ask(ctx context.Context, q question, into any) error {
	var body []byte
	if q.body != nil {
		var err error
		if body, err = json.Marshal(q.body); err != nil {
			return fmt.Errorf("what is to be asked cannot be written as JSON: %w", err)
		}
	}
	if err := sleep(ctx, c.asked()); err != nil {
		return err
	}
	for attempt := 1; ; attempt++ {
		err := c.askOnce(ctx, q, body, attempt, into)
		if err == nil || ctx.Err() != nil || attempt > c.retries || !c.mayPass(err) || q.again != nil && !q.again(err) {
			return err
		}
		if ended := sleep(ctx, c.asked()+c.backoff(attempt)); ended != nil {
			return fmt.Errorf("%w (before that: %w)", ended, err)
		}
	}
}

// askOnce makes one attempt.
func (c *caller) askOnce(ctx context.Context, q question, body []byte, attempt int, into any) error {
	limit := cmp.Or(q.timeout, c.timeout)
	call, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no whole answer within %v", limit))
	defer cancel()
	req, err := c.request(call, q, body, attempt)
	if err != nil {
		return c.trouble(err)
	}
	sent := time.Now()
	resp, err := c.http.Do(req)
	if err != nil {
		return c.failed(ctx, call, err)
	}
	defer resp.Body.Close()
	c.contacted.Store(true)
	c.clock.saw(resp.Header, sent, time.Now())
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case resp.StatusCode/100 != 2:
		return c.refused(resp.StatusCode, resp.Header, data) // the status stands, whatever broke after it
	case err != nil:
		return c.failed(ctx, call, err)
	case len(data) > maxAnswer:
		return c.trouble(errTooLong)
	case into != nil && json.Unmarshal(data, into) != nil:
		return c.trouble(errJunk)
	}
	return nil
}

// request writes a question down.
func (c *caller) request(ctx context.Context, q question, body []byte, attempt int) (*http.Request, error) {
	address := c.name + q.path
	if len(q.query) > 0 {
		address += "?" + q.query.Encode()
	}
	var reader io.Reader
	if q.body != nil {
		reader = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, q.method, address, reader)
	if err != nil {
		return nil, &wire.RequestError{} // the error would name the whole address
	}
	for name, values := range c.header {
		req.Header[name] = values
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set(HeaderAttempt, strconv.Itoa(attempt))
	if q.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if q.key != "" {
		req.Header.Set(HeaderIdempotency, q.key)
	}
	if host := c.header.Get("Host"); host != "" {
		req.Host = host
	}
	return req, nil
}

// failed is the end of an attempt without an answer.
func (c *caller) failed(ctx, call context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if call.Err() != nil {
		return c.trouble(context.Cause(call))
	}
	if outer, ok := errors.AsType[*url.Error](err); ok {
		err = outer.Err // the outer one names the whole address
	}
	return c.trouble(err)
}

// trouble is the service's failure, or that of the way to it.
func (c *caller) trouble(err error) error {
	return &multipart.ServiceError{Service: c.name, Err: c.secrets.scrub(err)}
}

// mayPass reports whether the same call may do better after a while.
func (c *caller) mayPass(err error) bool {
	service, ok := err.(*multipart.ServiceError)
	if !ok || errors.Is(err, errJunk) || errors.Is(err, errTooLong) {
		return false
	}
	o := wire.Outcome{Op: wire.List, Err: service.Err, Contacted: c.contacted.Load()}
	if e, ok := errors.AsType[*wire.StoreError](err); ok {
		o = wire.Outcome{Op: wire.List, Status: e.Status}
	}
	class := wire.Classify(o)
	return class == wire.Retry || class == wire.Throttle
}

// leaveAlone heeds a Retry-After, which holds for every call.
func (c *caller) leaveAlone(wait time.Duration) {
	until := time.Now().Add(min(wait, askedCap))
	c.mu.Lock()
	defer c.mu.Unlock()
	if until.After(c.quiet) {
		c.quiet = until
	}
}

// asked is how much longer the service wants to be left alone.
func (c *caller) asked() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(time.Until(c.quiet), 0)
}

// backoff is the wait after so many attempts.
func (c *caller) backoff(attempts int) time.Duration {
	ceiling := min(retryBase<<min(attempts-1, 10), retryCap)
	return time.Duration(c.rand() * float64(ceiling))
}

// sleep waits, or returns the context's cause when that ends before.
func sleep(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
