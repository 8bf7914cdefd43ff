package faultproxy

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chunkup/chunkup/integration/check"
)

// bound is far more than anything here takes.
const bound = 10 * time.Second

// bed is a proxy, what is behind it, and a client.
type bed struct {
	*Proxy
	client *http.Client
	ctx    context.Context
}

// start serves upstream behind a proxy until the test ends. The leak check
// comes first, so that it is the last to look.
func start(t *testing.T, upstream http.HandlerFunc, rules ...Rule) bed {
	t.Helper()
	check.Leaks(t)
	server := httptest.NewServer(upstream)
	t.Cleanup(server.Close)
	return before(t, server.URL, rules...)
}

// before starts a proxy in front of a server that exists.
func before(t *testing.T, upstream string, rules ...Rule) bed {
	t.Helper()
	p, err := Start(upstream, rules...)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{ExpectContinueTimeout: bound, DisableCompression: true}
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	t.Cleanup(func() {
		cancel()
		transport.CloseIdleConnections()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return bed{p, &http.Client{Transport: transport}, ctx}
}

// put sends n bytes as one part and returns the answer with its body read.
func (b bed) put(n int64, edit ...func(*http.Request)) (*http.Response, string, error) {
	body := io.NewSectionReader(check.Pattern(n), 0, n)
	req, err := http.NewRequestWithContext(b.ctx, http.MethodPut, b.URL()+"/b/k?partNumber=1&uploadId=u", body)
	if err != nil {
		return nil, "", err
	}
	req.ContentLength = n
	for _, e := range edit {
		e(req)
	}
	resp, err := b.client.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp, string(text), err
}

// dial connects to the proxy for a client that does as it likes.
func (b bed) dial(t *testing.T) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(b.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(bound))
	return conn
}

func expect(r *http.Request) { r.Header.Set("Expect", "100-continue") }

// last is the newest request, when it has ended.
func (b bed) last(t *testing.T) Request {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if list := b.Requests(); len(list) > 0 && !list[len(list)-1].End.IsZero() {
			return list[len(list)-1]
		}
		select {
		case <-tick.C:
		case <-b.ctx.Done():
			t.Fatalf("the last request did not end: %+v", b.Requests())
		}
	}
}

// store is an upstream that keeps count of the bytes of each finished PUT.
type store struct {
	mu  sync.Mutex
	got []int64
}

func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n, err := io.Copy(io.Discard, r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = append(s.got, n)
	w.Header().Set("ETag", `"e"`)
	fmt.Fprint(w, "stored well")
}

func (s *store) want(t *testing.T, sizes ...int64) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if diff := cmp.Diff(sizes, s.got); diff != "" {
		t.Errorf("the upstream got (-want +got):\n%s", diff)
	}
}
