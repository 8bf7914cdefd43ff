package faultproxy

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestStatusReplacesTheUpstream(t *testing.T) {
	var s store
	b := start(t, s.ServeHTTP, Rule{
		Status: 503, Code: "SlowDown", Message: "not so <fast>", Header: http.Header{"retry-after": {"7"}},
	})
	resp, text, err := b.put(300_000)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct{ Code, Message, Resource, RequestId string }
	if err := xml.Unmarshal([]byte(text), &doc); err != nil {
		t.Errorf("%v in %s", err, text)
	}
	if doc.Code != "SlowDown" || doc.Message != "not so <fast>" || doc.Resource != "/b/k" {
		t.Errorf("got %s", text)
	}
	if id := resp.Header.Get("X-Amz-Request-Id"); id == "" || id != doc.RequestId {
		t.Errorf("request id %q in the header, %q in the body", id, doc.RequestId)
	}
	if resp.StatusCode != 503 || resp.Header.Get("Retry-After") != "7" {
		t.Errorf("got %d, %v", resp.StatusCode, resp.Header)
	}
	if q := b.last(t); q.BodyBytes != 300_000 || q.Status != 503 || q.Fault == nil {
		t.Errorf("recorded %+v", q)
	}
	s.want(t)
	if _, _, err := b.put(300_000); err != nil {
		t.Errorf("the second time: %v", err)
	}
	if q := b.last(t); q.Conn != 1 || q.Fault != nil {
		t.Errorf("recorded %+v; the connection was to be kept", q)
	}
	s.want(t, 300_000)
}

func TestStatusBodies(t *testing.T) {
	var s store
	b := start(t, s.ServeHTTP,
		Rule{From: 1, Status: 502},
		Rule{From: 2, Status: 502, Code: "Ignored", Body: "<html>Bad Gateway</html>"},
		Rule{From: 3, Status: 200, Body: "  ", Header: http.Header{"content-length": {"100"}}},
	)
	if resp, text, err := b.put(10); err != nil || resp.StatusCode != 502 || text != "" {
		t.Errorf("empty: %q, %v", text, err)
	}
	if resp, text, err := b.put(10); err != nil || text != "<html>Bad Gateway</html>" || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
		t.Errorf("html: %q, %v", text, err)
	}
	if _, text, err := b.put(10); !errors.Is(err, io.ErrUnexpectedEOF) || text != "  " {
		t.Errorf("cut short: %q, %v", text, err)
	}
}

func TestEarlyAnswersBeforeTheBody(t *testing.T) {
	var s store
	b := start(t, s.ServeHTTP, Rule{Count: -1, Status: 403, Code: "AccessDenied", Early: true})
	resp, text, err := b.put(64<<20, expect)
	if err != nil || resp.StatusCode != 403 || !strings.Contains(text, "AccessDenied") {
		t.Errorf("who waits got %v, %q, %v", resp, text, err)
	}
	if q := b.last(t); q.BodyBytes != 0 || q.Status != 403 {
		t.Errorf("recorded %+v", q)
	}
	// Who does not wait may or may not see the status, but the connection ends
	// with the body unread.
	if resp, _, err := b.put(64 << 20); err == nil && resp.StatusCode != 403 {
		t.Errorf("who does not wait got %d", resp.StatusCode)
	}
	if q := b.last(t); q.BodyBytes != 0 || q.Conn != 2 {
		t.Errorf("recorded %+v", q)
	}
	s.want(t)
}

func TestEarlyDoesNotWaitForTheBody(t *testing.T) {
	var s store
	b := start(t, s.ServeHTTP, Rule{Status: 403, Early: true})
	conn := b.dial(t)
	fmt.Fprint(conn, "PUT /b/k HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n")
	text, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(text), "HTTP/1.1 403 ") || !strings.Contains(string(text), "Connection: close") {
		t.Errorf("got %q, %v", text, err)
	}
}

// A store that has seen enough: the rest of the body is sent in vain, and the
// status is not lost.
func TestStatusInMidBody(t *testing.T) {
	const size, after = 64 << 20, 1 << 20
	var s store
	b := start(t, s.ServeHTTP, Rule{Count: -1, Status: 400, Code: "RequestTimeout", After: after})
	for range 20 {
		resp, text, err := b.put(size)
		if err != nil || resp.StatusCode != 400 || !strings.Contains(text, "RequestTimeout") || !resp.Close {
			t.Fatalf("got %v, %q, %v", resp, text, err)
		}
		if q := b.last(t); q.BodyBytes < after || q.BodyBytes == size || q.Status != 400 {
			t.Errorf("recorded %+v", q)
		}
	}
	if q := b.last(t); q.Conn != 20 {
		t.Errorf("the last came on connection %d", q.Conn)
	}
	s.want(t)
}

func TestEarlyAfterBytes(t *testing.T) {
	var s store
	b := start(t, s.ServeHTTP, Rule{Status: 403, Early: true, After: 100})
	conn := b.dial(t)
	fmt.Fprintf(conn, "PUT /b/k HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n%099d", 0)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for len(b.Requests()) == 0 || b.Requests()[0].BodyBytes < 99 {
		<-tick.C
	}
	if q := b.Requests()[0]; q.Status != 0 {
		t.Errorf("answered before its time: %+v", q)
	}
	fmt.Fprint(conn, "0")
	text, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(text), "HTTP/1.1 403 ") {
		t.Errorf("got %q, %v", text, err)
	}
}

func TestHeadersAreEditedWhenSent(t *testing.T) {
	var s store
	n := 0
	b := start(t, s.ServeHTTP, Rule{Count: 2, Status: 503, Header: http.Header{"Retry-After": {"x"}, "A": {"b"}},
		Edit: func(h http.Header) { n++; h.Set("Retry-After", fmt.Sprint(n)) }})
	for _, want := range []string{"1", "2"} {
		resp, _, err := b.put(10)
		if err != nil || resp.Header.Get("Retry-After") != want || resp.Header.Get("A") != "b" {
			t.Errorf("got %v, %v", resp, err)
		}
	}
}

func TestHold(t *testing.T) {
	for name, rule := range map[string]Rule{"of the request": {}, "of a status": {Status: 503}, "of the answer": {Apply: true}} {
		t.Run(name, func(t *testing.T) {
			var s store
			hold := make(chan struct{})
			rule.Hold = hold
			b := start(t, s.ServeHTTP, rule)
			answered := make(chan error)
			go func() {
				_, _, err := b.put(10)
				answered <- err
			}()
			select {
			case err := <-answered:
				t.Fatalf("it was not held: %v", err)
			case <-time.After(50 * time.Millisecond): // to be wrong in, were there no hold
			}
			close(hold)
			if err := <-answered; err != nil {
				t.Error(err)
			}
			if q := b.last(t); q.Status == 0 {
				t.Errorf("recorded %+v", q)
			}
		})
	}
}

func TestResetAfterBytes(t *testing.T) {
	const size = 300_000
	for name, c := range map[string]struct{ after, passed int64 }{
		"none":     {0, 0},
		"some":     {100_000, 100_000},
		"all":      {size, size},
		"too many": {1 << 40, size},
	} {
		t.Run(name, func(t *testing.T) {
			var s store
			b := start(t, s.ServeHTTP, Rule{Reset: true, After: c.after})
			_, _, err := b.put(size)
			// A client that is still writing may get to see what follows from it.
			if !errors.Is(err, syscall.ECONNRESET) && (err == nil || c.after >= size || b.ctx.Err() != nil) {
				t.Errorf("got %v", err)
			}
			if q := b.last(t); q.BodyBytes != c.passed || q.Status != 0 {
				t.Errorf("recorded %+v", q)
			}
			s.want(t)
			if resp, _, err := b.put(size); err != nil || resp.StatusCode != 200 {
				t.Errorf("the second time: %v", err)
			}
			if q := b.last(t); q.Conn != 2 {
				t.Errorf("on connection %d", q.Conn)
			}
			s.want(t, size)
		})
	}
}

func TestStallHoldsTheConnection(t *testing.T) {
	for name, c := range map[string]struct {
		rule  Rule
		size  int64
		ended bool // the client's close is seen
	}{
		"before the body":       {Rule{Stall: true}, 10, runtime.GOOS == "linux"},
		"in a small body":       {Rule{Stall: true, After: 5000}, 20_000, runtime.GOOS == "linux"},
		"in a large body":       {Rule{Stall: true, After: 1 << 20}, 256 << 20, false},
		"after the body":        {Rule{Stall: true, After: 1 << 20}, 1 << 20, true},
		"instead of the answer": {Rule{Stall: true, Apply: true}, 1 << 20, true},
	} {
		t.Run(name, func(t *testing.T) {
			var s store
			b := start(t, s.ServeHTTP, c.rule)
			ctx, cancel := context.WithTimeout(b.ctx, 200*time.Millisecond)
			defer cancel()
			_, _, err := b.put(c.size, func(r *http.Request) { *r = *r.WithContext(ctx) })
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
			if c.ended {
				b.last(t)
			}
			q := b.Requests()[0]
			want := min(c.size, c.rule.After)
			if c.rule.Apply {
				want = c.size
			}
			if q.BodyBytes != want || q.Status != 0 {
				t.Errorf("recorded %+v", q)
			}
			if deadline, _ := ctx.Deadline(); !q.End.IsZero() && q.End.Before(deadline) {
				t.Errorf("ended %v before the client gave up", deadline.Sub(q.End))
			}
			if c.rule.Apply {
				s.want(t, c.size)
			} else {
				s.want(t)
			}
			if resp, _, err := b.put(10); err != nil || resp.StatusCode != 200 {
				t.Errorf("the second time: %v", err)
			}
		})
	}
}

func TestDelay(t *testing.T) {
	const delay = 150 * time.Millisecond
	for name, c := range map[string]struct {
		rule   Rule
		status int
		stored bool
	}{
		"of the request":     {Rule{Delay: delay}, 200, true},
		"of a status":        {Rule{Delay: delay, Status: 500}, 500, false},
		"of an early status": {Rule{Delay: delay, Status: 500, Early: true}, 500, false},
		"of the answer":      {Rule{Delay: delay, Apply: true}, 200, true},
		"of another answer":  {Rule{Delay: delay, Apply: true, Status: 500}, 500, true},
	} {
		t.Run(name, func(t *testing.T) {
			var s store
			b := start(t, s.ServeHTTP, c.rule)
			began := time.Now()
			resp, text, err := b.put(10)
			if err != nil || resp.StatusCode != c.status {
				t.Fatalf("got %v, %v", resp, err)
			}
			if d := time.Since(began); d < delay {
				t.Errorf("took %v", d)
			}
			if c.status == 200 && (text != "stored well" || resp.Header.Get("ETag") != `"e"`) {
				t.Errorf("got %q, %v", text, resp.Header)
			}
			if c.stored {
				s.want(t, 10)
			} else {
				s.want(t)
			}
		})
	}
}

func TestApplyThenFail(t *testing.T) {
	const size = 300_000
	t.Run("lost answer", func(t *testing.T) {
		var s store
		b := start(t, s.ServeHTTP, Rule{Apply: true, Reset: true})
		if _, _, err := b.put(size, expect); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("got %v", err)
		}
		s.want(t, size)
		if q := b.last(t); q.Status != 0 || q.BodyBytes != size {
			t.Errorf("recorded %+v", q)
		}
	})
	t.Run("another answer", func(t *testing.T) {
		var s store
		b := start(t, s.ServeHTTP, Rule{Apply: true, Status: 500, Code: "InternalError"})
		resp, text, err := b.put(size)
		if err != nil || resp.StatusCode != 500 || resp.Header.Get("ETag") != "" || !strings.Contains(text, "InternalError") {
			t.Errorf("got %v, %q, %v", resp, text, err)
		}
		s.want(t, size)
	})
	t.Run("cut answer", func(t *testing.T) {
		var s store
		b := start(t, s.ServeHTTP, Rule{Apply: true, Reset: true, After: 6})
		resp, text, err := b.put(size)
		if resp == nil || resp.StatusCode != 200 || resp.Header.Get("ETag") != `"e"` || text != "stored" {
			t.Errorf("got %v, %q", resp, text)
		}
		if !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("got %v", err)
		}
		s.want(t, size)
		if q := b.last(t); q.Status != 200 {
			t.Errorf("recorded %+v", q)
		}
	})
}

func TestApplyWaitsForTheWholeAnswer(t *testing.T) {
	more, finished := make(chan struct{}), make(chan struct{})
	b := start(t, func(w http.ResponseWriter, r *http.Request) {
		// As Complete does: a 200 and spaces first, the work later.
		w.WriteHeader(200)
		io.WriteString(w, " ")
		w.(http.Flusher).Flush()
		<-more
		close(finished)
	}, Rule{Apply: true, Reset: true})
	go close(more)
	if _, _, err := b.put(10); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("got %v", err)
	}
	select {
	case <-finished:
	default:
		t.Error("cut before the upstream was done")
	}
}

// Close ends whatever is under way and returns.
func TestCloseInMidEverything(t *testing.T) {
	arrived := make(chan struct{})
	b := start(t, func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Error(err)
		}
		close(arrived)
		<-r.Context().Done() // which needs the body to be read
	},
		Rule{From: 1, Stall: true, After: 1 << 20},
		Rule{From: 2, Stall: true, After: 1 << 30},
		Rule{From: 3, Delay: time.Hour},
		Rule{From: 4, Delay: time.Hour, Status: 500},
		Rule{From: 6, Hold: make(chan struct{})},
	)
	var wg sync.WaitGroup
	for n := 1; n <= 6; n++ {
		wg.Go(func() {
			if _, _, err := b.put(2 << 20); err == nil || b.ctx.Err() != nil {
				t.Errorf("got %v", err)
			}
		})
	}
	<-arrived
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for b.Count(Any) < 6 {
		<-tick.C
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	for _, q := range b.Requests() {
		if q.End.IsZero() || q.Status != 0 {
			t.Errorf("recorded %+v", q)
		}
	}
	wg.Wait()
}
