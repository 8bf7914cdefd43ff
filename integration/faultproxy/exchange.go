package faultproxy

import (
	"context"
	"math"
	"net/http"
	"time"
)

// exchange is one request and what is done with it.
type exchange struct {
	proxy *Proxy
	conn  *conn
	rule  *Rule // nil: none
	rec   *record
	body  *body
	req   *http.Request
	w     http.ResponseWriter

	watcher *func(Moment, Request) bool // nil: nobody
}

type exchangeKey struct{}

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	c := r.Context().Value(connKey{}).(*conn)
	t := parse(r.Method, r.URL)
	now := time.Now()
	rule := p.rules.take(t, c.id, now)
	rec := p.history.add(Request{
		Method: r.Method, Op: t.op, Bucket: t.bucket, Key: t.key, Part: t.part, UploadID: t.uploadID,
		Expect: r.Header.Get("Expect") != "",
		Conn:   c.id, RemoteAddr: r.RemoteAddr,
		Fault: rule, Start: now,
	})
	defer rec.end()
	// Otherwise the server would read the rest of a body before it lets an
	// early answer out, which the store did not do. HTTP/1.1 always can.
	_ = http.NewResponseController(w).EnableFullDuplex()

	x := &exchange{proxy: p, conn: c, rule: rule, rec: rec, w: statusWriter{w, rec}, watcher: p.watcher.Load()}
	x.body = &body{ReadCloser: r.Body, ctx: r.Context(), rec: rec, limit: p.limiter.Load}
	// A copy: the server looks at its own request's body afterwards.
	x.req = r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x))
	x.req.Body = x.body
	if x.watcher != nil {
		x.req.Body = watchedBody{x.body, x}
	}
	if !x.reached(Arrived) {
		x.end()
	}
	x.run()
	x.passed()
}

// run does what the rule says.
func (x *exchange) run() {
	switch r := x.rule; {
	case r == nil:
		x.forward(x.w)
	case r.Apply:
		x.apply()
	case r.Status != 0:
		x.answer()
	case r.Reset || r.Stall:
		if !x.body.pass(r.After) {
			abort()
		}
		x.wait()
		x.cut()
	default:
		x.wait()
		x.forward(x.w)
	}
}

// forward sends the request on and the answer to w.
func (x *exchange) forward(w http.ResponseWriter) {
	if x.watcher != nil {
		x.forwardWatched(w)
		return
	}
	x.proxy.reverse.ServeHTTP(w, x.req)
}

// upstreamFailed is called by the reverse proxy when there is no answer, be it
// for the upstream or because the client went away.
func upstreamFailed(_ http.ResponseWriter, r *http.Request, err error) {
	x := r.Context().Value(exchangeKey{}).(*exchange)
	x.rec.failed(err)
	x.conn.reset()
	abort()
}

// apply forwards the request, and then lets the fault fall on the answer.
func (x *exchange) apply() {
	r := x.rule
	a := &answer{header: http.Header{}, keep: r.After}
	if r.Status == 0 && !r.Reset && !r.Stall {
		a.keep = math.MaxInt64
	}
	x.forward(a)
	x.wait()
	switch {
	case r.Status != 0:
		x.reply()
	case r.Reset || r.Stall:
		if r.After > 0 {
			a.sendTo(x.w)
			x.flush()
		}
		x.cut()
	default:
		a.sendTo(x.w)
	}
}

// cut ends the connection as Reset or Stall say. It does not return.
func (x *exchange) cut() {
	if x.rule.Reset {
		x.conn.reset()
		abort()
	}
	x.conn.awaitClose(x.req.Context())
	abort()
}

// wait waits for what the rule says.
func (x *exchange) wait() {
	if x.rule.Hold != nil {
		select {
		case <-x.rule.Hold:
		case <-x.req.Context().Done():
			abort()
		}
	}
	if x.rule.Delay <= 0 {
		return
	}
	timer := time.NewTimer(x.rule.Delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-x.req.Context().Done():
		abort()
	}
}

// flush pushes what was written into the socket.
func (x *exchange) flush() {
	if err := http.NewResponseController(x.w).Flush(); err != nil {
		abort()
	}
}
