// Package faultproxy is an HTTP/1.1 reverse proxy on loopback that makes an
// object store fail on purpose, by rule and by count.
//
// Call Start with the store's address, send requests to Proxy.URL, look at
// what arrived with Proxy.Requests and end it with Proxy.Close. Bodies stream
// through in both directions; the Host header and the request line stay as the
// client sent them, so that signatures remain valid; 100 Continue comes from
// the store, not from the proxy.
//
// A connection the store breaks, or that cannot be made, is passed on as a
// reset. The proxy cannot hold back what the kernel does on its behalf:
// several megabytes of a body may sit in socket buffers, counted by the client
// as sent, when the proxy has stopped reading.
package faultproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// Proxy is a running fault proxy. Make one with Start; its zero value does not
// work. All methods are safe for concurrent use.
type Proxy struct {
	url       string
	server    *http.Server
	reverse   *httputil.ReverseProxy
	transport *http.Transport
	cancel    context.CancelFunc

	serving   sync.WaitGroup // the accept loop
	conns     sync.WaitGroup // client connections not yet closed
	lastID    atomic.Int64   // of a connection
	lastReply atomic.Int64   // of an answer of the proxy's own

	rules   rules
	history history
	limiter atomic.Pointer[rate.Limiter]
	watcher atomic.Pointer[func(Moment, Request) bool]
}

// Start serves on a free loopback port in front of upstream, which is
// http://host:port with no path. The rules are those of Proxy.Add. It returns
// an error if upstream is something else or no port is to be had.
func Start(upstream string, rules ...Rule) (*Proxy, error) {
	up, err := url.Parse(upstream)
	if err != nil {
		return nil, fmt.Errorf("faultproxy: upstream: %w", err)
	}
	if up.Scheme != "http" || up.Host == "" || up.Path != "" {
		return nil, fmt.Errorf("faultproxy: upstream %q is not of the form http://host:port", upstream)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("faultproxy: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &Proxy{
		url:       "http://" + ln.Addr().String(),
		transport: newTransport(),
		cancel:    cancel,
	}
	quiet := log.New(io.Discard, "", 0)
	p.reverse = &httputil.ReverseProxy{
		Rewrite:       rewriteTo(up),
		Transport:     p.transport,
		FlushInterval: -1,
		ErrorHandler:  upstreamFailed,
		ErrorLog:      quiet,
	}
	p.server = &http.Server{
		Handler:     http.HandlerFunc(p.serve),
		BaseContext: func(net.Listener) context.Context { return ctx },
		ConnContext: p.accepted,
		ConnState:   p.connState,
		ErrorLog:    quiet,
	}
	p.Add(rules...)
	p.serving.Go(func() {
		// Serve ends with Close and then has nothing else to say.
		_ = p.server.Serve(ln)
	})
	return p, nil
}

// newTransport is the way to the upstream: as plain as possible.
func newTransport() *http.Transport {
	return &http.Transport{
		DisableCompression: true,
		MaxIdleConns:       64,
		// Shorter than the idle timeout of any store, so that a connection is
		// not taken in the moment in which the store closes it.
		IdleConnTimeout: 5 * time.Second,
		// A store that ignores Expect must not hang the proxy.
		ExpectContinueTimeout: 5 * time.Second,
	}
}

// rewriteTo sends a request to up, otherwise as the client wrote it.
func rewriteTo(up *url.URL) func(*httputil.ProxyRequest) {
	return func(pr *httputil.ProxyRequest) {
		pr.Out.URL.Scheme = up.Scheme
		pr.Out.URL.Host = up.Host
		pr.Out.URL.RawQuery = pr.In.URL.RawQuery
		pr.Out.Host = pr.In.Host
	}
}

// URL is the address of the proxy, http://127.0.0.1:port.
func (p *Proxy) URL() string { return p.url }

// Add appends rules. They count the requests that arrive from now on.
func (p *Proxy) Add(rules ...Rule) { p.rules.add(rules) }

// Reset forgets all rules, their counts and the recorded requests. It leaves
// connections, and faults that are under way, alone.
func (p *Proxy) Reset() {
	p.rules.clear()
	p.history.clear()
}

// Limit makes all connections together receive at most that many bytes of
// request bodies a second; 0 and less: no limit, as at the start. Connections
// accepted under a limit get small socket buffers, so that clients feel it
// early. It does not slow answers.
func (p *Proxy) Limit(bytesPerSecond int) {
	if bytesPerSecond <= 0 {
		p.limiter.Store(nil)
		return
	}
	p.limiter.Store(rate.NewLimiter(rate.Limit(bytesPerSecond), chunk))
}

// Requests returns what arrived since Start or Reset, in order of arrival.
func (p *Proxy) Requests() []Request { return p.history.snapshot() }

// Count returns how many requests of that operation arrived since Start or
// Reset; Any counts all.
func (p *Proxy) Count(op Op) int {
	n := 0
	for _, q := range p.Requests() {
		if op == Any || op == q.Op {
			n++
		}
	}
	return n
}

// Close stops listening, drops every connection, frozen ones included, and
// waits until all of them are gone. It may be called again.
func (p *Proxy) Close() error {
	p.cancel()
	err := p.server.Close()
	p.serving.Wait()
	// The first Close misses a connection that was being accepted.
	err = errors.Join(err, p.server.Close())
	p.conns.Wait()
	p.transport.CloseIdleConnections()
	return err
}
