package integration

import (
	"context"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/chunkup/chunkup/integration/check"
	"github.com/chunkup/chunkup/integration/faultproxy"
	"github.com/chunkup/chunkup/integration/tcpproxy"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/s3store"
	"github.com/chunkup/chunkup/multipart/wire"
)

// R24, https://github.com/aws/aws-sdk-js/issues/281: S3 closes an idle upload with
// 400 RequestTimeout, and a client that takes every 400 for its own fault gives up.
// Here the store's code is looked at before the status.
func TestR24(t *testing.T) {
	src := check.Pattern(4 * 5 * mib)

	t.Run("RequestTimeout", func(t *testing.T) {
		l := newLab(t, wire.Limits{}, faultproxy.Rule{Op: faultproxy.PutPart, Part: 2, Status: 400, Code: "RequestTimeout", After: mib,
			Message: "Your socket connection to the server was not read from or written to within the timeout period."})
		_, err := l.upload(t, src)
		l.succeeds(t, src, err)
		attempts := l.attempts(2)
		anotherConnection(t, attempts)
		if attempts[0].Status != 400 || attempts[1].BodyBytes != 5*mib {
			t.Errorf("attempts %+v", attempts)
		}
		if told := tries(l.events, 2); len(told) != 2 || told[0].Code != "RequestTimeout" || told[0].Class != wire.Retry {
			t.Errorf("told %+v", told)
		}
	})

	for _, code := range []string{"InvalidArgument", "EntityTooLarge", "MalformedXML"} {
		t.Run(code, func(t *testing.T) {
			l := newLab(t, wire.Limits{}, faultproxy.Rule{Op: faultproxy.PutPart, Part: 2, Count: -1, Status: 400, Code: code, Message: "no"})
			_, err := l.upload(t, src)
			e := l.givesUp(t, err, wire.PutPart, "upload part 2", "status 400 "+code, "request id FAULT")
			if n := len(l.attempts(2)); n != 1 || e.Part != 2 || e.Attempts != 1 {
				t.Errorf("%d requests, part %d after %d attempts", n, e.Part, e.Attempts)
			}
		})
	}
}

// R36, https://github.com/minio/minio/issues/9452: a store that starts answers 503
// with a code of its own to the first request of an upload, and the upload fails
// outright. Here creating is tried again like everything else. An attempt whose
// answer was lost may leave an upload without parts behind; a warning says so.
func TestR36(t *testing.T) {
	src := check.Pattern(2 * 5 * mib)
	starting := faultproxy.Rule{Op: faultproxy.Create, Status: 503, Code: "XMinioServerNotInitialized",
		Message: "Server not initialized yet, please try again.", Header: http.Header{"Retry-After": {"120"}}}

	t.Run("an answer is lost", func(t *testing.T) {
		l := newLab(t, wire.Limits{}, starting, faultproxy.Rule{Op: faultproxy.Create, From: 2, Apply: true, Reset: true})
		l.options.RetryAfterCap = 200 * time.Millisecond
		res, err := l.upload(t, src)
		if err != nil {
			t.Fatal(err)
		}
		creates := slices.DeleteFunc(l.proxy.Requests(), func(r faultproxy.Request) bool { return r.Op != faultproxy.Create })
		if len(creates) != 3 || res.Requests != 6 {
			t.Errorf("%d creates in %d requests", len(creates), res.Requests)
		}
		if gap := creates[1].Start.Sub(creates[0].Start); gap < 200*time.Millisecond {
			t.Errorf("created again after %v", gap)
		}
		l.dropOrphan(t)
		l.succeeds(t, src, nil)
		warned := slices.ContainsFunc(l.events, func(e multipart.Event) bool {
			return e.Kind == multipart.Warned && strings.Contains(e.Err.Error(), "unfinished upload of s3://"+l.bucket+"/key")
		})
		if !warned {
			t.Error("nobody was told of the orphan")
		}
	})

	t.Run("the store comes up late", func(t *testing.T) {
		l := newLab(t, wire.Limits{}, starting)
		l.options.RetryAfterCap = 200 * time.Millisecond
		network := tcpproxy.Start(t, l.proxy.URL())
		network.Down()
		l.at(t, network.URL(), wire.Limits{})
		up := sync.OnceFunc(network.Up)
		_, err := l.uploadTelling(t.Context(), t, src, func(e multipart.Event) {
			if e.Kind == multipart.Attempted && e.Err != nil {
				up()
			}
		})
		l.succeeds(t, src, err)
		if r := l.requests(); r.creates != 2 || r.completes != 1 {
			t.Errorf("requests %v", r)
		}
		for _, e := range l.events {
			if e.Kind == multipart.Warned {
				t.Errorf("warned of %v: nothing can have been left", e.Err)
			}
		}
	})
}

// dropOrphan aborts the upload that a lost answer has left at the store. There is
// exactly one, and it is not the one that the parts went to.
func (l *lab) dropOrphan(t *testing.T) {
	t.Helper()
	client := l.server.Client()
	out, err := client.ListMultipartUploads(t.Context(), &s3.ListMultipartUploadsInput{Bucket: &l.bucket, Prefix: aws.String("key")})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Uploads) != 1 || *out.Uploads[0].UploadId == l.parts()[0].UploadID {
		t.Fatalf("open uploads: %+v", out.Uploads)
	}
	_, err = client.AbortMultipartUpload(t.Context(), &s3.AbortMultipartUploadInput{Bucket: &l.bucket, Key: aws.String("key"), UploadId: out.Uploads[0].UploadId})
	if err != nil {
		t.Fatal(err)
	}
}

// Login pages as portals send them. No XML parser gets to the end of the first.
const (
	page     = "<!DOCTYPE html>\n<html><head><title>Please log in</title><meta charset=utf-8></head><body>Hotel &nbsp; guests<br><form method=post></body>"
	tidyPage = "<html><body>Please log in</body></html>"
)

// R39, https://github.com/s3tools/s3cmd/pull/331: a proxy's HTML makes the client
// fail with an XML parse error before the status is looked at. Here the status
// decides, little of such a body is read, and a 200 is no success without what it
// must carry.
func TestR39(t *testing.T) {
	html := http.Header{"Content-Type": {"text/html"}}
	l := newLab(t, wire.Limits{},
		faultproxy.Rule{Op: faultproxy.Create, Status: 200, Body: page, Header: html},
		faultproxy.Rule{Op: faultproxy.Create, From: 2, Status: 200, Body: tidyPage, Header: html},
		faultproxy.Rule{Op: faultproxy.PutPart, Part: 2, From: 1, Status: 502, Body: page, Header: html},
		faultproxy.Rule{Op: faultproxy.PutPart, Part: 2, From: 2, Status: 503},
		faultproxy.Rule{Op: faultproxy.PutPart, Part: 2, From: 3, Status: 504, Body: page, Header: http.Header{"Content-Length": {"10000"}}},
		faultproxy.Rule{Op: faultproxy.PutPart, Part: 3, Status: 200, Body: page, Header: html},
		faultproxy.Rule{Op: faultproxy.PutPart, Part: 4, Status: 500, Body: strings.Repeat("<", 10*mib)},
	)
	var read readCounter
	l.wire = wire.NewClient(wire.Options{Dial: read.dial})
	t.Cleanup(l.wire.CloseIdle)
	profile, _ := s3store.ByName("minio")
	l.client = s3store.NewClient(aws.Config{Credentials: l.server.Client().Options().Credentials}, profile, l.proxy.URL(), l.wire)
	src := check.Pattern(4 * 5 * mib)
	_, err := l.upload(t, src)
	l.succeeds(t, src, err)

	if r := l.requests(); r.creates != 3 || r.parts != 4+3+1+1 || r.completes != 1 {
		t.Errorf("requests %v", r)
	}
	failed := 0
	for _, e := range l.events {
		if e.Kind != multipart.Attempted || e.Err == nil {
			continue
		}
		failed++
		text := e.Err.Error()
		if strings.Contains(strings.ToLower(text), "xml") || strings.Contains(text, "deserializ") {
			t.Errorf("%v %d: %v", e.Op, e.Part, e.Err)
		}
		if e.Status == 502 && !strings.Contains(text, "status 502 Bad Gateway: Please log in Hotel guests") {
			t.Errorf("%v", e.Err)
		}
		if len(text) > 400 {
			t.Errorf("%d bytes of error: %v", len(text), e.Err)
		}
	}
	if failed != 7 {
		t.Errorf("%d failed attempts were told, want 7", failed)
	}
	// Answers come with a head, and are read through a buffer of 4 KiB.
	t.Logf("at most %d bytes were read from one connection", read.most())
	if most := read.most(); most > 64*kib+8*kib {
		t.Errorf("%d bytes were read from one connection", most)
	}
}

// readCounter counts what is read from each connection. Its zero value is ready;
// it is safe for concurrent use.
type readCounter struct {
	mu    sync.Mutex
	conns []*countedConn
}

type countedConn struct {
	net.Conn
	read atomic.Int64
}

func (r *readCounter) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	counted := &countedConn{Conn: c}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conns = append(r.conns, counted)
	return counted, nil
}

func (c *countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.read.Add(int64(n))
	return n, err
}

func (r *readCounter) most() (most int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.conns {
		most = max(most, c.read.Load())
	}
	return most
}

// The status decides also when the body of a refusal is cut.
func TestR39CutBody(t *testing.T) {
	for status, requests := range map[int]int{403: 1, 413: 1, 504: 5} {
		l := newLab(t, wire.Limits{}, faultproxy.Rule{Op: faultproxy.PutPart, Part: 2, Count: -1, Status: status, Body: page,
			Header: http.Header{"Content-Length": {"10000"}}})
		l.endpoint.Lanes = 1
		_, err := l.upload(t, check.Pattern(2*5*mib))
		l.givesUp(t, err, wire.PutPart, "upload part 2", http.StatusText(status), "Please log in", "request id FAULT")
		if n := len(l.attempts(2)); n != requests {
			t.Errorf("%d: %d requests, want %d", status, n, requests)
		}
	}
}
