// Package tcpproxy puts a bad network between a client and a server on
// loopback: slow, late, silent, cut, or down. For tests only.
//
// Start makes a proxy; its methods make the network bad and Clear makes it
// good again, both also for connections that exist. It keeps socket buffers
// small, so that both sides feel it early.
//
// Toxiproxy as a library (2.5.0, the newest that is published as a Go module)
// would be the obvious choice, and was tried: stopping it in the middle of an
// upload leaves goroutines that wait for ever, which the tests here must tell
// from leaks of ours, and it cannot cut connections that exist.
//
// It cannot do what needs the kernel: a packet is never lost, and a connection
// can be made through a network that is silent.
package tcpproxy

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// dialTimeout bounds the way to the server.
const dialTimeout = 10 * time.Second

// Proxy forwards TCP connections to one server. Make one with Start; its zero
// value does not work. It is safe for concurrent use.
type Proxy struct {
	t      testing.TB
	addr   string
	server string

	wg sync.WaitGroup // everything the proxy runs

	mu       sync.Mutex
	listener net.Listener // nil: down
	pairs    map[*pair]struct{}
	accepted int
	faults   [2]fault
	links    [2]*pacer     // what all connections share; nil: as fast as it goes
	resets   time.Duration // from accept to RST; 0: never
	changed  chan struct{} // closed and replaced when faults changes
}

// Start forwards connections to a free loopback port to the server, host:port
// or http://host:port, until the test ends. Connections that are open then are
// cut.
func Start(t testing.TB, server string) *Proxy {
	t.Helper()
	p := &Proxy{
		t:       t,
		addr:    "127.0.0.1:0",
		server:  strings.TrimPrefix(server, "http://"),
		pairs:   map[*pair]struct{}{},
		changed: make(chan struct{}),
	}
	if err := p.listen(); err != nil {
		t.Fatalf("tcpproxy: %v", err)
	}
	t.Cleanup(func() {
		p.Down()
		p.wg.Wait()
	})
	return p
}

// Addr is the address of the proxy, 127.0.0.1:port. It stays the same.
func (p *Proxy) Addr() string { return p.addr }

// URL is the address with http:// before it.
func (p *Proxy) URL() string { return "http://" + p.addr }

// Accepted is how many connections were made through the proxy so far.
func (p *Proxy) Accepted() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.accepted
}

// Down refuses connections and cuts those that exist. Down while down does
// nothing.
func (p *Proxy) Down() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener == nil {
		return
	}
	// Whatever it says, nothing accepts any more.
	_ = p.listener.Close()
	p.listener = nil
	p.resetAll()
}

// Up accepts connections again, on the same port. Up while up does nothing. It
// fails the test if something else has taken the port and keeps it.
func (p *Proxy) Up() {
	p.t.Helper()
	// A connection somebody makes may have been given the port for a while.
	deadline := time.NewTimer(5 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := p.listen()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			p.t.Fatalf("tcpproxy: up again: %v", err)
		}
	}
}

// listen starts to accept connections. The first call chooses the port.
func (p *Proxy) listen() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		return nil
	}
	ln, err := net.Listen("tcp", p.addr)
	if err != nil {
		return err
	}
	p.listener = ln
	if a := ln.Addr().String(); a != p.addr {
		p.addr = a // read without the lock, so written only once
	}
	p.wg.Go(func() { p.accept(ln) })
	return nil
}

// accept serves until Down closes ln.
func (p *Proxy) accept(ln net.Listener) {
	for {
		client, err := ln.Accept()
		if err != nil {
			return
		}
		p.wg.Go(func() { p.serve(ln, client.(*net.TCPConn)) })
	}
}

// serve connects the client to the server for as long as both want it.
func (p *Proxy) serve(ln net.Listener, client *net.TCPConn) {
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	defer cancel()
	server, err := new(net.Dialer).DialContext(ctx, "tcp", p.server)
	if err != nil {
		reset(client)
		return
	}
	q := newPair(client, server.(*net.TCPConn))
	if !p.admit(ln, q) {
		q.reset()
		return
	}
	q.run(p)
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.pairs, q)
}

// admit takes the pair in, unless the proxy went down meanwhile.
func (p *Proxy) admit(ln net.Listener, q *pair) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != ln {
		return false
	}
	p.pairs[q] = struct{}{}
	p.accepted++
	if p.resets > 0 {
		q.timer = time.AfterFunc(p.resets, q.reset)
	}
	return true
}
