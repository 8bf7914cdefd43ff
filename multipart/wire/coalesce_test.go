package wire_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

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

// A body that cannot be read leaves nothing of its request to the next one.
func TestUnreadableBodyLeavesNothing(t *testing.T) {
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
