package wire_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chunkup/chunkup/multipart/wire"
)

// A download may be as large as was said, and takes the time of its bytes.
func TestDownload(t *testing.T) {
	const size = 40 << 20 // larger than any control call's
	for _, tc := range []struct {
		length int
		rate   int // bytes a second
		ok     bool
	}{{size, 250_000, true}, {size, 150_000, false}, {size + 1, 1 << 30, false}, {size - 1, 1 << 30, true}} {
		synctest.Test(t, func(t *testing.T) {
			client := server(t, wire.Limits{}, func(c net.Conn) {
				readRequest(c)
				fmt.Fprintf(c, "HTTP/1.1 206 Partial Content\r\nContent-Length: %d\r\n\r\n", tc.length)
				for left := tc.length; left > 0; left -= tc.rate {
					time.Sleep(time.Second)
					if _, err := c.Write(make([]byte, min(left, tc.rate))); err != nil {
						return
					}
				}
			})
			req, _ := http.NewRequestWithContext(t.Context(), "GET", "http://store/b/k", nil)
			resp, err := client.Download(size).Do(req)
			if (err == nil) != tc.ok {
				t.Fatalf("%d bytes at %d/s: %v", tc.length, tc.rate, err)
			}
			if err != nil {
				return
			}
			for range 2 { // what was read can be read again
				if n, err := io.Copy(io.Discard, resp.Body); n != int64(tc.length) || err != nil {
					t.Errorf("%d bytes, %v", n, err)
				}
				resp.Body.(io.Seeker).Seek(0, io.SeekStart)
			}
		})
	}
}

// A refusal of a small range may be longer than the range.
func TestDownloadRefused(t *testing.T) {
	client := server(t, wire.Limits{}, func(c net.Conn) {
		readRequest(c)
		io.WriteString(c, "HTTP/1.1 412 Precondition Failed\r\nContent-Length: 1000\r\n\r\n"+strings.Repeat("x", 1000))
		hold(c)
	})
	req, _ := http.NewRequestWithContext(t.Context(), "GET", "http://store/b/k", nil)
	resp, err := client.Download(1).Do(req)
	if err != nil || resp.StatusCode != 412 || resp.ContentLength != 1000 {
		t.Errorf("%+v, %v", resp, err)
	}
}
