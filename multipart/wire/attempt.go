package wire

import (
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"time"
)

// attempt is the state of one round trip.
type attempt struct {
	client  *Client
	limits  Limits
	size    int64
	send    func(spent time.Duration) time.Duration
	fresh   bool
	ahead   bool // the head leaves before the body is read
	maxRead int64
}

// do makes the round trip on a carrier of its own and decides whether the
// carrier may serve another.
func (a *attempt) do(req *http.Request, source io.Reader, progress func(int)) (Answer, error) {
	parent := req.Context()
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	mine := a.client.take(req.URL, a.fresh)
	sending, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	// The transport says goodbye in TLS before it closes, and would wait for
	// seconds to get that into a full buffer. Whoever cancels does not wait. But the
	// transport has to know first that it is over: it would take a connection that
	// breaks for one that had been idle for too long, and send a GET or HEAD again.
	attached := context.AfterFunc(ctx, func() {
		stop(context.Cause(ctx))
		mine.close()
	})

	w := a.watch(cancel)
	b := &body{source: source, left: a.size, watch: w, progress: progress}
	var answer Answer
	req = a.prepare(req.WithContext(httptrace.WithClientTrace(sending, a.trace(w, &answer))), b)
	err := a.exchange(req, mine, w, &answer)
	unreadable := b.end()
	answer.Sent, answer.NoContinue = w.stop()

	if attached() && err == nil && answer.Status < http.StatusInternalServerError {
		a.client.give(mine)
	} else {
		mine.close()
	}
	switch {
	case err == nil:
		return answer, nil
	case parent.Err() != nil:
		return answer, context.Cause(parent)
	case ctx.Err() != nil:
		return answer, context.Cause(ctx)
	case unreadable != nil:
		return answer, unreadable
	}
	return answer, err
}

func (a *attempt) watch(cancel context.CancelCauseFunc) *watch {
	send := a.send
	if send == nil {
		send = func(time.Duration) time.Duration { return a.limits.Send(a.size, 1) }
	}
	return &watch{limits: a.limits, send: send, size: a.size, cancel: cancel}
}

// prepare completes a request that is this attempt's own.
func (a *attempt) prepare(req *http.Request, b *body) *http.Request {
	req.Body, req.GetBody, req.ContentLength = http.NoBody, nil, a.size
	if a.size > 0 {
		req.Body = b
	}
	a.ahead = a.ahead || a.size == 0 || req.Header.Get("Expect") != ""
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", "chunkup")
	}
	return req
}

// trace moves the watch along as the transport reports.
func (a *attempt) trace(w *watch, answer *Answer) *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			answer.Conn = info.Conn.LocalAddr().String()
			c := connOf(info.Conn)
			if c != nil && !a.ahead {
				c.holdHead(a.size)
			}
			w.connected(c)
		},
		Wait100Continue: w.asked,
		Got100Continue:  w.welcomed,
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			if info.Err == nil {
				w.written()
			}
		},
	}
}

func (a *attempt) exchange(req *http.Request, on *carrier, w *watch, answer *Answer) error {
	w.enter(PhaseConnect)
	resp, err := on.transport.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	w.enter(PhaseRead)
	answer.Status, answer.Header = resp.StatusCode, resp.Header
	answer.Body, err = io.ReadAll(io.LimitReader(resp.Body, a.maxRead))
	return err
}
