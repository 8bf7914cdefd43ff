package mint

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign"
)

// companion answers in the shapes of @uppy/companion 6.2.2
// (packages/@uppy/companion/src/server/controllers/s3.ts).
func companion(answers map[string]*http.Response) *fakeService {
	return &fakeService{answer: func(c fakeCall) (*http.Response, error) {
		if r := answers[c.Method+" "+c.URL.EscapedPath()]; r != nil {
			return r, nil
		}
		return reply(404, `{"message":"Not Found"}`), nil
	}}
}

const companionURL = "https://bucket.s3.eu-west-1.amazonaws.com/abc-key?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20261130%2Feu-west-1%2Fs3%2Faws4_request" +
	"&X-Amz-Date=20261130T120000Z&X-Amz-Expires=800&X-Amz-Signature=0123456789abcdef&X-Amz-SignedHeaders=host&partNumber=7&uploadId=abc&x-id=UploadPart"

// An upload through a Companion that knows nothing of what we add.
func TestClientPlain(t *testing.T) {
	s := companion(map[string]*http.Response{
		"POST /s3/multipart":                    reply(200, `{"key":"abc-key","uploadId":"up/load","bucket":"its-bucket"}`),
		"GET /s3/multipart/up%2Fload/7":         reply(200, `{"url":"`+companionURL+`","expires":800}`),
		"GET /s3/multipart/up%2Fload":           reply(200, `[{"PartNumber":1,"LastModified":"2026-11-30T12:00:00.000Z","ETag":"\"e1\"","Size":5242880},{"PartNumber":2,"ETag":"\"e2\"","Size":3}]`),
		"POST /s3/multipart/up%2Fload/complete": reply(200, `{"location":"https://bucket.s3.amazonaws.com/abc-key","key":"abc-key","bucket":"its-bucket"}`),
		"DELETE /s3/multipart/up%2Fload":        reply(200, `{}`),
	})
	c := dialFake(t, s)
	ctx := t.Context()
	i := someIntent
	i.Header = http.Header{"Content-Type": {"text/plain"}, "X-Amz-Meta-Chunkup-Token": {"T"}, "X-Amz-Meta-Owner": {"me"}}
	u, err := c.Create(ctx, i)
	if want := (multipart.Upload{Bucket: "its-bucket", Key: "abc-key", ID: "up/load"}); err != nil || u != want {
		t.Errorf("Create: %v, %v", u, err)
	}
	p := somePart
	p.Key, p.ChecksumHeader, p.Checksum = u.Key, "Content-Md5", "1B2M2Y8AsgTpgAmY7PhCfg=="
	r, err := c.Presign(ctx, p)
	want := presign.Request{Method: "PUT", URL: companionURL, Header: http.Header{"Content-Md5": {p.Checksum}}}
	if err != nil || cmp.Diff(want, r, cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "NotAfter" }, cmp.Ignore())) != "" {
		t.Errorf("Presign: %+v, %v", r, err)
	}
	if want := time.Date(2026, 11, 30, 12, 13, 20, 0, time.UTC); !r.NotAfter.Equal(want) {
		t.Errorf("NotAfter %v, want %v", r.NotAfter, want)
	}
	parts, err := c.List(ctx, u)
	if diff := cmp.Diff([]multipart.Receipt{{Number: 1, Size: 5 << 20, ETag: `"e1"`}, {Number: 2, Size: 3, ETag: `"e2"`}}, parts,
		cmp.Comparer(func(a, b multipart.Receipt) bool { return a == b })); err != nil || diff != "" {
		t.Errorf("List: %v\n%s", err, diff)
	}
	if info, err := c.Complete(ctx, u, multipart.Completion{Parts: parts, Size: 5<<20 + 3}); err != nil || info.ETag != "" {
		t.Errorf("Complete: %v, %v", info, err)
	}
	if err := c.Abort(ctx, u); err != nil {
		t.Errorf("Abort: %v", err)
	}
	var got []string
	for _, call := range s.since() {
		if call.Header.Get("Idempotency-Key") != "" {
			t.Errorf("%s has a key that nobody heeds", call.URL)
		}
		got = append(got, call.Method+" "+call.URL.RequestURI()+" "+call.body)
	}
	// Nothing goes out that Companion does not read.
	if diff := cmp.Diff([]string{
		`POST /s3/multipart {"filename":"key","type":"text/plain","metadata":{"chunkup-token":"T","owner":"me"}}`,
		`GET /s3/multipart/up%2Fload/7?key=abc-key `,
		`GET /s3/multipart/up%2Fload?key=abc-key `,
		`POST /s3/multipart/up%2Fload/complete?key=abc-key {"parts":[{"PartNumber":1,"ETag":"\"e1\""},{"PartNumber":2,"ETag":"\"e2\""}]}`,
		`DELETE /s3/multipart/up%2Fload?key=abc-key `,
	}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// What a plain Companion cannot do is refused here, in a sentence, for good, and before
// it is asked.
func TestClientPlainCannot(t *testing.T) {
	s := companion(nil)
	c := dialFake(t, s)
	for want, call := range map[string]func(context.Context) error{
		"sets only the content type and metadata of an object, not Cache-Control": func(ctx context.Context) error {
			_, err := c.Create(ctx, multipart.Intent{Key: "k", Header: http.Header{"Cache-Control": {"no-store"}}})
			return err
		},
		"does not say what is under a key": func(ctx context.Context) error { _, err := c.Head(ctx, "bucket", "k"); return err },
		"authorises only parts":            func(ctx context.Context) error { _, err := c.Presign(ctx, presign.Part{Key: "k"}); return err },
		"may replace the object": func(ctx context.Context) error {
			_, err := c.Complete(ctx, someUpload, multipart.Completion{CreateOnly: true})
			return err
		},
	} {
		err := call(t.Context())
		e, ok := errors.AsType[*wire.StoreError](err)
		if _, service := errors.AsType[*multipart.ServiceError](err); !service || !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
			continue
		}
		if class := wire.Classify(wire.Outcome{Op: wire.Create, Status: e.Status, Code: e.Code}); class != wire.Fatal {
			t.Errorf("%v is %v", err, class)
		}
	}
	if n := len(s.since()); n != 0 {
		t.Errorf("%d calls", n)
	}
}

// The refusals of a Companion: its own, those of the SDK in development, and what it
// says in production.
func TestClientPlainRefusals(t *testing.T) {
	for name, tt := range map[string]struct {
		status int
		body   string
		store  *wire.StoreError // what the store has said; nil: it was the service
		says   string
	}{
		"validation": {400, `{"error":"s3: the \"filename\" field is required and must be a non-empty string"}`, nil, `status 400 Bad Request: s3: the "filename" field is required`},
		"no store":   {400, `{"error":"This Companion server does not support uploading to S3"}`, nil, "does not support uploading to S3"},
		"production": {500, `{"message":"Something went wrong","requestId":"9f2b"}`, nil, "status 500 Internal Server Error: Something went wrong"},
		"unknown":    {404, `{"message":"Not Found"}`, nil, "status 404 Not Found: Not Found"},
		"Express":    {500, `<!DOCTYPE html><html><body><pre>Error: boom<br> at x.js</pre></body></html>`, nil, "Error: boom"},
		"development": {500, `{"message":"The specified upload does not exist.","error":{"name":"NoSuchUpload","$fault":"client","$metadata":{"httpStatusCode":404,"requestId":"R9","attempts":1,"totalRetryDelay":0},"Code":"NoSuchUpload","UploadId":"x"},"requestId":"9f2b"}`,
			&wire.StoreError{Status: 404, Code: "NoSuchUpload", Message: "The specified upload does not exist.", RequestID: "R9"}, "NoSuchUpload"},
	} {
		t.Run(name, func(t *testing.T) {
			c := dialFake(t, companion(map[string]*http.Response{"GET /s3/multipart/up%2Fload": reply(tt.status, tt.body)}), func(o *ClientOptions) { o.Retries = -1 })
			_, err := c.List(t.Context(), someUpload)
			got, ok := errors.AsType[*wire.StoreError](err)
			if !ok || !strings.Contains(err.Error(), tt.says) {
				t.Fatalf("%v, want %q", err, tt.says)
			}
			if _, service := errors.AsType[*multipart.ServiceError](err); service != (tt.store == nil) {
				t.Errorf("the service's: %v: %v", service, err)
			}
			if tt.store != nil && cmp.Diff(tt.store, got) != "" {
				t.Errorf("-want +got:\n%s", cmp.Diff(tt.store, got))
			}
			if tt.store == nil && got.Code != "" {
				t.Errorf("a 404 of a plain Companion's is taken for %s", got.Code)
			}
		})
	}
}

// A Companion that runs for production answers 500 for an upload that is not there:
// after an abort it is believed, and before one it is not.
func TestClientPlainAborted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lists := 0
		s := &fakeService{answer: func(c fakeCall) (*http.Response, error) {
			switch c.Method + " " + c.URL.EscapedPath() {
			case "DELETE /s3/multipart/abc":
				return reply(200, `{}`), nil
			case "GET /s3/multipart/abc":
				lists++
				return reply(500, `{"message":"Internal Server Error"}`), nil
			}
			return reply(404, `{"message":"Not Found"}`), nil
		}}
		c := dialFake(t, s)
		u := multipart.Upload{Bucket: "b", Key: "k", ID: "abc"}
		if _, err := c.List(t.Context(), u); err == nil || lists != 5 {
			t.Errorf("before: %v after %d calls", err, lists)
		}
		if err := c.Abort(t.Context(), u); err != nil {
			t.Fatal(err)
		}
		lists = 0
		_, err := c.List(t.Context(), u)
		if e, ok := errors.AsType[*wire.StoreError](err); !ok || e.Status != 404 || e.Code != "NoSuchUpload" || lists != 1 {
			t.Errorf("after: %v after %d calls", err, lists)
		}
	})
}

// A service that knows no call for many parts is asked for one at a time.
func TestClientPlainBatch(t *testing.T) {
	for _, status := range []int{400, 404, 405, 501} {
		synctest.Test(t, func(t *testing.T) {
			s := &fakeService{answer: slowly(time.Second, func(c fakeCall) (*http.Response, error) {
				if strings.HasSuffix(c.URL.Path, "/batch") {
					return reply(status, `{"error":"s3: the part number must be a number between 1 and 10000."}`), nil
				}
				return reply(200, `{"url":"https://store/`+c.URL.Path+`","expires":300}`), nil
			})}
			c := dialFake(t, s)
			for round, want := range []int{1 + 1 + 9, 10} {
				before := len(s.since())
				var wg sync.WaitGroup
				for n := range 10 {
					wg.Go(func() {
						if _, err := c.Presign(t.Context(), partNumbered(n+1)); err != nil {
							t.Error(err)
						}
					})
				}
				wg.Wait()
				if got := len(s.since()) - before; got != want {
					t.Errorf("status %d, round %d: %d calls, want %d", status, round, got, want)
				}
			}
		})
	}
	// Ours has the call, so a refusal is one.
	synctest.Test(t, func(t *testing.T) {
		s := &fakeService{about: fakeAbout, answer: slowly(time.Second, func(fakeCall) (*http.Response, error) { return reply(404, `{"error":"no such upload"}`), nil })}
		c := dialFake(t, s)
		var wg sync.WaitGroup
		for n := range 10 {
			wg.Go(func() {
				_, err := c.Presign(t.Context(), partNumbered(n+1))
				if _, ok := errors.AsType[*multipart.ServiceError](err); !ok {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if got := len(s.since()); got != 2 {
			t.Errorf("%d calls", got)
		}
	})
}
