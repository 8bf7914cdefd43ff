package tcpproxy

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// plainEcho is echo without splice, whose pipes the runtime keeps for a while.
func plainEcho(c *net.TCPConn) {
	io.Copy(struct{ io.Writer }{c}, struct{ io.Reader }{c})
}

// All connections together get no more than the link has, and each as much as
// the others.
func TestLink(t *testing.T) {
	msg := pattern(t, 50_000)
	for name, d := range map[string]Direction{"upstream": Upstream, "downstream": Downstream} {
		t.Run(name, func(t *testing.T) {
			p := start(t, plainEcho)
			p.Link(d, 240)
			var conns []*net.TCPConn
			for range 4 {
				conns = append(conns, dial(t, p))
			}
			var wg sync.WaitGroup
			ends := make([]time.Time, len(conns))
			began := time.Now()
			took(t, 800*time.Millisecond, 5*time.Second, func() {
				for i, c := range conns {
					wg.Go(func() {
						if err := ask(c, msg); err != nil {
							t.Error(err)
						}
						ends[i] = time.Now()
					})
				}
				wg.Wait()
			})
			for i, end := range ends {
				if d := end.Sub(began); d < 500*time.Millisecond {
					t.Errorf("connection %d had it all after %v", i, d)
				}
			}
			p.Clear()
			took(t, 0, 700*time.Millisecond, func() {
				if err := ask(conns[0], msg); err != nil {
					t.Error(err)
				}
			})
			p.Link(d, 1)
			p.Link(d, 0)
			took(t, 0, 700*time.Millisecond, func() {
				if err := ask(conns[0], msg); err != nil {
					t.Error(err)
				}
			})
			if n := p.Accepted(); n != 4 {
				t.Errorf("%d connections were made", n)
			}
		})
	}
}

// A thin link shows on the client's side: the proxy does not take in what it
// cannot carry.
func TestLinkIsFelt(t *testing.T) {
	p := start(t, echo)
	p.Link(Upstream, 10)
	c := dial(t, p)
	c.SetDeadline(time.Now().Add(500 * time.Millisecond))
	n, err := c.Write(make([]byte, 32<<20))
	if err == nil || n > 8<<20 {
		t.Errorf("%d bytes went into the link, %v", n, err)
	}
}
