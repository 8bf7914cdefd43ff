package tcpproxy

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/chunkup/chunkup/integration/check"
)

// bound is far more than anything here takes.
const bound = 10 * time.Second

// listen accepts connections on loopback and hands them to serve, until the
// test ends.
func listen(t *testing.T, serve func(*net.TCPConn)) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				c.SetDeadline(time.Now().Add(2 * bound)) // longer than a client waits
				serve(c.(*net.TCPConn))
			})
		}
	})
	t.Cleanup(func() {
		ln.Close()
		wg.Wait()
	})
	return ln.Addr().String()
}

func echo(c *net.TCPConn) { io.Copy(c, c) }

// start puts a proxy before a server. The leak check comes first, so that it
// is the last to look.
func start(t *testing.T, serve func(*net.TCPConn)) *Proxy {
	t.Helper()
	check.Leaks(t)
	return Start(t, "http://"+listen(t, serve))
}

func dial(t *testing.T, p *Proxy) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(bound))
	return c.(*net.TCPConn)
}

// ask sends a message to an echo server and waits for all of it.
func ask(c net.Conn, msg []byte) error {
	wrote := make(chan error, 1)
	go func() {
		_, err := c.Write(msg)
		wrote <- err
	}()
	got := make([]byte, len(msg))
	_, err := io.ReadFull(c, got)
	if err == nil && !bytes.Equal(got, msg) {
		err = errors.New("the echo is wrong")
	}
	return errors.Join(err, <-wrote)
}

// took fails the test unless f takes about as long as it should.
func took(t *testing.T, least, most time.Duration, f func()) {
	t.Helper()
	began := time.Now()
	f()
	if d := time.Since(began); d < least || d > most {
		t.Errorf("took %v, want %v to %v", d, least, most)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func pattern(t *testing.T, n int64) []byte {
	t.Helper()
	b := make([]byte, n)
	_, err := check.Pattern(n).ReadAt(b, 0)
	must(t, err)
	return b
}

// waitFor waits until that many connections are under way.
func waitFor(t *testing.T, p *Proxy, n int) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for range 1000 {
		p.mu.Lock()
		got := len(p.pairs)
		p.mu.Unlock()
		if got == n {
			return
		}
		<-tick.C
	}
	t.Fatalf("not %d connections", n)
}

// onlyPair returns the one connection that is under way.
func onlyPair(t *testing.T, p *Proxy) *pair {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for q := range p.pairs {
		if len(p.pairs) == 1 {
			return q
		}
	}
	t.Fatalf("%d connections", len(p.pairs))
	return nil
}
