package tcpproxy

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chunkup/chunkup/integration/check"
)

func TestBytesAndEndsPass(t *testing.T) {
	p := start(t, echo)
	c := dial(t, p)
	must(t, ask(c, pattern(t, 8<<20)))
	q := onlyPair(t, p)
	must(t, c.CloseWrite())
	if n, err := c.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("after the end: %d, %v", n, err)
	}
	select {
	case <-q.done:
	case <-time.After(bound):
		t.Error("the proxy keeps connections that both sides have ended")
	}
	if p.URL() != "http://"+p.Addr() {
		t.Errorf("URL %s, address %s", p.URL(), p.Addr())
	}
}

func TestResetOfServerPasses(t *testing.T) {
	p := start(t, func(c *net.TCPConn) {
		c.Read(make([]byte, 1))
		reset(c)
	})
	c := dial(t, p)
	if err := ask(c, []byte("x")); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("got %v", err)
	}
}

func TestClientThatGoesOnAfterTheEnd(t *testing.T) {
	p := start(t, func(c *net.TCPConn) { c.Read(make([]byte, 1)) })
	c := dial(t, p)
	if err := ask(c, []byte("x")); !errors.Is(err, io.EOF) {
		t.Errorf("the end: %v", err)
	}
	for {
		if _, err := c.Write(make([]byte, 1<<20)); err != nil {
			if !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
				t.Errorf("got %v", err)
			}
			return
		}
	}
}

func TestServerThatIsGone(t *testing.T) {
	check.Leaks(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	must(t, ln.Close())
	p := Start(t, ln.Addr().String())
	// The proxy accepts, then finds out; a quick reset already fails the dial.
	c, err := net.Dial("tcp", p.Addr())
	if err == nil {
		defer c.Close()
		err = ask(c, []byte("x"))
	}
	if !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
		t.Errorf("got %v", err)
	}
}

func TestBandwidth(t *testing.T) {
	msg := pattern(t, 100_000)
	for name, d := range map[string]Direction{"upstream": Upstream, "downstream": Downstream} {
		t.Run(name, func(t *testing.T) {
			p := start(t, echo)
			c := dial(t, p)
			p.Bandwidth(d, 120)
			took(t, 800*time.Millisecond, 5*time.Second, func() { must(t, ask(c, msg)) })
			p.Bandwidth(d, 0)
			took(t, 0, 700*time.Millisecond, func() { must(t, ask(c, msg)) })
		})
	}
}

func TestLatency(t *testing.T) {
	p := start(t, echo)
	c := dial(t, p)
	p.Latency(Upstream, 400*time.Millisecond, 0)
	p.Latency(Downstream, 500*time.Millisecond, 20*time.Millisecond)
	took(t, 880*time.Millisecond, 5*time.Second, func() { must(t, ask(c, []byte("x"))) })
	p.Clear()
	took(t, 0, 350*time.Millisecond, func() { must(t, ask(c, []byte("x"))) })
}

// Slow does not mean: nothing for a long time, then much.
func TestBandwidthIsEven(t *testing.T) {
	p := start(t, echo)
	c := dial(t, p)
	p.Bandwidth(Upstream, 1)
	_, err := c.Write(make([]byte, 5000))
	must(t, err)
	took(t, 40*time.Millisecond, 3*time.Second, func() {
		_, err := c.Read(make([]byte, 1))
		must(t, err)
	})
}

func TestLimit(t *testing.T) {
	const limit = 12_345
	for name, size := range map[string]int64{"exactly": limit, "more": 2 * limit} {
		t.Run(name, func(t *testing.T) {
			arrived := make(chan int64, 1)
			p := start(t, func(c *net.TCPConn) {
				n, _ := io.Copy(io.Discard, c)
				arrived <- n
			})
			c := dial(t, p)
			p.Limit(Upstream, limit)
			_, err := c.Write(pattern(t, size))
			must(t, err)
			if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("the connection goes on: %d, %v", n, err)
			}
			if n := <-arrived; n != limit {
				t.Errorf("%d bytes arrived", n)
			}
		})
	}
}

func TestBlackholeHoldsBytesAndEnds(t *testing.T) {
	p := start(t, echo)
	c := dial(t, p)
	must(t, ask(c, []byte("before")))
	p.Blackhole(Upstream)
	_, err := c.Write([]byte("during"))
	must(t, err)
	must(t, c.CloseWrite())
	must(t, c.SetReadDeadline(time.Now().Add(100*time.Millisecond)))
	var timeout net.Error
	if n, err := c.Read(make([]byte, 1)); !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Fatalf("through a black hole came %d, %v", n, err)
	}
	p.Clear()
	must(t, c.SetReadDeadline(time.Now().Add(bound)))
	if got, err := io.ReadAll(c); string(got) != "during" || err != nil {
		t.Errorf("afterwards came %q, %v", got, err)
	}
}

func TestResets(t *testing.T) {
	p := start(t, echo)
	old := dial(t, p)
	must(t, ask(old, []byte("x")))
	p.ResetPeer(100 * time.Millisecond)
	took(t, 50*time.Millisecond, bound, func() {
		if _, err := dial(t, p).Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("a new connection: %v", err)
		}
	})
	must(t, ask(old, []byte("x")))
	p.Reset()
	if _, err := old.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("an old connection: %v", err)
	}
	p.Clear()
	c := dial(t, p)
	must(t, ask(c, []byte("x")))
	must(t, c.SetReadDeadline(time.Now().Add(200*time.Millisecond)))
	if _, err := c.Read(make([]byte, 1)); errors.Is(err, syscall.ECONNRESET) {
		t.Error("reset after Clear")
	}
}

func TestDownAndUp(t *testing.T) {
	p := start(t, echo)
	c, addr := dial(t, p), p.Addr()
	must(t, ask(c, []byte("x")))
	p.Down()
	p.Down()
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("an old connection: %v", err)
	}
	if c, err := net.Dial("tcp", addr); !errors.Is(err, syscall.ECONNREFUSED) {
		if err == nil {
			c.Close()
		}
		t.Errorf("while down: %v", err)
	}
	p.Up()
	p.Up()
	if p.Addr() != addr {
		t.Errorf("moved from %s to %s", addr, p.Addr())
	}
	must(t, ask(dial(t, p), []byte("x")))
}

// Everything under way ends with Down, whatever is wrong with the network.
func TestDownInMidTransferLeavesNothing(t *testing.T) {
	faults := map[string]func(*Proxy){
		"none":      func(*Proxy) {},
		"slow":      func(p *Proxy) { p.Bandwidth(Upstream, 1) },
		"late":      func(p *Proxy) { p.Latency(Downstream, time.Hour, 0) },
		"blackhole": func(p *Proxy) { p.Blackhole(Upstream) },
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			p := start(t, echo)
			fault(p)
			var wg sync.WaitGroup
			for range 4 {
				c := dial(t, p)
				wg.Go(func() { io.Copy(io.Discard, c) })
				wg.Go(func() {
					for {
						if _, err := c.Write(make([]byte, 1<<20)); err != nil {
							return
						}
					}
				})
			}
			waitFor(t, p, 4)
			p.Down()
			wg.Wait()
			p.wg.Wait()
			if len(p.pairs) != 0 {
				t.Errorf("%d connections are left", len(p.pairs))
			}
		})
	}
}
