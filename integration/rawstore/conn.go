package rawstore

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"slices"
	"time"
)

// errOver ends a connection without anything being wrong.
var errOver = errors.New("the connection is over")

// exchange is one request and what is done with it.
type exchange struct {
	store   *Store
	tcp     *net.TCPConn
	conn    net.Conn // tcp, or TLS over it
	record  *record
	target  target
	request *http.Request

	body    []byte  // read so far
	whole   bool    // to its end
	applied *answer // nil before it took effect
	lie     lie     // about its effect
}

// serve serves the requests of one connection, one after the other.
func (s *Store) serve(tcp *net.TCPConn) {
	defer tcp.Close()
	number, ok := s.admit(tcp)
	if !ok {
		return
	}
	defer s.leave(tcp)
	if s.buffer > 0 {
		_ = tcp.SetReadBuffer(s.buffer) // an error leaves a larger one, which blurs a fault
	}
	var conn net.Conn = tcp
	if s.tls != nil {
		conn = tls.Server(tcp, s.tls)
	}
	in := bufio.NewReader(conn)
	for nth := 1; ; nth++ {
		request, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		x := &exchange{store: s, tcp: tcp, conn: conn, target: parse(request), request: request}
		x.record = s.record(Request{
			Op: x.target.op, Key: x.target.key, Part: x.target.part, Header: request.Header,
			Asked: request.Header.Get("Expect") != "", Size: request.ContentLength,
			Conn: number, Nth: nth, RemoteAddr: tcp.RemoteAddr().String(), Start: time.Now(),
		})
		request.RemoteAddr = tcp.RemoteAddr().String()
		if !x.run(s.rules.take(x.target, request)) {
			return
		}
	}
}

// run does the steps and tells whether the connection goes on.
func (x *exchange) run(steps []Step) bool {
	defer x.record.end()
	for _, step := range steps {
		if step(x) != nil {
			return false
		}
	}
	return x.whole
}

// most is how much of a body is read at once.
const most = 256 << 10

// read reads n more bytes of the body, and keeps and counts them. It returns
// io.EOF if the body ends before.
func (x *exchange) read(n int64) error {
	x.body = slices.Grow(x.body, int(max(0, x.request.ContentLength-int64(len(x.body)))))
	for n > 0 {
		x.body = slices.Grow(x.body, 1)
		free := x.body[len(x.body):cap(x.body)]
		got, err := x.request.Body.Read(free[:min(int64(len(free)), n, most)])
		x.body = x.body[:len(x.body)+got]
		n -= int64(got)
		x.record.read(got)
		x.whole = x.whole || err == io.EOF
		if err != nil && (n > 0 || err != io.EOF) {
			return err
		}
	}
	return nil
}

// readAll reads the rest of the body.
func (x *exchange) readAll() error {
	err := x.read(math.MaxInt64)
	if err == io.EOF {
		return nil
	}
	return err
}

// pause waits, and tells whether the store is still there.
func (x *exchange) pause(d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-x.store.done:
		return errOver
	}
}

func (x *exchange) send(text string) error {
	_, err := io.WriteString(x.conn, text)
	return err
}

// answer is what the store says.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// send writes a whole answer; only that to HEAD has no body.
func (a *answer) send(x *exchange) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\n", a.status, http.StatusText(a.status))
	h := http.Header{}
	for name, values := range a.header {
		h[name] = values
	}
	h.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	h.Set("X-Amz-Request-Id", fmt.Sprintf("RAW%d.%d", x.record.request.Conn, x.record.request.Nth))
	if a.status != http.StatusNoContent {
		h.Set("Content-Length", fmt.Sprint(len(a.body)))
	}
	_ = h.Write(&b) // a buffer takes everything
	b.WriteString("\r\n")
	if x.request.Method != http.MethodHead {
		b.Write(a.body)
	}
	_, err := x.conn.Write(b.Bytes())
	return err
}
