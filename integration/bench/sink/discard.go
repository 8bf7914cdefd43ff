package sink

import (
	"context"
	"io"
)

// most is how much is thrown away at once.
const most = 4 << 20

// discard reads n bytes of a body and throws them away.
func (c *conn) discard(n int64) error {
	for n > 0 {
		k, err := c.discardSome(n)
		if k == 0 && err == nil {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
		n -= k
		c.server.read(k)
	}
	return nil
}

// discardSome throws up to n bytes away: what was read with the head, else more.
func (c *conn) discardSome(n int64) (k int64, err error) {
	if have := int64(c.end - c.begin); have > 0 {
		k = min(n, have)
		c.begin += int(k)
		return k, c.wait(int(k))
	}
	c.begin, c.end = 0, 0
	if !c.server.hush() {
		return 0, errEnd
	}
	for _, l := range c.limits {
		n = min(n, int64(l.Burst()))
	}
	var got int
	if c.drop != nil {
		got, err = c.drop(int(min(n, most)))
	} else {
		got, err = c.in.Read(c.buf[:min(n, int64(len(c.buf)))])
	}
	if got > 0 {
		err = c.wait(got)
	}
	return int64(got), err
}

// wait waits as long as n bytes take on the link. They are in the buffer of the
// socket meanwhile, as far as the client can tell.
func (c *conn) wait(n int) error {
	for _, l := range c.limits {
		for left := n; left > 0; left -= l.Burst() {
			if err := l.WaitN(context.Background(), min(left, l.Burst())); err != nil {
				return err
			}
		}
	}
	return nil
}
