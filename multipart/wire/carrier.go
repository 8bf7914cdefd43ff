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
// lanes of one endpoint and its control calls, where a folder has 256 lanes.
const maxFree = 320

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

	mu    sync.Mutex
	conns []*conn // one, unless the transport had to dial again
}

func (c *Client) newCarrier(origin string) *carrier {
	added := &carrier{client: c, origin: origin}
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

// dial opens the carrier's connection.
func (c *carrier) dial(ctx context.Context, network, address string) (net.Conn, error) {
	opened, err := c.client.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	wrapped := newConn(opened)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conns = append(slices.DeleteFunc(c.conns, (*conn).isClosed), wrapped)
	return wrapped, nil
}

// close ends the carrier with whatever it is doing. The transport says TLS's
// goodbye on a connection at rest, ends a dial that nobody waits for, and closes
// what that may still bring; a connection in use is closed over its head.
func (c *carrier) close() {
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
