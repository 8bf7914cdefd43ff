package wire_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chunkup/chunkup/multipart/wire"
)

// One connection carries one attempt after the other, until it has been idle
// for too long.
func TestReuse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, net := network(t, wire.Limits{}, func(c net.Conn) { serve(c, "200 OK") })
		do := func(r wire.Request, dials int32) {
			t.Helper()
			if _, err := client.Do(t.Context(), r); err != nil || net.dials.Load() != dials {
				t.Errorf("%d connections, want %d; err = %v", net.dials.Load(), dials, err)
			}
		}
		for range 10 {
			do(put(100_000), 1)
		}
		req, _ := http.NewRequestWithContext(t.Context(), "POST", "http://store/b", strings.NewReader("x"))
		if _, err := client.Control(0).Do(req); err != nil || net.dials.Load() != 1 {
			t.Errorf("control call: %d connections, err = %v", net.dials.Load(), err)
		}
		fresh := put(10)
		fresh.Fresh = true
		do(fresh, 2)
		elsewhere := put(10)
		elsewhere.URL = "http://elsewhere/b/k"
		do(elsewhere, 3)
		time.Sleep(19 * time.Second)
		do(put(10), 3)
		time.Sleep(21 * time.Second)
		do(put(10), 4)
		client.CloseIdle()
		do(put(10), 5)
	})
}

func TestReuseAfter(t *testing.T) {
	cases := map[string]struct {
		first func(net.Conn) // what the first connection does with its first request
		reuse bool
	}{
		"200":     {answers("200 OK"), true},
		"403":     {answers("403 Forbidden"), true},
		"404":     {answers("404 Not Found"), true},
		"500":     {answers("500 Internal Server Error"), false},
		"503":     {answers("503 Slow Down"), false},
		"stall":   {freeze, false},
		"cut":     {func(c net.Conn) { c.Close() }, false},
		"cancel":  {func(c net.Conn) { readRequest(c); freeze(c) }, false},
		"close":   {answers("200 OK\r\nConnection: close"), false},
		"endless": {answers("400 Bad Request\r\nX: y\r\nContent-Length: 100000\r\n\r\n" + strings.Repeat("x", 100_000)), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var later atomic.Bool
				client, net := network(t, wire.Limits{}, func(c net.Conn) {
					if !later.Swap(true) {
						tc.first(c)
					}
					serve(c, "200 OK")
				})
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				client.Do(ctx, put(10))
				before := net.dials.Load()
				if _, err := client.Do(t.Context(), put(10)); err != nil {
					t.Fatal(err)
				}
				if reuse := net.dials.Load() == before; before != 1 || reuse != tc.reuse {
					t.Errorf("%d connections, then %d", before, net.dials.Load())
				}
			})
		})
	}
}

// answers reads a request and writes an answer without a body, or with its own.
func answers(head string) func(net.Conn) {
	return func(c net.Conn) {
		readRequest(c)
		if !strings.Contains(head, "\r\n\r\n") {
			head += "\r\nContent-Length: 0\r\n\r\n"
		}
		io.WriteString(c, "HTTP/1.1 "+head)
	}
}

// R10 https://github.com/Chocobozzz/PeerTube/issues/6415: no connection that
// has answered 503 carries another part, however many are waiting for one.
func TestNoPartAfter503(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		conns := 0
		client := server(t, wire.Limits{}, func(c net.Conn) {
			mu.Lock()
			conns++
			healthy := conns > 5
			mu.Unlock()
			r := bufio.NewReader(c)
			for n := 0; ; n++ {
				req, err := http.ReadRequest(r)
				if err != nil {
					return
				}
				io.Copy(io.Discard, req.Body)
				if healthy {
					io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
					continue
				}
				if n > 0 {
					t.Error("another part after a 503")
				}
				io.WriteString(c, "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n")
			}
		})
		var parts sync.WaitGroup
		for range 4 {
			parts.Go(func() {
				for range 10 {
					client.Do(t.Context(), put(1000))
				}
			})
		}
		parts.Wait()
		if conns < 6 || conns > 5+4 {
			t.Errorf("%d connections", conns)
		}
	})
}

// What was used last is used first, so that the surplus of a burst can go.
func TestLastUsedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		conns := 0
		client := server(t, wire.Limits{}, func(c net.Conn) {
			mu.Lock()
			conns++
			id := conns
			mu.Unlock()
			r := bufio.NewReader(c)
			for {
				req, err := http.ReadRequest(r)
				if err != nil {
					return
				}
				io.Copy(io.Discard, req.Body)
				time.Sleep(time.Duration(4-id) * time.Second)
				fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nX-Conn: %d\r\nContent-Length: 0\r\n\r\n", id)
			}
		})
		var burst sync.WaitGroup
		for range 3 {
			burst.Go(func() { client.Do(t.Context(), put(10)) })
		}
		burst.Wait()
		if a, err := client.Do(t.Context(), put(10)); err != nil || a.Header.Get("X-Conn") != "1" {
			t.Errorf("connection %s was not the last, err = %v", a.Header.Get("X-Conn"), err)
		}
	})
}

// A connection that the server closes while nobody uses it costs no attempt.
func TestServerClosesIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, net := network(t, wire.Limits{}, answers("200 OK"))
		for want := range int32(3) {
			if _, err := client.Do(t.Context(), put(10)); err != nil || net.dials.Load() != want+1 {
				t.Errorf("%d connections, err = %v", net.dials.Load(), err)
			}
			synctest.Wait()
		}
	})
}

// A connection that the server has closed is no reason to leave another alone.
func TestDeadConnectionIsPassedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan int)
		var conns atomic.Int32
		client, net := network(t, wire.Limits{}, func(c net.Conn) {
			id := int(conns.Add(1))
			readRequest(c)
			for n := range release {
				if n == id {
					break
				}
				release <- n
			}
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
			if id == 1 {
				serve(c, "200 OK")
			}
		})
		var burst sync.WaitGroup
		for range 2 {
			burst.Go(func() { client.Do(t.Context(), put(10)) })
		}
		synctest.Wait()
		release <- 1
		synctest.Wait()
		release <- 2 // and closes
		burst.Wait()
		synctest.Wait()
		if _, err := client.Do(t.Context(), put(10)); err != nil || net.dials.Load() != 2 {
			t.Errorf("%d connections, err = %v", net.dials.Load(), err)
		}
	})
}

// A refusal from one place closes no connection to another.
func TestOriginsAreApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, net := network(t, wire.Limits{}, func(c net.Conn) {
			serveEach(c, func(req *http.Request) string {
				return map[string]string{"store": "200 OK", "elsewhere": "503 Slow Down"}[req.Host]
			})
		})
		elsewhere := put(10)
		elsewhere.URL = "http://elsewhere/b/k"
		for _, r := range []wire.Request{put(10), elsewhere, put(10)} {
			client.Do(t.Context(), r)
		}
		if net.dials.Load() != 2 {
			t.Errorf("%d connections", net.dials.Load())
		}
	})
}

// A dial that does not end with its attempt leaves nothing open.
func TestLateDial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, other := net.Pipe()
		client := wire.NewClient(wire.Options{Dial: func(context.Context, string, string) (net.Conn, error) {
			time.Sleep(12 * time.Second)
			return conn, nil
		}})
		if _, err := client.Do(t.Context(), put(10)); err == nil {
			t.Error("no error")
		}
		time.Sleep(3 * time.Second)
		start := time.Now()
		if _, err := other.Read(make([]byte, 1)); err != io.EOF || time.Since(start) != 0 {
			t.Errorf("open for %v: %v", time.Since(start), err)
		}
	})
}

// The end of an attempt is the end of its dial.
func TestAbandonedDial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended time.Duration
		start := time.Now()
		client := wire.NewClient(wire.Options{Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			ended = time.Since(start)
			return nil, ctx.Err()
		}})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := client.Do(ctx, put(10)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("err = %v", err)
		}
		synctest.Wait()
		if ended != time.Second {
			t.Errorf("the dial ended after %v", ended)
		}
	})
}

// A look that has run out of time is over: it does not go out once more over a new
// connection, although the transport would send it again when the old one breaks.
func TestLookIsNotRepeated(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8)) // more than cores: they come between each other
	var looks atomic.Int32
	client, pipes := network(t, wire.Limits{}, func(c net.Conn) {
		serveEach(c, func(req *http.Request) string {
			if req.Method == http.MethodHead && looks.Add(1)%2 == 1 {
				return ""
			}
			return "200 OK"
		})
	})
	for n := range 5000 {
		if _, err := client.Do(t.Context(), put(10)); err != nil { // so that there is a kept connection
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		req, _ := http.NewRequestWithContext(ctx, http.MethodHead, "http://store/b/k", nil)
		looks.Store(0)
		go func() {
			for looks.Load() == 0 {
				runtime.Gosched()
			}
			cancel()
		}()
		if _, err := client.Control(0).Do(req); err == nil || looks.Load() != 1 {
			t.Fatalf("look %d was sent %d times, %v; %d connections", n, looks.Load(), err, pipes.dials.Load())
		}
		cancel()
	}
}
