package wire_test

import (
	"context"
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

// A refusal below 500 that overtakes the body leaves the connection to the
// transport, which goes on sending for a while: not from the source.
func TestEarlyRefusalEndsTheBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := server(t, wire.Limits{}, func(c net.Conn) {
			// All the headers are in the first read, and some of the body.
			c.Read(make([]byte, 4096))
			io.WriteString(c, "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
			hold(c)
		})
		var over atomic.Bool
		r := put(1 << 20)
		r.Body = readerFunc(func(p []byte) (int, error) {
			if over.Load() {
				t.Error("the body is read after the attempt")
			}
			time.Sleep(time.Millisecond)
			return len(p), nil
		})
		answer, err := client.Do(t.Context(), r)
		over.Store(true)
		if err == nil || answer.Status != http.StatusForbidden {
			t.Errorf("status %d, err = %v", answer.Status, err)
		}
		time.Sleep(time.Minute)
	})
}

// A source that is slow to return is waited for, whatever ended the attempt: it
// is the caller's again when Do returns.
func TestDoWaitsForTheSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var reading atomic.Bool
		r := put(1000)
		r.Body = readerFunc(func(p []byte) (int, error) {
			reading.Store(true)
			defer reading.Store(false)
			time.Sleep(5 * time.Second)
			return len(p), nil
		})
		answer, err := server(t, wire.Limits{}, hold).Do(ctx, r)
		if reading.Load() || answer.Elapsed != 5*time.Second || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after %v, in a read: %t, err = %v", answer.Elapsed, reading.Load(), err)
		}
		time.Sleep(time.Minute)
	})
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
