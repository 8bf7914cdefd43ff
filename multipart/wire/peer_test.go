package wire_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/chunkup/chunkup/multipart/wire"
)

// peer is a server on a real socket, in TLS or not, whose every connection is
// played by a script after the handshake. The test ends it.
type peer struct {
	url    string
	config *tls.Config   // the client's
	done   chan struct{} // closed when the test is over
}

// newPeer starts a peer whose receive buffers have about window bytes.
func newPeer(t *testing.T, secure bool, window int, script func(p *peer, c net.Conn)) *peer {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{url: "http://" + l.Addr().String(), done: make(chan struct{})}
	play := func(c net.Conn) { script(p, c) }
	if secure {
		var config *tls.Config
		config, p.config = certificates()
		p.url = "https://" + l.Addr().String()
		play = func(c net.Conn) {
			if s := tls.Server(c, config); s.Handshake() == nil {
				script(p, s)
			}
		}
	}
	var active sync.WaitGroup
	active.Go(func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			c.(*net.TCPConn).SetReadBuffer(window)
			active.Go(func() {
				defer c.Close()
				play(c)
			})
		}
	})
	t.Cleanup(func() {
		close(p.done)
		l.Close()
		active.Wait()
	})
	return p
}

// certificates borrows those of httptest.
func certificates() (server, client *tls.Config) {
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.StartTLS()
	defer s.Close()
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return &tls.Config{Certificates: s.TLS.Certificates}, &tls.Config{RootCAs: roots}
}

func (p *peer) client(t *testing.T, limits wire.Limits) *wire.Client {
	c := wire.NewClient(wire.Options{TLS: p.config, Limits: limits})
	t.Cleanup(c.CloseIdle)
	return c
}

func (p *peer) put(size int) wire.Request {
	return wire.Request{Method: "PUT", URL: p.url + "/b/k", Size: int64(size), Body: bytes.NewReader(make([]byte, size))}
}

// wait returns when the test is over.
func (p *peer) wait() { <-p.done }

// every calls f at each tick until it fails or the test is over.
func (p *peer) every(d time.Duration, f func() error) {
	tick := time.NewTicker(d)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if f() != nil {
				return
			}
		case <-p.done:
			return
		}
	}
}
