package wire_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chunkup/chunkup/multipart/wire"
)

// pipes is a network without a kernel, for fake time: a byte is accepted when
// the other side has read it.
type pipes struct {
	script func(net.Conn) // plays the server on each connection
	dials  atomic.Int32
	active sync.WaitGroup
}

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	p.dials.Add(1)
	p.active.Go(func() {
		defer server.Close()
		p.script(server)
	})
	return client, nil
}

// network returns a client whose connections are all played by script, and
// what counts them.
func network(t *testing.T, limits wire.Limits, script func(net.Conn)) (*wire.Client, *pipes) {
	p := &pipes{script: script}
	client := wire.NewClient(wire.Options{Dial: p.dial, Limits: limits})
	t.Cleanup(func() {
		client.CloseIdle()
		p.active.Wait() // frozen scripts come to their end
	})
	return client, p
}

// server is a network where the connections need no counting.
func server(t *testing.T, limits wire.Limits, script func(net.Conn)) *wire.Client {
	client, _ := network(t, limits, script)
	return client
}

// readRequest reads a whole request with its body.
func readRequest(c net.Conn) *http.Request {
	req, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil {
		return nil
	}
	io.Copy(io.Discard, req.Body)
	return req
}

// serve answers every request of a connection with a status line.
func serve(c net.Conn, status string) {
	serveEach(c, func(*http.Request) string { return status })
}

// serveEach answers each request with the status that it is given; with none it holds
// the connection.
func serveEach(c net.Conn, status func(*http.Request) string) {
	r := bufio.NewReader(c)
	for {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		io.Copy(io.Discard, req.Body)
		says := status(req)
		if says == "" {
			hold(c)
			return
		}
		io.WriteString(c, "HTTP/1.1 "+says+"\r\nContent-Length: 0\r\n\r\n")
	}
}

// hold waits until the client has closed the connection.
func hold(c net.Conn) { io.Copy(io.Discard, c) }

// freeze takes nothing more and keeps the connection open for an hour.
func freeze(net.Conn) { time.Sleep(time.Hour) }

func put(size int) wire.Request {
	return wire.Request{Method: "PUT", URL: "http://store/b/k", Size: int64(size), Body: bytes.NewReader(make([]byte, size))}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// trickle is a peer that reads at a rate of bytes a second, evenly.
type trickle struct {
	io.Reader
	rate int
}

func (s trickle) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p[:min(len(p), max(s.rate/10, 1))])
	time.Sleep(time.Duration(n) * time.Second / time.Duration(s.rate))
	return n, err
}
