package wire_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chunkup/chunkup/multipart/wire"
)

// Without Expect an early refusal would be lost behind the reset; with it, it
// is seen before a byte of the body is sent. Servers that do not know the
// question are told from those that do.
//
// R38 https://github.com/minio/minio-py/issues/1116
func TestExpect(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
	cases := map[string]struct {
		plain      bool          // do not ask
		head       string        // what the server says to the headers
		late       time.Duration // and how much later
		tail       string        // what it says to the body
		status     int           // of the answer
		sent       int64         // bytes of the body
		noContinue bool
		after      time.Duration
	}{
		"refused":       {head: "HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", status: 403},
		"welcome":       {head: "HTTP/1.1 100 Continue\r\n\r\n", tail: ok, status: 200, sent: 100_000},
		"welcome later": {head: "HTTP/1.1 100 Continue\r\n\r\n", late: 900 * time.Millisecond, tail: ok, status: 200, sent: 100_000, after: 900 * time.Millisecond},
		"ignored":       {tail: ok, status: 200, sent: 100_000, noContinue: true, after: time.Second},
		"not known":     {head: "HTTP/1.1 417 Expectation Failed\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", status: 417, noContinue: true},
		"not asked":     {plain: true, tail: ok, status: 200, sent: 100_000},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				// A wait for consent is no stall, however short the bound.
				client := server(t, wire.Limits{Stall: 500 * time.Millisecond}, func(c net.Conn) {
					r := bufio.NewReader(c)
					req, err := http.ReadRequest(r)
					if err != nil || (req.Header.Get("Expect") == "100-continue") == tc.plain {
						t.Errorf("asked with Expect %q, err = %v", req.Header.Get("Expect"), err)
					}
					time.Sleep(tc.late)
					io.WriteString(c, tc.head)
					io.Copy(io.Discard, req.Body)
					io.WriteString(c, tc.tail)
					hold(c)
				})
				r := put(100_000)
				r.Expect = !tc.plain
				answer, err := client.Do(t.Context(), r)
				var refusal *wire.StoreError
				if tc.status != 200 && !errors.As(err, &refusal) || tc.status == 200 && err != nil {
					t.Errorf("err = %v", err)
				}
				if answer.Status != tc.status || answer.Sent != tc.sent || answer.NoContinue != tc.noContinue || answer.Elapsed != tc.after {
					t.Errorf("status %d, %d bytes, no continue: %t, after %v", answer.Status, answer.Sent, answer.NoContinue, answer.Elapsed)
				}
			})
		})
	}
}

// A refusal is one even if its body is cut: the status has said so.
//
// R39 https://github.com/s3tools/s3cmd/pull/331
func TestCutRefusal(t *testing.T) {
	for head, refused := range map[string]bool{
		"HTTP/1.1 403 Forbidden\r\nContent-Length: 100\r\n\r\nno":         true,
		"HTTP/1.1 413 Too Large\r\nTransfer-Encoding: chunked\r\n\r\n":    true,
		"HTTP/1.1 200 OK\r\nETag: \"x\"\r\nContent-Length: 100\r\n\r\nno": false,
		"HTTP/1.1 403 Forb": false,
		"HTTP/1.1 403 Forbidden\r\nX-Amz-Request-Id: 1\r\nContent-Length: 10000\r\n\r\n":       true,
		"HTTP/1.1 503 Slow Down\r\nRetry-After: 7\r\nContent-Length: 100\r\n\r\n<Error><Code>": true,
	} {
		synctest.Test(t, func(t *testing.T) {
			client := server(t, wire.Limits{}, func(c net.Conn) {
				readRequest(c)
				io.WriteString(c, head)
			})
			answer, err := client.Do(t.Context(), put(1000))
			_, ok := errors.AsType[*wire.StoreError](err)
			if err == nil || ok != refused || ok && answer.Status < 400 {
				t.Errorf("%q: %v", head, err)
			}
		})
	}
}
