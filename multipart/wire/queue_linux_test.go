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
	c.SetWriteDeadline(time.Now().Add(200 * time.Millisecond)) // nobody reads: the buffers get full
	written, err := c.Write(make([]byte, 64<<20))
	if !os.IsTimeout(err) {
		t.Fatal(err)
	}
	var acked int64
	c.raw.Control(func(fd uintptr) {
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		if err != nil {
			t.Fatal(err)
		}
		acked = int64(info.Bytes_acked) - 1 // the SYN counts
	})
	queue, known := c.queue()
	if !known || acked <= 0 || queue != int64(written)-acked {
		t.Errorf("%d bytes in the queue (known: %t), %d written and %d acknowledged", queue, known, written, acked)
	}
	c.Close()
	if last, known := c.queue(); !known || last != queue {
		t.Errorf("%d bytes in the queue of the closed connection, %d before", last, queue)
	}
	n, _ := io.Copy(io.Discard, other)
	if n != int64(written) {
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
	c.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
	c.Write(make([]byte, 64<<20))
	w.look()
	if err := expire(); err == nil {
		t.Error("no stall, although bytes are missing")
	}
	w.stop()
}
