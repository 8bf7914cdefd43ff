package wire

import (
	"io"
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// sockets returns a connection as the client has it, and its other end.
func sockets(t *testing.T) (*conn, net.Conn) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	opened, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	other, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	c := newConn(opened)
	t.Cleanup(func() {
		c.Close()
		other.Close()
	})
	return c, other
}

// fill writes until a write in vain has come to an end by its deadline, with bytes
// in the queue before and after it, and returns how many were written. One that
// ended so says nothing alone: on a machine that is busy the deadline may be over
// before the write has begun.
func fill(t *testing.T, c *conn) (written int64) {
	t.Helper()
	block := make([]byte, 1<<20)
	for range 64 {
		before, _ := c.queue()
		c.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
		n, err := c.Write(block)
		written += int64(n)
		if err != nil && !os.IsTimeout(err) {
			t.Fatal(err)
		}
		if after, _ := c.queue(); err != nil && n == 0 && before > 0 && after == before {
			return written
		}
	}
	t.Fatal("64 MiB fit the buffers")
	return 0
}

func (c *conn) option(t *testing.T, name int) (value int) {
	t.Helper()
	c.raw.Control(func(fd uintptr) {
		var err error
		if value, err = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, name); err != nil {
			t.Error(err)
		}
	})
	return value
}

func TestSocketOptions(t *testing.T) {
	c, _ := sockets(t)
	if got := c.option(t, unix.TCP_NOTSENT_LOWAT); got != 128<<10 {
		t.Errorf("at most %d bytes wait unsent", got)
	}
	for stall, want := range map[time.Duration]int{time.Second: 16_000, 15 * time.Second: 30_000, 1 << 62: 1 << 30} {
		c.giveUpAfter(stall)
		if got := c.option(t, unix.TCP_USER_TIMEOUT); got != want {
			t.Errorf("a stall of %v: the kernel gives up after %d ms, want %d", stall, got, want)
		}
	}
}

// The queue is exactly what was written and has not been acknowledged, by the
// kernel's other count, also when the connection has been closed.
func TestQueueIsExact(t *testing.T) {
	c, other := sockets(t)
	written := fill(t, c) // nobody reads
	var acked int64
	c.raw.Control(func(fd uintptr) {
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		if err != nil {
			t.Fatal(err)
		}
		acked = int64(info.Bytes_acked) - 1 // the SYN counts
	})
	queue, known := c.queue()
	if !known || acked <= 0 || queue != written-acked {
		t.Errorf("%d bytes in the queue (known: %t), %d written and %d acknowledged", queue, known, written, acked)
	}
	c.Close()
	if last, known := c.queue(); !known || last != queue {
		t.Errorf("%d bytes in the queue of the closed connection, %d before", last, queue)
	}
	n, _ := io.Copy(io.Discard, other)
	if n != written {
		t.Errorf("%d of %d bytes arrived", n, written)
	}
}

func TestQueueDrains(t *testing.T) {
	c, other := sockets(t)
	if _, err := c.Write(make([]byte, 100_000)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(other, make([]byte, 100_000)); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Write([]byte("x")); err != nil { // acknowledges, too
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if n, known := c.queue(); n != 0 || !known {
		t.Errorf("%d bytes in the queue (known: %t)", n, known)
	}
}

// While nothing is missing the other side is not to blame: the source was slow,
// and what it brought is not written yet.
func TestNothingMissingIsNoStall(t *testing.T) {
	c, other := sockets(t)
	w, failed := newWatch(Limits{})
	w.connected(c)
	if got := c.option(t, unix.TCP_USER_TIMEOUT); got != 30_000 {
		t.Errorf("the kernel gives up after %d ms", got)
	}
	expire := func() error {
		w.mu.Lock()
		w.life = time.Now().Add(-time.Hour)
		w.mu.Unlock()
		w.look()
		return failed()
	}
	if err := expire(); err != nil {
		t.Error(err)
	}
	other.(*net.TCPConn).SetReadBuffer(4096)
	fill(t, c)
	w.look()
	if err := expire(); err == nil {
		t.Error("no stall, although bytes are missing")
	}
	w.stop()
}
