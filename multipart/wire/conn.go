package wire

import (
	"crypto/tls"
	"net"
	"sync/atomic"
	"syscall"
	"time"
)

// notSentLowat bounds the bytes that wait in the kernel's send queue and are
// not on their way yet, where the system can: enough for a fast link, little
// enough that what is taken from the body has nearly left.
const notSentLowat = 128 << 10

// userTimeoutExtra is how much later than the stall clock the kernel itself
// gives a connection up whose bytes are not acknowledged.
const userTimeoutExtra = 15 * time.Second

// conn is a connection whose send queue can be asked for.
type conn struct {
	net.Conn
	raw    syscall.RawConn       // nil: nothing is known of the queue
	user   atomic.Pointer[watch] // of the attempt that it carries
	closed atomic.Bool
	last   atomic.Int64 // the queue when it was closed

	hold   atomic.Int64 // what is written waits for a body of so many bytes; 0: it does not
	buffer []byte       // of the writer, who is one at a time
	held   int          // of the buffer, what waits
}

// newConn takes a connection over. Only that of a TCPConn has a queue.
func newConn(c net.Conn) *conn {
	wrapped := &conn{Conn: c}
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return wrapped
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return wrapped
	}
	if _, known := queueOf(raw); known {
		wrapped.raw = raw
		boundUnsent(raw, notSentLowat)
	}
	return wrapped
}

// connOf finds the connection of ours below TLS, if there is one.
func connOf(c net.Conn) *conn {
	for {
		switch layer := c.(type) {
		case *conn:
			return layer
		case *tls.Conn:
			c = layer.NetConn()
		default:
			return nil
		}
	}
}

// counts reports that the queue is known.
func (c *conn) counts() bool { return c != nil && c.raw != nil }

// queue returns how many bytes that were written the other side has not
// acknowledged; of a closed connection those of the moment when it was closed.
func (c *conn) queue() (n int64, known bool) {
	if !c.counts() {
		return 0, false
	}
	if n, ok := queueOf(c.raw); ok {
		return n, true
	}
	return c.last.Load(), true
}

// giveUpAfter makes the kernel end the connection when bytes stay
// unacknowledged for so much longer than stall.
func (c *conn) giveUpAfter(stall time.Duration) {
	if c.counts() {
		setUserTimeout(c.raw, stall+userTimeoutExtra)
	}
}

func (c *conn) Close() error {
	if n, known := c.queue(); known {
		c.last.Store(n) // again the same, if it was closed before
	}
	c.closed.Store(true)
	return c.Conn.Close()
}

func (c *conn) isClosed() bool { return c.closed.Load() }
