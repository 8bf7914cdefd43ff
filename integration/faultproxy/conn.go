package faultproxy

import (
	"context"
	"net"
	"net/http"
)

// conn is a client's connection. Faults act on it under the HTTP server's
// feet; the server takes that for a client that went away.
type conn struct {
	id  int64
	tcp *net.TCPConn
}

type connKey struct{}

func (p *Proxy) accepted(ctx context.Context, nc net.Conn) context.Context {
	c := &conn{id: p.lastID.Add(1), tcp: nc.(*net.TCPConn)}
	if p.limiter.Load() != nil {
		// An error leaves the kernel's default, which only blurs the limit.
		_ = c.tcp.SetReadBuffer(4 * chunk)
	}
	return context.WithValue(ctx, connKey{}, c)
}

func (p *Proxy) connState(_ net.Conn, s http.ConnState) {
	switch s {
	case http.StateNew:
		p.conns.Add(1)
	case http.StateClosed, http.StateHijacked:
		p.conns.Done()
	}
}

// reset closes the connection with a RST. Bytes the kernel has not yet
// delivered are lost. Errors mean that it is closed already.
func (c *conn) reset() {
	_ = c.tcp.SetLinger(0)
	_ = c.tcp.Close()
}

// abort ends the handler without another byte to the client.
func abort() { panic(http.ErrAbortHandler) }
