package wire

import "io"

// bufferSize is how much of a body is written at once, and as much as a head and
// TLS's first record behind it need.
const bufferSize = 32 << 10

// holdHead lets the head of the next request wait for the first of its body. The
// transport sends it ahead, since a body may be long in coming: ours is a file's, and
// to a server a small file in two pieces is half as much work again to wake up for.
func (c *conn) holdHead() { c.hold.Store(true) }

// Write sends p behind what was held, in one piece if there is room for it.
func (c *conn) Write(p []byte) (int, error) {
	switch held := c.held; {
	case c.hold.Swap(false) && held+len(p) < bufferSize:
		c.held += copy(c.room(), p)
		return len(p), nil
	case held == 0:
		return c.write(p)
	case held+len(p) <= bufferSize:
		return c.flush(copy(c.room(), p))
	}
	if _, err := c.flush(0); err != nil {
		return 0, err
	}
	return c.write(p)
}

// ReadFrom sends what r has, a bufferful at a time: with one sendfile of the whole
// body there would be no sign of life until its end.
func (c *conn) ReadFrom(r io.Reader) (sum int64, err error) {
	for {
		n, unreadable := r.Read(c.room())
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

// room is the part of the buffer where nothing waits.
func (c *conn) room() []byte {
	if c.buffer == nil {
		c.buffer = make([]byte, bufferSize)
	}
	return c.buffer[c.held:]
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
