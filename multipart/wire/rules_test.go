package wire_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chunkup/chunkup/multipart/wire"
)

// No redirect is followed, neither one that would turn the request into a GET
// nor one that may repeat it since it has no body.
func TestNoRedirectIsFollowed(t *testing.T) {
	for status, r := range map[int]wire.Request{
		301: put(10), 302: put(10), 303: put(10), 308: {Method: "DELETE", URL: "http://store/b/k"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var requests atomic.Int32
			client := server(t, wire.Limits{}, func(c net.Conn) {
				readRequest(c)
				requests.Add(1)
				fmt.Fprintf(c, "HTTP/1.1 %d Elsewhere\r\nLocation: http://elsewhere/b/k\r\nContent-Length: 0\r\n\r\n", status)
			})
			_, err := client.Do(t.Context(), r)
			var s *wire.StoreError
			if !errors.As(err, &s) || s.Status != status || requests.Load() != 1 {
				t.Errorf("%d: %d requests, err = %v", status, requests.Load(), err)
			}
		})
	}
}

// A source that is slow to return is waited for even if the answer is there: it
// is the caller's again when Do returns. (A mutex guards the source, which fake time
// does not get along with.)
func TestDoWaitsForTheSource(t *testing.T) {
	inside, release := make(chan struct{}), make(chan struct{})
	reads := 0
	client := server(t, wire.Limits{}, func(c net.Conn) {
		http.ReadRequest(bufio.NewReader(c))
		<-inside
		io.WriteString(c, "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
		hold(c)
	})
	r := put(10)
	r.Body = readerFunc(func(p []byte) (int, error) {
		if reads++; reads == 1 {
			return 1, nil // the head leaves with it
		}
		close(inside)
		<-release
		return len(p), nil
	})
	done := make(chan error)
	go func() {
		_, err := client.Do(t.Context(), r)
		done <- err
	}()
	select {
	case err := <-done:
		t.Errorf("the source is still being read: %v", err)
		close(release)
	case <-time.After(100 * time.Millisecond):
		close(release)
		if err := <-done; err == nil {
			t.Error("no error")
		}
	}
}

// The slowest link that counts as one is a kilobyte a second.
func TestSlowestLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := put(100_000)
		r.Send = patient
		if answer, err := server(t, wire.Limits{}, slowServer(1000)).Do(t.Context(), r); err != nil {
			t.Errorf("after %v: %v", answer.Elapsed, err)
		}
	})
}
