package sink

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// talk sends text over a connection of its own and returns what comes back until it
// is closed.
func talk(t *testing.T, s *Server, text string) string {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(s.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(answer)
}

// Bodies in chunks, two requests in one segment, and what is no HTTP.
func TestWire(t *testing.T) {
	s := start(t, Options{})
	const last = "HEAD /b/k HTTP/1.1\r\nConnection: close\r\n\r\n"
	for _, c := range []struct{ name, send, want string }{
		{"chunks", "PUT /b/k HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n2\r\n!!\r\n0\r\nX-Amz-Checksum-Crc32: x\r\n\r\n" + last, "Content-Length: 7\r\n"},
		{"aws-chunked", "PUT /b/k HTTP/1.1\r\nContent-Length: 10\r\nX-Amz-Decoded-Content-Length: 3\r\n\r\n0123456789" + last, "Content-Length: 3\r\n"},
		{"two at once", "PUT /b/k HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi" + last, "Content-Length: 2\r\n"},
		{"continue", "PUT /b/k HTTP/1.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\nhi" + last, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n"},
		{"checksum in the query", "PUT /b/k?x-amz-checksum-crc64nvme=a%2Bb%3D HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi" + last, "x-amz-checksum-crc64nvme: a+b=\r\n"},
		{"a URL for a target", "PUT http://b/b/k HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi" + last, "Content-Length: 2\r\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := talk(t, s, c.send); !strings.Contains(got, c.want) || strings.Contains(got, "404") {
				t.Errorf("answered %q", got)
			}
		})
	}
	for _, bad := range []string{"hello\r\n\r\n", "GET / HTTP/1.1\r\nbad\r\n\r\n", "PUT /b/k HTTP/1.1\r\nContent-Length: -1\r\n\r\n", "PUT /%zz HTTP/1.1\r\n\r\n", "PUT /b/k HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"} {
		if got := talk(t, s, bad); got != "" {
			t.Errorf("%q is answered: %q", bad, got)
		}
	}
}

// Bodies without a checksum are counted.
func TestUnchecked(t *testing.T) {
	s := start(t, Options{})
	const end = "Connection: close\r\nContent-Length: 1\r\n\r\nx"
	for _, c := range []struct {
		fields string
		want   int64
	}{
		{"", 1}, {"X-Amz-Content-Sha256: UNSIGNED-PAYLOAD\r\n", 1}, {"Content-MD5: x\r\n", 0}, {"x-amz-content-sha256: STREAMING-UNSIGNED-PAYLOAD-TRAILER\r\n", 0},
		{"x-amz-content-sha256: abcdef\r\n", 0}, {"x-amz-checksum-sha1: x\r\nX-Amz-Content-Sha256: UNSIGNED-PAYLOAD\r\n", 0}, {"x-amz-checksum-algorithm: SHA1\r\n", 1},
	} {
		s.Reset()
		talk(t, s, "PUT /b/k HTTP/1.1\r\n"+c.fields+end)
		if got := s.Counters().Unchecked; got != c.want {
			t.Errorf("%q: %d", c.fields, got)
		}
	}
}

// Closing does not wait for connections that say nothing.
func TestClose(t *testing.T) {
	s := start(t, Options{Freeze: 1})
	c, err := net.Dial("tcp", strings.TrimPrefix(s.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _ = io.WriteString(c, "PUT /b/k HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n")
	done := make(chan error, 1)
	go func() { done <- s.Close() }()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it goes on")
	}
}

// What TLS is not read here is read by crypto/tls; sessions are resumed on either way.
func TestTLS(t *testing.T) {
	s := start(t, Options{TLS: true})
	roots := client(t, s).Options().HTTPClient.(*http.Client).Transport.(*http.Transport).TLSClientConfig.RootCAs
	for name, c := range map[string]*tls.Config{
		"1.3": {}, "1.2": {MaxVersion: tls.VersionTLS12},
	} {
		t.Run(name, func(t *testing.T) {
			c.RootCAs, c.ClientSessionCache = roots, tls.NewLRUClientSessionCache(1)
			for try := range 2 {
				conn, err := tls.Dial("tcp", s.addr, c)
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				// Two records for a head, a body whose last record has the next request's head in it.
				const large = 100_000
				for _, text := range []string{"PUT /b/k HTTP/1.1\r\nContent-", "Length: 100001\r\n\r\n", strings.Repeat("x", large), "xHEAD /b/k HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n"} {
					if _, err := io.WriteString(conn, text); err != nil {
						t.Fatal(err)
					}
				}
				answer, err := io.ReadAll(conn)
				if err != nil || !strings.Contains(string(answer), "Content-Length: 100001\r\n") {
					t.Errorf("%q, %v", answer, err)
				}
				if resumed := conn.ConnectionState().DidResume; resumed != (try == 1) {
					t.Errorf("connection %d: resumed is %v", try+1, resumed)
				}
			}
		})
	}
}
