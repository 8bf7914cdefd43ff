package sink

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strconv"

	"golang.org/x/time/rate"
)

// mostHead is the longest head of a request that is taken. It is also how much
// is read at once over TLS: four records.
const mostHead = 64 << 10

// slowBuffer is the receive buffer of a slow link's end: what the client has sent
// more than that is on its side. Less, on loopback with its segments of 64 KiB,
// makes TCP wait for timers.
const slowBuffer = 256 << 10

// errEnd ends a connection.
var errEnd = errors.New("the connection is over")

// conn is one connection.
type conn struct {
	server *Server
	number int
	in     io.Reader              // what comes, decrypted
	drop   func(int) (int, error) // throws bytes of it away; nil: they have to be read
	nc     net.Conn               // TCP, or TLS over it, for the answers
	limits []*rate.Limiter
	buf    []byte
	begin  int // buf[begin:end] is read, but not used
	end    int
	out    []byte
}

// serve serves the requests of one connection, one after the other.
func (s *Server) serve(tcp *net.TCPConn, number int) {
	c := &conn{server: s, number: number, buf: make([]byte, mostHead)}
	if s.o.ConnRate > 0 {
		c.limits = append(c.limits, limiter(s.o.ConnRate))
	}
	if s.total != nil {
		c.limits = append(c.limits, s.total)
	}
	if c.limits != nil {
		_ = tcp.SetReadBuffer(slowBuffer) // an error leaves a larger one, which blurs the rate
	}
	if c.open(tcp) != nil {
		return
	}
	for n := 1; ; n++ {
		if c.exchange(n) != nil {
			return
		}
	}
}

func (c *conn) open(tcp *net.TCPConn) error {
	if c.server.tls == nil {
		c.in, c.nc, c.drop = tcp, tcp, dropper(tcp)
		return nil
	}
	secured, r, err := shake(tcp, c.server.tls)
	if err != nil {
		return err
	}
	c.in, c.nc = secured, secured
	if r != nil {
		c.in, c.drop = r, r.drop
	}
	return nil
}

// exchange reads a request and answers it. It is the nth of the connection.
func (c *conn) exchange(n int) error {
	s := c.server
	h, err := c.readHead()
	if err != nil {
		return err
	}
	h.last = h.last || n == s.o.ConnUses
	op := h.op()
	s.count.add(op)
	if op.isBody() && !h.checked {
		s.count.unchecked.Add(1)
	}
	if h.expects {
		if _, err := io.WriteString(c.nc, "HTTP/1.1 100 Continue\r\n\r\n"); err != nil {
			return err
		}
	}
	size, err := c.readBody(&h, op.isBody() && s.freezes(c.number))
	if err != nil {
		return err
	}
	refused := op.isBody() && s.refuses()
	if s.o.AnswerDelay > 0 && !s.pause(s.o.AnswerDelay) || !s.hush() {
		return errEnd
	}
	a := slowDown()
	if refused {
		s.count.refused.Add(1)
	} else {
		a = s.shelf.apply(op, &h, h.size(size))
	}
	c.out = a.appendTo(c.out[:0], &h)
	if _, err := c.nc.Write(c.out); err != nil {
		return err
	}
	if h.last {
		return errEnd
	}
	return nil
}

// readHead reads up to the empty line.
func (c *conn) readHead() (head, error) {
	for {
		unread := c.buf[c.begin:c.end]
		if i := bytes.Index(unread, []byte("\r\n\r\n")); i >= 0 {
			h, err := parseHead(unread[:i+4])
			c.begin += i + 4
			return h, err
		}
		if c.begin > 0 {
			c.begin, c.end = 0, copy(c.buf, unread)
		}
		if c.end == len(c.buf) {
			return head{}, errHead
		}
		if err := c.fill(); err != nil {
			return head{}, err
		}
	}
}

// fill reads more into what is free of the buffer.
func (c *conn) fill() error {
	n, err := c.in.Read(c.buf[c.end:])
	c.end += n
	if n > 0 {
		return nil
	}
	return err
}

// readBody throws the body away and returns its length. A connection that freezes
// ends here, when the sink does.
func (c *conn) readBody(h *head, freezes bool) (int64, error) {
	if freezes {
		_ = c.discard(min(h.length, 100<<10)) // it ends the same way
		c.server.count.frozen.Add(1)
		<-c.server.done
		return 0, errEnd
	}
	if h.length >= 0 {
		return h.length, c.discard(h.length)
	}
	var size int64
	for {
		line, err := c.readLine()
		if err != nil {
			return 0, err
		}
		text, _, _ := bytes.Cut(line, []byte(";"))
		n, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 16, 64)
		if err != nil || n < 0 {
			return 0, errHead
		}
		if n == 0 {
			return size, c.readTrailer()
		}
		size += n
		if err := c.discard(n + int64(len(crlf))); err != nil {
			return 0, err
		}
	}
}

// readTrailer reads up to the empty line after the last chunk.
func (c *conn) readTrailer() error {
	for {
		line, err := c.readLine()
		if err != nil || len(line) == 0 {
			return err
		}
	}
}

// readLine reads one, and returns it without its end. It is good until the next
// read.
func (c *conn) readLine() ([]byte, error) {
	for {
		unread := c.buf[c.begin:c.end]
		if i := bytes.Index(unread, crlf); i >= 0 {
			c.begin += i + len(crlf)
			return unread[:i], nil
		}
		c.begin, c.end = 0, copy(c.buf, unread)
		if c.end == len(c.buf) {
			return nil, errHead
		}
		if err := c.fill(); err != nil {
			return nil, err
		}
	}
}
