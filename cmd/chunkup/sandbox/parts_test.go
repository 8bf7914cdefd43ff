package sandbox

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// A part is a PUT to a presigned URL that carries its CRC64NVME as a signed
// header; the answer repeats it.
func TestPartAnswer(t *testing.T) {
	r := start(t, Options{})
	body := pattern(5*mib + 3)
	a := r.do(r.presigned("dir/big", r.create("dir/big", nil), 1, body))
	if a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	for header, want := range map[string]string{
		"X-Amz-Checksum-Crc64nvme": crc64(body),
		"Server":                   "VERSITYGW",
	} {
		if got := a.Header.Get(header); got != want {
			t.Errorf("%s = %q, want %q", header, got, want)
		}
	}
	if etag := a.Header.Get("ETag"); len(etag) != 34 || etag[0] != '"' {
		t.Errorf("ETag = %s, want a quoted MD5", etag)
	}
	if a.Header.Get("X-Amz-Request-Id") == "" || a.Header.Get("X-Amz-Id-2") == "" {
		t.Error("no request id")
	}
	if date, err := http.ParseTime(a.Header.Get("Date")); err != nil || time.Since(date).Abs() > 5*time.Second {
		t.Errorf("Date = %q", a.Header.Get("Date"))
	}
}

// refusal is a request that must fail, and how.
type refusal struct {
	req           *http.Request
	change        func(*http.Request) // nil: it is sent as it is
	status        int
	code, message string // what the message contains
}

func (r rig) refuses(t *testing.T, c refusal) {
	r.t = t
	if c.change != nil {
		c.change(c.req)
	}
	a := r.do(c.req)
	if a.Status != c.status || a.Code != c.code || !strings.Contains(a.Message, c.message) {
		t.Errorf("%d %s %q, want %d %s %q", a.Status, a.Code, a.Message, c.status, c.code, c.message)
	}
	if a.Header.Get("X-Amz-Request-Id") == "" || a.Header.Get("Date") == "" || a.Header.Get("Server") != "VERSITYGW" {
		t.Errorf("headers of a refusal: %v", a.Header)
	}
}

func TestPartRefusals(t *testing.T) {
	r := start(t, Options{})
	const key = "k"
	id := r.create(key, nil)
	body := pattern(2 * mib)
	now := time.Now()
	for name, c := range map[string]refusal{
		"other bytes": {req: r.presigned(key, id, 1, body), change: func(q *http.Request) {
			q.Body = io.NopCloser(bytes.NewReader(append(bytes.Clone(body[1:]), 0)))
		}, status: 400, code: "BadDigest", message: "The CRC64NVME you specified did not match the calculated checksum."},
		"another checksum than was signed": {req: r.presigned(key, id, 1, body), change: func(q *http.Request) {
			q.Header.Set("X-Amz-Checksum-Crc64nvme", crc64(nil))
		}, status: 403, code: "SignatureDoesNotMatch"},
		"the signed checksum left out": {req: r.presigned(key, id, 1, body), change: func(q *http.Request) {
			q.Header.Del("X-Amz-Checksum-Crc64nvme")
		}, status: 403, code: "SignatureDoesNotMatch"},
		"a checksum that was not signed": {req: r.signed(key, id, "us-east-1", now, "900", body), change: func(q *http.Request) {
			q.Header.Set("X-Amz-Checksum-Crc64nvme", crc64(body))
		}, status: 403, code: "AccessDenied", message: "There were headers present in the request which were not signed"},
		"a changed part number": {req: r.presigned(key, id, 1, body), change: func(q *http.Request) {
			q.URL.RawQuery = strings.Replace(q.URL.RawQuery, "partNumber=1", "partNumber=2", 1)
		}, status: 403, code: "SignatureDoesNotMatch"},
		"no signature": {req: r.presigned(key, id, 1, body), change: func(q *http.Request) {
			q.URL.RawQuery = "partNumber=1&uploadId=" + id
		}, status: 403, code: "AccessDenied", message: "Access Denied"},
		"expired": {req: r.signed(key, id, "us-east-1", now.Add(-time.Minute), "10", body),
			status: 403, code: "AccessDenied", message: "Request has expired"},
		"another region": {req: r.signed(key, id, "eu-west-1", now, "900", body),
			status: 400, code: "AuthorizationQueryParametersError"},
		"part 10001": {req: r.presigned(key, id, 10_001, body), status: 400, code: "InvalidArgument",
			message: "Part number must be an integer between 1 and 10000, inclusive"},
		"part 0":           {req: r.presigned(key, id, 0, body), status: 400, code: "InvalidArgument"},
		"no such upload":   {req: r.presigned(key, "ffffffff-0000-4000-8000-000000000000", 1, body), status: 404, code: "NoSuchUpload"},
		"another's upload": {req: r.presigned("other", id, 1, body), status: 404, code: "NoSuchUpload"},
		"no length": {req: r.signed(key, id, "us-east-1", now, "900", nil), change: func(q *http.Request) {
			q.Body, q.ContentLength = io.NopCloser(bytes.NewReader(body[:10])), -1
		}, status: 411, code: "MissingContentLength"},
	} {
		t.Run(name, func(t *testing.T) {
			r.refuses(t, c)
		})
	}
	out, err := r.s3.ListParts(t.Context(), &s3.ListPartsInput{Bucket: aws.String("demo"), Key: aws.String(key), UploadId: &id})
	if err != nil || len(out.Parts) != 0 {
		t.Errorf("parts after refusals: %v, %v", out.Parts, err)
	}
}

// The gateway alone resets two thirds of these, with Expect and without.
func TestRefusalOfALargePartArrives(t *testing.T) {
	r := start(t, Options{})
	body := pattern(4 * mib)
	id := r.create("k", nil)
	for _, expect := range []string{"", "100-continue"} {
		for range 12 {
			req := r.signed("k", id, "us-east-1", time.Now().Add(-time.Hour), "60", body)
			if expect != "" {
				req.Header.Set("Expect", expect)
			}
			if a := r.do(req); a.Status != http.StatusForbidden || a.Code != "AccessDenied" {
				t.Fatalf("Expect %q: %d %s", expect, a.Status, a.Code)
			}
		}
	}
}

// Every part of an upload goes over one connection, refused ones included.
func TestConnectionIsKept(t *testing.T) {
	r := start(t, Options{})
	body := pattern(mib)
	id := r.create("k", nil)
	for i := range int32(8) {
		req := r.presigned("k", id, i+1, body)
		want := http.StatusOK
		if i%2 == 1 {
			req.Header.Set("X-Amz-Checksum-Crc64nvme", crc64(nil))
			want = http.StatusForbidden
		}
		var reused bool
		trace := httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) { reused = c.Reused }}
		if a := r.do(req.WithContext(httptrace.WithClientTrace(t.Context(), &trace))); a.Status != want {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		if !reused { // create has opened it
			t.Errorf("request %d opened a connection", i)
		}
	}
}

func TestExpectContinueIsAnswered(t *testing.T) {
	r := start(t, Options{})
	body := pattern(mib)
	req := r.presigned("k", r.create("k", nil), 1, body)
	req.Header.Set("Expect", "100-continue")
	var got bool
	trace := httptrace.ClientTrace{Got100Continue: func() { got = true }}
	a := r.do(req.WithContext(httptrace.WithClientTrace(t.Context(), &trace)))
	if a.Status != http.StatusOK || !got {
		t.Errorf("status %d, 100 Continue %v", a.Status, got)
	}
}

func TestListPartsTellsWhatArrived(t *testing.T) {
	r := start(t, Options{})
	id := r.create("k", nil)
	first, last := pattern(5*mib), pattern(11)
	one, end := r.part("k", id, 1, first), r.part("k", id, maxParts, last)
	r.part("k", id, 2, last)
	two := r.part("k", id, 2, first) // the later one counts
	out, err := r.s3.ListParts(t.Context(), &s3.ListPartsInput{Bucket: aws.String("demo"), Key: aws.String("k"), UploadId: &id})
	if err != nil {
		t.Fatal(err)
	}
	if out.ChecksumAlgorithm != "CRC64NVME" || out.ChecksumType != "FULL_OBJECT" || *out.Bucket != "demo" || len(out.Parts) != 3 {
		t.Fatalf("%s %s %s, %d parts", out.ChecksumAlgorithm, out.ChecksumType, *out.Bucket, len(out.Parts))
	}
	for i, want := range []struct {
		number int32
		etag   string
		body   []byte
	}{{1, *one.ETag, first}, {2, *two.ETag, first}, {maxParts, *end.ETag, last}} {
		p := out.Parts[i]
		if *p.PartNumber != want.number || *p.ETag != want.etag || *p.Size != int64(len(want.body)) || aws.ToString(p.ChecksumCRC64NVME) != crc64(want.body) {
			t.Errorf("part %d: %s %d %s", *p.PartNumber, *p.ETag, *p.Size, aws.ToString(p.ChecksumCRC64NVME))
		}
	}
}

func TestSignatureIsChecked(t *testing.T) {
	r := start(t, Options{})
	for name, c := range map[string]struct{ access, secret, code string }{
		"wrong secret": {r.AccessKey(), "wrong", "SignatureDoesNotMatch"},
		"unknown key":  {"someone", r.SecretKey(), "InvalidAccessKeyId"},
	} {
		_, err := client(r.Server, c.access, c.secret, r.http).ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: aws.String("demo")})
		if status, code := failure(err); status != http.StatusForbidden || code != c.code {
			t.Errorf("%s: %d %s, want 403 %s", name, status, code, c.code)
		}
	}
}

// What is left of a body without a length would be taken for the next request.
func TestChunkedBodyEndsTheConnection(t *testing.T) {
	r := start(t, Options{})
	req := r.signed("k", r.create("k", nil), "us-east-1", time.Now(), "900", nil)
	req.Body, req.ContentLength = io.NopCloser(strings.NewReader("x")), -1
	resp, err := r.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusLengthRequired || !resp.Close {
		t.Errorf("%s, closed %v", resp.Status, resp.Close)
	}
}
