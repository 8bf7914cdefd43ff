package faultproxy

import (
	"io"
	"math"
	"net/http"
	"net/http/httptrace"
)

// Moment is a point in the life of a request.
type Moment uint8

// The moments, in their order. A request that meets a fault may miss some.
const (
	Arrived  Moment = iota // its head has been read, nothing has been done
	Reading                // some more of its body has been read, see Request.BodyBytes
	Sent                   // the upstream's connection has taken all of it
	Answered               // the whole answer is here, and none of it has been passed on
	Passed                 // the whole answer has been written to the client
)

// String returns the name of the constant.
func (m Moment) String() string {
	return [...]string{"Arrived", "Reading", "Sent", "Answered", "Passed"}[m]
}

// Watch calls f at each moment of every request that arrives from now on, with
// what is known of it. The request waits while f is at work, so that what f does
// happens before the next moment. If f returns false the request ends there: the
// client's connection is reset, and what the upstream has not seen it never will;
// after Sent it may have.
//
// f is called by many goroutines at once, and Sent, by its nature, possibly after
// Answered. Answers are held back as a whole for it, but not those to Get.
func (p *Proxy) Watch(f func(Moment, Request) bool) { p.watcher.Store(&f) }

// reached tells the watcher, if there is one, and whether the request goes on.
func (x *exchange) reached(m Moment) bool {
	if x.watcher == nil {
		return true
	}
	return (*x.watcher)(m, x.rec.snapshot())
}

// end resets the client's connection and ends the handler. It does not return.
func (x *exchange) end() {
	x.conn.reset()
	abort()
}

// traced makes the transport say when it has sent the request.
func (x *exchange) traced(r *http.Request) *http.Request {
	return r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		WroteRequest: func(i httptrace.WroteRequestInfo) {
			if i.Err == nil && !x.reached(Sent) {
				x.conn.reset()
			}
		},
	}))
}

// forwardWatched is forward with all moments from Sent on.
func (x *exchange) forwardWatched(w http.ResponseWriter) {
	x.req = x.traced(x.req)
	if x.rec.snapshot().Op == Get {
		x.proxy.reverse.ServeHTTP(w, x.req)
		return
	}
	a := &answer{header: http.Header{}, keep: math.MaxInt64}
	x.proxy.reverse.ServeHTTP(a, x.req)
	if !x.reached(Answered) {
		x.end()
	}
	a.sendTo(w)
}

// passed is the last moment.
func (x *exchange) passed() {
	if x.watcher == nil {
		return
	}
	x.flush()
	if !x.reached(Passed) {
		x.end()
	}
}

// watchedBody tells of each read.
type watchedBody struct {
	io.ReadCloser
	x *exchange
}

func (b watchedBody) Read(buf []byte) (int, error) {
	n, err := b.ReadCloser.Read(buf)
	if n > 0 && !b.x.reached(Reading) {
		b.x.conn.reset()
		return 0, io.ErrUnexpectedEOF
	}
	return n, err
}
