package wire_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/chunkup/chunkup/multipart/wire"
)

// tlsServer offers HTTP/2 as well, as most stores do.
func tlsServer(t *testing.T, handler http.HandlerFunc) (*httptest.Server, *wire.Client) {
	s := httptest.NewUnstartedServer(handler)
	s.EnableHTTP2 = true
	s.StartTLS()
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	client := wire.NewClient(wire.Options{TLS: &tls.Config{RootCAs: roots}})
	t.Cleanup(func() {
		client.CloseIdle()
		s.Close()
	})
	return s, client
}

// The wire shows HTTP/1.1, with nothing in it that was not asked for.
func TestOnTheWire(t *testing.T) {
	var seen []*http.Request
	s, client := tlsServer(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		seen = append(seen, r)
	})
	for range 3 {
		_, err := client.Do(t.Context(), wire.Request{Method: "PUT", URL: s.URL + "/b/k?partNumber=1",
			Header: http.Header{"X-Amz-Meta-A": {"b"}}, Body: bytes.NewReader(make([]byte, 100_000)), Size: 100_000})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range seen {
		if r.ProtoMajor != 1 || r.ContentLength != 100_000 || r.RequestURI != "/b/k?partNumber=1" {
			t.Errorf("%s %s, %d bytes", r.Proto, r.RequestURI, r.ContentLength)
		}
		for name := range r.Header {
			if !strings.Contains(" X-Amz-Meta-A User-Agent Content-Length ", " "+name+" ") {
				t.Errorf("header %s: %s", name, r.Header.Get(name))
			}
		}
		if r.UserAgent() != "chunkup" {
			t.Errorf("user agent %q", r.UserAgent())
		}
	}
}

// A connection that is dialed anew does not go through a whole handshake again.
func TestSessionIsResumed(t *testing.T) {
	var resumed []bool
	s, client := tlsServer(t, func(w http.ResponseWriter, r *http.Request) {
		resumed = append(resumed, r.TLS.DidResume)
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	for range 2 {
		client.Do(t.Context(), wire.Request{Method: "PUT", URL: s.URL})
	}
	if len(resumed) != 2 || resumed[0] || !resumed[1] {
		t.Errorf("resumed: %t", resumed)
	}
}

// A source that has more than it said does not put more on the wire.
func TestNoMoreThanSize(t *testing.T) {
	got := make(chan int64, 1)
	s, client := tlsServer(t, func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		got <- n
	})
	answer, err := client.Do(t.Context(), wire.Request{Method: "PUT", URL: s.URL, Body: strings.NewReader("0123456789"), Size: 4})
	if n := <-got; err != nil || n != 4 || answer.Sent != 4 {
		t.Errorf("%d bytes arrived, %d sent, err = %v", n, answer.Sent, err)
	}
}

func TestUnknownAuthority(t *testing.T) {
	s, _ := tlsServer(t, func(http.ResponseWriter, *http.Request) {})
	client := wire.NewClient(wire.Options{})
	_, err := client.Do(t.Context(), wire.Request{Method: "PUT", URL: s.URL})
	if c := wire.Classify(wire.Outcome{Op: wire.PutPart, Err: err}); err == nil || c != wire.Fatal {
		t.Errorf("%v is %v", err, c)
	}
}

// A URL is a secret, also one that cannot be used.
func TestMalformedRequestKeepsItsSecret(t *testing.T) {
	client := wire.NewClient(wire.Options{})
	for _, r := range []wire.Request{{Method: "PUT", URL: "http://[::1?X-Amz-Signature=secret"}, {Method: "P T", URL: "http://h/?X-Amz-Signature=secret"}} {
		if _, err := client.Do(t.Context(), r); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("err = %v", err)
		}
	}
	_, err := client.Do(t.Context(), wire.Request{Method: "PUT", URL: "http://127.0.0.1:1/?X-Amz-Signature=secret"})
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("err = %v", err)
	}
}

// The environment says which proxy to use; it is read once a process.
func TestProxy(t *testing.T) {
	const behind = "CHUNKUP_TEST_BEHIND_PROXY"
	request := wire.Request{Method: "PUT", URL: "http://store.test/b/k", Body: strings.NewReader("0123"), Size: 4}
	if os.Getenv(behind) != "" {
		if answer, err := wire.NewClient(wire.Options{}).Do(t.Context(), request); err != nil || answer.Sent != 4 {
			t.Errorf("%d bytes sent, err = %v", answer.Sent, err)
		}
		return
	}
	asked := make(chan string, 1)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		asked <- r.RequestURI
	}))
	defer proxy.Close()
	again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProxy$")
	again.Env = append(os.Environ(), behind+"=1", "HTTP_PROXY="+proxy.URL, "http_proxy=", "NO_PROXY=", "no_proxy=")
	if out, err := again.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got := <-asked; got != request.URL {
		t.Errorf("the proxy was asked for %s", got)
	}
}
