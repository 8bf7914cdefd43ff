package wire

import (
	"context"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"
)

// stuck is a watch in PhaseSend over a connection whose buffers are full, for
// its other end reads nothing.
func stuck(t *testing.T) (w *watch, failed func() error, c *conn, other net.Conn) {
	c, other = sockets(t)
	w, failed = newWatch(Limits{})
	t.Cleanup(func() { w.stop() })
	w.connected(c)
	fill(t, c)
	w.look()
	return w, failed, c, other
}

// idle makes the last sign of life an hour old.
func (w *watch) idle() {
	w.mu.Lock()
	w.life = time.Now().Add(-time.Hour)
	w.mu.Unlock()
}

// What is read from the source lands in a buffer: where the kernel counts, it is
// no sign of life.
func TestReadsAreNoSignOfLife(t *testing.T) {
	w, failed, c, _ := stuck(t)
	for before, after := int64(0), int64(1); before != after && failed() == nil; {
		w.look()
		before, _ = c.queue()
		w.idle()
		w.reads()
		w.took(5)
		w.look()
		after, _ = c.queue() // the same, when the kernels have come to rest
	}
	if failed() == nil {
		t.Error("no stall: a read of the source counted")
	}
}

// That the other side has acknowledged something is one, however much is missing
// still, and whether or not the source was read.
func TestAcknowledgementIsASignOfLife(t *testing.T) {
	w, failed, c, other := stuck(t)
	before, _ := c.queue()
	for after := before; after == before; after, _ = c.queue() {
		if _, err := io.ReadFull(other, make([]byte, 64<<10)); err != nil {
			t.Fatal(err)
		}
	}
	w.idle()
	w.look()
	if n, _ := c.queue(); failed() != nil || n == 0 {
		t.Errorf("%d bytes are missing: %v", n, failed())
	}
}

// A request that was written is on its way until the other side has all of it:
// only then is it time for an answer.
func TestAnswerClockStartsWhenDrained(t *testing.T) {
	w, _, c, other := stuck(t)
	phase := func() Phase {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.phase
	}
	w.written()
	if got := phase(); got != PhaseSend {
		t.Errorf("phase %v while bytes are missing", got)
	}
	if _, err := io.CopyN(io.Discard, other, w.out); err != nil {
		t.Fatal(err)
	}
	for range 1000 { // the kernels take their time
		w.look()
		if phase() == PhaseAnswer {
			return
		}
		<-time.After(time.Millisecond)
	}
	n, known := c.queue()
	t.Errorf("phase %v when none are: %d written, %d queued (%v)", phase(), w.out, n, known)
}

// Two connections to a name with two addresses go to both.
func TestAddressesTakeTurns(t *testing.T) {
	first, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	_, port, _ := net.SplitHostPort(first.Addr().String())
	second, err := net.Listen("tcp", "127.0.0.2:"+port)
	if err != nil {
		t.Fatal("the loopback interface needs 127.0.0.2: ", err)
	}
	defer second.Close()
	client := NewClient(Options{})
	client.lookup = func(context.Context, string, string) ([]netip.Addr, error) {
		return addresses("127.0.0.1 127.0.0.2"), nil
	}
	for _, want := range []net.Listener{first, second, first} {
		c, err := client.dialName(t.Context(), "tcp", "store.test:"+port)
		if err != nil {
			t.Fatal(err)
		}
		if c.RemoteAddr().String() != want.Addr().String() {
			t.Errorf("dialed %v, want %v", c.RemoteAddr(), want.Addr())
		}
		c.Close()
	}
}
