package wire_test

import (
	"io"
	"net"
	"testing"

	"github.com/chunkup/chunkup/multipart/wire"
)

// Who signs a request leaves out the port that the scheme implies: so does the Host
// header, whatever the URL says.
func TestHostLeavesOutTheImpliedPort(t *testing.T) {
	for url, want := range map[string]string{
		"http://store.test:80/b/k":   "store.test",
		"http://store.test/b/k":      "store.test",
		"http://store.test:443/b/k":  "store.test:443",
		"http://store.test:8080/b/k": "store.test:8080",
		"http://[::1]:80/b/k":        "[::1]",
		"http://[::80]/b/k":          "[::80]",
	} {
		var got string
		client := server(t, wire.Limits{}, func(c net.Conn) {
			if req := readRequest(c); req != nil {
				got = req.Host
				io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
			}
		})
		r := put(1)
		r.URL = url
		if _, err := client.Do(t.Context(), r); err != nil || got != want {
			t.Errorf("%s: Host %q, want %q; %v", url, got, want, err)
		}
	}
}
