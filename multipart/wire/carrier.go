package wire

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"
)

// maxFree is how many connections are kept for later at most; so many fit the
// lanes of one endpoint and its control calls.
const maxFree = 128

// carrier is one connection, and what HTTP needs to use it. Each has a
// transport of its own, because a shared one may hand a connection that has
// just answered 503 to the next part before anybody can forbid it.
//
// The transport dials, and dials again when the server has closed the
// connection while nobody used it.
type carrier struct {
	client    *Client
	origin    string
	transport *http.Transport
	life      context.Context // over when the carrier is closed
	end       context.CancelFunc

	mu    sync.Mutex
	conns []*conn // one, unless the transport had to dial again
}

func (c *Client) newCarrier(origin string) *carrier {
	life, end := context.WithCancel(context.Background())
	added := &carrier{client: c, origin: origin, life: life, end: end}
	var http1 http.Protocols
	http1.SetHTTP1(true)
	added.transport = &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           added.dial,
		TLSClientConfig:       c.tls,
		Protocols:             &http1,
		DisableCompression:    true,
		IdleConnTimeout:       20 * time.Second, // below the 30 s at which MinIO closes
		ExpectContinueTimeout: time.Second,
	}
	return added
}

// dial opens the carrier's connection. The transport detaches it from the
// attempt; the end of the carrier ends it.
func (c *carrier) dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.life, cancel)()
	opened, err := c.client.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	wrapped := newConn(opened)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.life.Err() != nil {
		wrapped.Close()
		return nil, net.ErrClosed
	}
	c.conns = append(slices.DeleteFunc(c.conns, (*conn).isClosed), wrapped)
	return wrapped, nil
}

// close ends the carrier with whatever it is doing. A connection at rest is
// closed with TLS's goodbye; one in use may have no room for it.
func (c *carrier) close() {
	c.end()
	c.transport.CloseIdleConnections()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, open := range c.conns {
		open.Close()
	}
}

// isDead reports that there is no open connection.
func (c *carrier) isDead() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !slices.ContainsFunc(c.conns, func(o *conn) bool { return !o.isClosed() })
}

// take returns a carrier for one attempt: the one to that place that was used
// last, else a new one.
func (c *Client) take(u *url.URL, fresh bool) *carrier {
	origin := u.Scheme + "://" + u.Host
	if !fresh {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.free = slices.DeleteFunc(c.free, (*carrier).isDead)
		for i, kept := range slices.Backward(c.free) {
			if kept.origin == origin {
				c.free = slices.Delete(c.free, i, i+1)
				return kept
			}
		}
	}
	return c.newCarrier(origin)
}

// give keeps a carrier whose attempt ended well.
func (c *Client) give(used *carrier) {
	c.mu.Lock()
	c.free = append(slices.DeleteFunc(c.free, (*carrier).isDead), used)
	surplus := c.free[:max(0, len(c.free)-maxFree)]
	c.free = c.free[len(surplus):]
	c.mu.Unlock()
	closeAll(surplus)
}

// CloseIdle closes the connections that no attempt is using.
func (c *Client) CloseIdle() {
	c.mu.Lock()
	idle := c.free
	c.free = nil
	c.mu.Unlock()
	closeAll(idle)
}

func closeAll(carriers []*carrier) {
	for _, c := range carriers {
		c.close()
	}
}
