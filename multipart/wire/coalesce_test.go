package wire_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chunkup/chunkup/multipart/wire"
)

// written are the lengths of the pieces in which connections were written to.
type written struct {
	mu     sync.Mutex
	pieces []int
}

// take returns the pieces since the last call.
func (w *written) take() []int {
	w.mu.Lock()
	defer w.mu.Unlock()
	pieces := w.pieces
	w.pieces = nil
	return pieces
}

// noted is a connection whose writes are noted.
type noted struct {
	net.Conn
	by *written
}

func (n noted) Write(p []byte) (int, error) {
	n.by.mu.Lock()
	n.by.pieces = append(n.by.pieces, len(p))
	n.by.mu.Unlock()
	return n.Conn.Write(p)
}

// noting returns a client to a server that keeps what it gets, and what the client
// writes.
func noting(t *testing.T, secure bool) (client *wire.Client, url string, pieces *written, got func() []byte) {
	var mu sync.Mutex
	var last []byte
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		last = body
	}))
	var config *tls.Config
	if secure {
		s.StartTLS()
		config = s.Client().Transport.(*http.Transport).TLSClientConfig
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	pieces = &written{}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, address)
		return noted{c, pieces}, err
	}
	client = wire.NewClient(wire.Options{TLS: config, Dial: dial})
	t.Cleanup(client.CloseIdle)
	return client, s.URL, pieces, func() []byte { mu.Lock(); defer mu.Unlock(); return last }
}

// A small file arrives in one piece with its head, and so wakes the server once.
func TestHeadAndBodyInOnePiece(t *testing.T) {
	for _, test := range []struct {
		name   string
		secure bool
		size   int
		want   int // pieces
	}{
		{"http", false, 1, 1},
		{"http", false, 4 << 10, 1},
		{"http", false, 64 << 10, 8}, // a connection whose queue is unknown gets 8 KiB at a time
		{"https", true, 1, 1},
		{"https", true, 4 << 10, 1},
		{"https", true, 64 << 10, 8},
	} {
		client, url, written, got := noting(t, test.secure)
		for range 3 { // the connection's first request and later ones
			body := bytes.Repeat([]byte("0123456789abcdef"), test.size/16+1)[:test.size]
			written.take()
			answer, err := client.Do(t.Context(), wire.Request{Method: "PUT", URL: url + "/b/k", Size: int64(test.size), Body: bytes.NewReader(body)})
			if err != nil || answer.Sent != int64(test.size) || !bytes.Equal(got(), body) {
				t.Fatalf("%s, %d bytes: %d sent, %d arrived: %v", test.name, test.size, answer.Sent, len(got()), err)
			}
			pieces := written.take()
			if test.secure && len(pieces) > test.want { // the first time with the handshake's
				pieces = pieces[len(pieces)-test.want:]
			}
			if len(pieces) != test.want || pieces[0] < min(test.size, 8<<10)+60 {
				t.Errorf("%s, %d bytes: written in pieces of %v, want %d", test.name, test.size, pieces, test.want)
			}
		}
	}
}

// Where the server is asked first, the head goes ahead.
func TestExpectingHeadGoesAhead(t *testing.T) {
	client, url, written, _ := noting(t, false)
	r := wire.Request{Method: "PUT", URL: url + "/b/k", Size: 10, Body: bytes.NewReader(make([]byte, 10)), Expect: true}
	if answer, err := client.Do(t.Context(), r); err != nil || answer.NoContinue {
		t.Fatalf("%+v: %v", answer, err)
	}
	if pieces := written.take(); len(pieces) != 2 || pieces[1] != 10 {
		t.Errorf("written in pieces of %v", pieces)
	}
}

// Where the body is long in coming, too.
func TestHeadFirst(t *testing.T) {
	client, url, written, _ := noting(t, false)
	r := wire.Request{Method: "PUT", URL: url + "/b/k", Size: 10, HeadFirst: true, Body: readerFunc(func(p []byte) (int, error) {
		if pieces := written.take(); len(pieces) != 1 {
			t.Errorf("before the body is read, written in pieces of %v", pieces)
		}
		return len(p), nil
	})}
	if answer, err := client.Do(t.Context(), r); err != nil {
		t.Fatalf("%+v: %v", answer, err)
	}
}

// Of a request whose body cannot be read nothing is sent.
func TestUnreadableBodyIsNotBegun(t *testing.T) {
	broken := errors.New("broken")
	client, url, written, got := noting(t, false)
	r := wire.Request{Method: "PUT", URL: url + "/b/k", Size: 10, Body: readerFunc(func([]byte) (int, error) { return 0, broken })}
	if _, err := client.Do(t.Context(), r); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	if pieces := written.take(); len(pieces) != 0 {
		t.Errorf("written in pieces of %v", pieces)
	}
	r.Body = bytes.NewReader([]byte("0123456789"))
	if _, err := client.Do(t.Context(), r); err != nil || string(got()) != "0123456789" {
		t.Errorf("%q arrived: %v", got(), err)
	}
}

// A control call whose body could be had again is sent once all the same: the transport
// would take the second one past the clocks.
func TestControlCallIsSentOnce(t *testing.T) {
	requests := make(chan string, 10)
	var first atomic.Bool
	client := server(t, wire.Limits{}, func(c net.Conn) {
		r := bufio.NewReader(c)
		for {
			req, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			body, _ := io.ReadAll(req.Body)
			requests <- string(body)
			if first.Swap(true) {
				return // the kept connection is closed without an answer
			}
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}
	})
	for i, body := range []string{"one", "two"} {
		req, err := http.NewRequest("POST", "http://store/b", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Idempotency-Key", "the transport would send it again")
		resp, err := client.Control(5 * time.Second).Do(req)
		if err == nil {
			resp.Body.Close()
		}
		if _, late := errors.AsType[*wire.DeadlineError](err); late || (err == nil) != (i == 0) {
			t.Errorf("%s: %v", body, err)
		}
	}
	close(requests)
	var got []string
	for body := range requests {
		got = append(got, body)
	}
	if !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("the server saw %q", got)
	}
}
