package rawstore_test

import (
	"errors"
	"io"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/chunkup/chunkup/integration/check"
	"github.com/chunkup/chunkup/integration/rawstore"
)

// bound is far more than anything here takes.
const bound = 10 * time.Second

// scripted starts a store that does these steps to every PUT, and connects to
// it.
func scripted(t *testing.T, steps ...rawstore.Step) (*rawstore.Store, *peer) {
	t.Helper()
	s := start(t, rawstore.Options{Rules: []rawstore.Rule{{Op: rawstore.PutObject, Count: -1, Do: steps}}})
	p := dial(t, s)
	p.SetDeadline(time.Now().Add(bound))
	return s, p
}

func TestResetAfterSomeBytes(t *testing.T) {
	for _, secure := range []bool{false, true} {
		s := start(t, rawstore.Options{TLS: secure, Rules: []rawstore.Rule{{Do: []rawstore.Step{rawstore.Read(10), rawstore.Reset()}}}})
		p := dial(t, s)
		p.SetDeadline(time.Now().Add(bound))
		p.put(t, 100, 10, "")
		if _, err := p.ReadByte(); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("TLS %v: %v", secure, err)
		}
		if r := s.Requests()[0]; r.Body != 10 || r.Conn != 1 || r.Nth != 1 || r.Size != 100 || r.RemoteAddr != p.LocalAddr().String() {
			t.Errorf("recorded %+v", r)
		}
	}
}

func TestFinInTheStatusLine(t *testing.T) {
	_, p := scripted(t, rawstore.ReadAll(), rawstore.Send("HTTP/1.1 2"), rawstore.Close())
	p.put(t, 5, 5, "")
	if b, err := io.ReadAll(p); err != nil || string(b) != "HTTP/1.1 2" {
		t.Errorf("%q, %v", b, err)
	}
}

// Nobody speaks, nobody hangs up.
func TestFreeze(t *testing.T) {
	_, p := scripted(t, rawstore.Read(1), rawstore.Freeze())
	p.put(t, 5, 5, "")
	p.SetDeadline(time.Now().Add(50 * time.Millisecond))
	var timeout interface{ Timeout() bool }
	if _, err := p.ReadByte(); !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("a frozen connection says %v", err)
	}
}

func TestDrip(t *testing.T) {
	s, p := scripted(t, rawstore.Drip(2, 30*time.Millisecond), rawstore.Reply())
	began := time.Now()
	p.put(t, 8, 8, "")
	if status, _ := p.answer(t); status != http.StatusOK {
		t.Errorf("status %d", status)
	}
	if d := time.Since(began); d < 120*time.Millisecond {
		t.Errorf("took %v", d)
	}
	if r := s.Requests()[0]; r.Body != 8 || r.Last.Sub(r.First) < 80*time.Millisecond {
		t.Errorf("recorded %+v", r)
	}
}

// The body is asked for, refused, or let wait.
func TestExpect(t *testing.T) {
	const expect = "Expect: 100-continue\r\n"
	t.Run("welcome", func(t *testing.T) {
		s, p := scripted(t, rawstore.Welcome(), rawstore.ReadAll(), rawstore.Reply())
		p.put(t, 1, 0, expect)
		if status, _ := p.answer(t); status != http.StatusContinue {
			t.Errorf("status %d", status)
		}
		_, err := io.WriteString(p.Conn, "x")
		must(t, err)
		if status, _ := p.answer(t); status != http.StatusOK || !s.Requests()[0].Asked {
			t.Errorf("status %d", status)
		}
	})
	t.Run("no word", func(t *testing.T) {
		s, p := scripted(t, rawstore.ReadAll(), rawstore.Reply())
		p.put(t, 1, 1, expect)
		if status, _ := p.answer(t); status != http.StatusOK || !s.Requests()[0].Asked {
			t.Errorf("status %d", status)
		}
	})
	t.Run("417", func(t *testing.T) {
		_, p := scripted(t, rawstore.Refuse(http.StatusExpectationFailed, "", ""), rawstore.Close())
		p.put(t, 1, 0, expect)
		if status, _ := p.answer(t); status != http.StatusExpectationFailed {
			t.Errorf("status %d", status)
		}
		if _, err := p.ReadByte(); err != io.EOF {
			t.Errorf("then %v", err)
		}
	})
}

// A head at once, spaces, and then what was done.
func TestSlowBody(t *testing.T) {
	s, p := scripted(t, rawstore.ReadAll(), rawstore.Apply(),
		rawstore.Send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"), rawstore.Repeat(" ", 3, time.Millisecond), rawstore.ReplyBody(), rawstore.Close())
	p.put(t, 8, 8, "")
	if status, body := p.answer(t); status != http.StatusOK || body != "   " {
		t.Errorf("%d %q", status, body)
	}
	if status, _ := head(t, s); status != http.StatusOK {
		t.Errorf("the object has status %d", status)
	}
}

func head(t *testing.T, s *rawstore.Store) (int, http.Header) {
	t.Helper()
	p := dial(t, s)
	_, err := io.WriteString(p.Conn, "HEAD /bucket/key HTTP/1.1\r\nHost: x\r\n\r\n")
	must(t, err)
	resp, err := http.ReadResponse(p.Reader, &http.Request{Method: http.MethodHead})
	must(t, err)
	return resp.StatusCode, resp.Header
}

// What is not read to its end ends the connection; what is keeps it.
func TestConnectionGoesOn(t *testing.T) {
	s := start(t, rawstore.Options{Rules: []rawstore.Rule{
		{Op: rawstore.PutObject, From: 2, Do: []rawstore.Step{rawstore.Answer(http.StatusForbidden, http.Header{"X-A": {"b"}}, "no")}},
	}})
	p := dial(t, s)
	p.SetDeadline(time.Now().Add(bound))
	for range 2 {
		p.put(t, 3, 3, "")
		p.answer(t)
	}
	if _, err := p.ReadByte(); err == nil {
		t.Error("goes on with the body unread")
	}
	rs := s.Requests()
	if len(rs) != 2 || rs[1].Conn != 1 || rs[1].Nth != 2 || rs[1].Body != 0 || !rs[1].First.IsZero() {
		t.Errorf("recorded %+v", rs)
	}
}

// Rules count by part, and the first that is due decides.
func TestRules(t *testing.T) {
	refuse := func(status int) []rawstore.Step {
		return []rawstore.Step{rawstore.ReadAll(), rawstore.Refuse(status, "", "")}
	}
	s := start(t, rawstore.Options{Rules: []rawstore.Rule{
		{Match: func(r *http.Request) bool { return r.Header.Get("X-Now") != "" }, Count: -1, Do: refuse(501)},
		{Op: rawstore.PutPart, Part: 2, From: 2, Count: 2, Do: refuse(502)},
		{Op: rawstore.PutPart, Do: refuse(503)},
		{Op: rawstore.Abort, Do: refuse(504)},
	}})
	p := dial(t, s)
	p.SetDeadline(time.Now().Add(bound))
	for _, tc := range []struct {
		line, header string
		want         int
	}{
		{"PUT /b/k?partNumber=1&uploadId=u", "", 503},
		{"PUT /b/k?partNumber=1&uploadId=u", "", 404}, // served: there is no such upload
		{"PUT /b/k?partNumber=2&uploadId=u", "", 503},
		{"PUT /b/k?partNumber=2&uploadId=u", "", 502},
		{"PUT /b/k?partNumber=2&uploadId=u", "X-Now: 1\r\n", 501},
		{"PUT /b/k?partNumber=2&uploadId=u", "", 404},
		{"DELETE /b/k?uploadId=u", "", 504},
		{"DELETE /b/k?uploadId=u", "", 404},
		{"PATCH /b/k", "", 501},
	} {
		_, err := io.WriteString(p.Conn, tc.line+" HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n"+tc.header+"\r\n")
		must(t, err)
		if status, _ := p.answer(t); status != tc.want {
			t.Errorf("%s: %d, want %d", tc.line, status, tc.want)
		}
	}
}

// A small buffer makes a client feel what is not read.
func TestReadBuffer(t *testing.T) {
	s := start(t, rawstore.Options{ReadBuffer: 4 << 10, Rules: []rawstore.Rule{{Do: []rawstore.Step{rawstore.Freeze()}}}})
	p := dial(t, s)
	p.put(t, 64<<20, 0, "")
	p.SetDeadline(time.Now().Add(300 * time.Millisecond))
	n, err := io.Copy(p.Conn, io.NewSectionReader(check.Pattern(64<<20), 0, 64<<20))
	if err == nil || n > 8<<20 {
		t.Errorf("%d bytes went, %v", n, err)
	}
}
