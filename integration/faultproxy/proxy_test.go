package faultproxy

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chunkup/chunkup/integration/check"
)

func TestRequestPassesAsItIs(t *testing.T) {
	type seen struct {
		method, uri, host string
		header            http.Header
		length            int64
	}
	got := make(chan seen, 1)
	b := start(t, func(w http.ResponseWriter, r *http.Request) {
		got <- seen{r.Method, r.RequestURI, r.Host, r.Header.Clone(), r.ContentLength}
	})
	const uri = "/b//a+b%20c%2Fd?x=1;y=%zz&partNumber=1&uploadId=a%2Bb+c"
	conn := b.dial(t)
	fmt.Fprintf(conn, "PUT %s HTTP/1.1\r\nHost: s3.example.com:9000\r\nX-Amz-Date: d\r\nContent-Length: 2\r\nX-Amz-Meta-Two: a\r\nX-Amz-Meta-Two: b\r\n\r\nok", uri)
	want := seen{"PUT", uri, "s3.example.com:9000", http.Header{
		"X-Amz-Date": {"d"}, "Content-Length": {"2"}, "X-Amz-Meta-Two": {"a", "b"},
	}, 2}
	if diff := cmp.Diff(want, <-got, cmp.AllowUnexported(seen{})); diff != "" {
		t.Errorf("the upstream saw (-want +got):\n%s", diff)
	}
	q := b.last(t)
	host, _, _ := net.SplitHostPort(q.RemoteAddr)
	if q.RemoteAddr != conn.LocalAddr().String() || host != "127.0.0.1" || q.Conn != 1 {
		t.Errorf("recorded %s, connection %d; is %s", q.RemoteAddr, q.Conn, conn.LocalAddr())
	}
}

func TestBodiesStream(t *testing.T) {
	b := start(t, func(w http.ResponseWriter, r *http.Request) {
		if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Length", "3")
		for buf := make([]byte, 1); ; {
			if _, err := r.Body.Read(buf); err != nil {
				return
			}
			w.Write(buf)
			w.(http.Flusher).Flush()
		}
	})
	in, out := io.Pipe()
	defer out.Close()
	req, err := http.NewRequestWithContext(b.ctx, http.MethodPost, b.URL()+"/b/k", in)
	if err != nil {
		t.Fatal(err)
	}
	go fmt.Fprint(out, "a")
	resp, err := b.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	// Each byte comes back before the next one is sent.
	answer := bufio.NewReader(resp.Body)
	for _, next := range []string{"b", "c", ""} {
		if _, err := answer.ReadByte(); err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(out, next)
	}
}

func TestExpectIsTheUpstreamsToAnswer(t *testing.T) {
	const size = 1 << 20
	t.Run("continue", func(t *testing.T) {
		var s store
		ask, gate := make(chan struct{}), make(chan struct{})
		b := start(t, func(w http.ResponseWriter, r *http.Request) {
			close(ask)
			<-gate
			s.ServeHTTP(w, r)
		})
		conn := b.dial(t)
		fmt.Fprint(conn, "PUT /b/k HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
		<-ask
		conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		if n, err := conn.Read(make([]byte, 100)); n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("before the upstream answered came %d bytes, %v", n, err)
		}
		conn.SetReadDeadline(time.Now().Add(bound))
		close(gate)
		r := bufio.NewReader(conn)
		head := make([]byte, len("HTTP/1.1 100 Continue\r\n\r\n"))
		if _, err := io.ReadFull(r, head); string(head) != "HTTP/1.1 100 Continue\r\n\r\n" {
			t.Fatalf("got %q, %v", head, err)
		}
		fmt.Fprint(conn, "ok")
		resp, err := http.ReadResponse(r, nil)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Errorf("then came %v, %v", resp, err)
		}
		s.want(t, 2)
	})
	t.Run("refusal", func(t *testing.T) {
		b := start(t, func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", http.StatusForbidden) })
		resp, _, err := b.put(size, expect)
		if err != nil || resp.StatusCode != http.StatusForbidden {
			t.Fatalf("got %v, %v", resp, err)
		}
		if q := b.last(t); q.BodyBytes != 0 || !q.Expect || q.Status != http.StatusForbidden {
			t.Errorf("recorded %+v", q)
		}
	})
}

// The server sends the one that counts when the body is read.
func TestContinueIsSentOnce(t *testing.T) {
	w := httptest.NewRecorder()
	statusWriter{w, &record{}}.WriteHeader(http.StatusContinue)
	if w.Code != http.StatusOK { // a recorder's way to say: nothing yet
		t.Errorf("sent %d", w.Code)
	}
}

func TestUpstreamThatIsGoneIsAReset(t *testing.T) {
	check.Leaks(t)
	server := httptest.NewServer(&store{})
	server.Close()
	b := before(t, server.URL)
	resp, err := b.client.Get(b.URL() + "/b/k")
	if err == nil {
		resp.Body.Close()
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("got %v, %v", resp, err)
	}
	if q := b.last(t); !errors.Is(q.Err, syscall.ECONNREFUSED) || q.Status != 0 {
		t.Errorf("recorded %+v", q)
	}
}

func TestRequestsAreRecorded(t *testing.T) {
	var s store
	b := start(t, s.ServeHTTP, Rule{Op: Complete, Status: 500})
	began := time.Now()
	if _, _, err := b.put(5000); err != nil {
		t.Fatal(err)
	}
	resp, err := b.client.Post(b.URL()+"/b/dir/k?uploadId=u2", "", strings.NewReader("xml"))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	b.last(t)
	got := b.Requests()
	for i, q := range got {
		if q.Start.Before(began) || q.End.Before(q.Start) {
			t.Errorf("request %d from %v to %v", i, q.Start, q.End)
		}
		got[i].Start, got[i].End, got[i].RemoteAddr = time.Time{}, time.Time{}, ""
	}
	want := []Request{
		{Method: "PUT", Op: PutPart, Bucket: "b", Key: "k", Part: 1, UploadID: "u", Conn: 1, Status: 200, BodyBytes: 5000},
		{Method: "POST", Op: Complete, Bucket: "b", Key: "dir/k", UploadID: "u2", Conn: 1, Status: 500, BodyBytes: 3, Fault: &Rule{Op: Complete, Status: 500}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("recorded (-want +got):\n%s", diff)
	}
	if n := b.Count(PutPart); n != 1 {
		t.Errorf("%d parts", n)
	}
	if n := b.Count(Any); n != 2 {
		t.Errorf("%d requests", n)
	}
	b.Reset()
	if n := b.Count(Any); n != 0 {
		t.Errorf("%d requests after Reset", n)
	}
}

func TestLimitIsShared(t *testing.T) {
	var s store
	b := start(t, s.ServeHTTP)
	send := func() time.Duration {
		began := time.Now()
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if _, _, err := b.put(100_000); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		return time.Since(began)
	}
	b.Limit(400_000)
	if d := send(); d < 900*time.Millisecond || d > 5*time.Second {
		t.Errorf("400 kB at 400 kB/s took %v", d)
	}
	b.Limit(0)
	if d := send(); d > 800*time.Millisecond {
		t.Errorf("without limit: %v", d)
	}
	s.want(t, 100_000, 100_000, 100_000, 100_000, 100_000, 100_000, 100_000, 100_000)
}

func TestStartRefusesOtherUpstreams(t *testing.T) {
	for _, upstream := range []string{"", "127.0.0.1:9000", "https://h:1", "http://h:1/path", "http://", "::"} {
		if p, err := Start(upstream); err == nil {
			p.Close()
			t.Errorf("%q was accepted", upstream)
		}
	}
	if _, err := Start("::"); err != nil {
		if _, ok := errors.AsType[*url.Error](err); !ok {
			t.Errorf("not wrapped: %v", err)
		}
	}
}
