package wire

import "io"

const (
	// bufferSize is how much of a body is given to the kernel, or to TLS, at once.
	bufferSize = 32 << 10

	// headSize is room for a head, and for what TLS adds.
	headSize = 4 << 10
)

// holdHead keeps back what is written from now on, the head of a request, until its
// body of size bytes is read. The transport sends a head ahead, since a body may be
// long in coming; to a server a small file in two pieces means to wake up twice.
func (c *conn) holdHead(size int64) { c.hold.Store(size) }

// letGo ends what holdHead began: what is written next is of the body.
func (c *conn) letGo() { c.hold.Store(0) }

// Write sends p behind what was held, in one piece if there is room for it. While a
// head is held it only keeps p, for whom the next write will speak.
func (c *conn) Write(p []byte) (int, error) {
	if size := c.hold.Load(); size > 0 && c.held+len(p) <= headSize {
		c.fit(size)
		c.held += copy(c.buffer[c.held:], p)
		return len(p), nil
	}
	switch held := c.held; {
	case held == 0:
		return c.write(p)
	case held+len(p) <= len(c.buffer):
		return c.flush(copy(c.buffer[held:], p))
	}
	if _, err := c.flush(0); err != nil {
		return 0, err
	}
	return c.write(p)
}

// ReadFrom sends what r has, a piece at a time: with one sendfile of the whole body
// there would be no sign of life until its end.
func (c *conn) ReadFrom(r io.Reader) (sum int64, err error) {
	if c.buffer == nil {
		c.fit(bufferSize)
	}
	for {
		if n := c.sendFile(r); n > 0 {
			sum += n
			continue
		}
		n, unreadable := r.Read(c.buffer[c.held:])
		if n > 0 {
			n, err = c.flush(n)
			sum += int64(n)
		}
		switch {
		case err != nil:
			return sum, err
		case unreadable == io.EOF:
			return sum, nil
		case unreadable != nil:
			return sum, unreadable
		}
	}
}

// fit makes the buffer large enough for a body of that size and its head.
func (c *conn) fit(size int64) {
	want := int(min(size+headSize, bufferSize))
	if len(c.buffer) >= want {
		return
	}
	larger := make([]byte, want)
	copy(larger, c.buffer[:c.held])
	c.buffer = larger
}

// flush writes what was held and the n bytes behind it, and returns how many of
// those were written.
func (c *conn) flush(n int) (int, error) {
	held := c.held
	c.held = 0
	written, err := c.write(c.buffer[:held+n])
	return max(written-held, 0), err
}

func (c *conn) write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if w := c.user.Load(); w != nil {
		w.put(n)
	}
	return n, err
}
