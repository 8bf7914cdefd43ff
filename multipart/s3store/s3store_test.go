package s3store_test

import (
	"context"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/s3store"
	"github.com/chunkup/chunkup/multipart/wire"
)

// recorder answers every request alike and remembers them.
type recorder struct {
	*httptest.Server
	wire *wire.Client

	mu       sync.Mutex
	requests []*http.Request
	bodies   []string
}

func record(t *testing.T, answer func(http.ResponseWriter, *http.Request)) *recorder {
	r := &recorder{wire: wire.NewClient(wire.Options{})}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		r.requests, r.bodies = append(r.requests, req), append(r.bodies, string(body))
		r.mu.Unlock()
		answer(w, req)
	}))
	t.Cleanup(func() {
		r.wire.CloseIdle()
		r.Close()
	})
	return r
}

func (r *recorder) store(t *testing.T, provider string) *s3store.Store {
	t.Helper()
	p, err := s3store.ByName(provider)
	if err != nil {
		t.Fatal(err)
	}
	p.PathStyle = true
	cfg := aws.Config{Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("AK", "SK", "")}
	return s3store.New(s3store.NewClient(cfg, p, r.URL, r.wire), p, r.wire)
}

func answerXML(status int, body string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Amz-Request-Id", "R1")
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

var upload = multipart.Upload{Bucket: "b", Key: "k", ID: "u"}

// What goes over the wire is pinned: an update of the SDK that changes it must
// be noticed here.
func TestCreateOnTheWire(t *testing.T) {
	r := record(t, answerXML(200, "<InitiateMultipartUploadResult><UploadId>U1</UploadId></InitiateMultipartUploadResult>"))
	for provider, want := range map[string][2]string{"aws": {"CRC64NVME", "FULL_OBJECT"}, "generic": {"", ""}} {
		s := r.store(t, provider)
		traits := s.Traits()
		u, err := s.Create(t.Context(), multipart.Intent{Bucket: "b", Key: "a b", Algorithm: traits.Algorithm, FullObject: traits.FullObject,
			Header: http.Header{"Content-Type": {"text/x"}, "X-Amz-Meta-A": {"1"}}})
		if err != nil || u != (multipart.Upload{Bucket: "b", Key: "a b", ID: "U1"}) {
			t.Fatalf("%+v, %v", u, err)
		}
		req := r.requests[len(r.requests)-1]
		if req.Method != "POST" || req.RequestURI != "/b/a%20b?uploads=" {
			t.Errorf("%s %s", req.Method, req.RequestURI)
		}
		got := [2]string{req.Header.Get("X-Amz-Checksum-Algorithm"), req.Header.Get("X-Amz-Checksum-Type")}
		if got != want || req.Header.Get("Content-Type") != "text/x" || req.Header.Get("X-Amz-Meta-A") != "1" {
			t.Errorf("%s: header %v", provider, req.Header)
		}
		if auth := req.Header.Get("Authorization"); !strings.Contains(auth, "x-amz-meta-a") || !strings.Contains(auth, "content-type") {
			t.Errorf("properties are not signed: %s", auth)
		}
	}
}

func TestCompleteOnTheWire(t *testing.T) {
	r := record(t, answerXML(200, `<CompleteMultipartUploadResult><ETag>"e-1"</ETag><ChecksumCRC64NVME>AAAAAAAAAAA=</ChecksumCRC64NVME><ChecksumType>FULL_OBJECT</ChecksumType></CompleteMultipartUploadResult>`))
	d, _ := chunker.ParseDigest(chunker.CRC64NVME, "AAAAAAAAAAA=")
	c := multipart.Completion{Size: 5, Algorithm: chunker.CRC64NVME, FullObject: true, Digest: d,
		Parts: []multipart.Receipt{{Number: 1, ETag: `"e"`, Digest: d}}}
	info, err := r.store(t, "aws").Complete(t.Context(), upload, c)
	if err != nil || info.ETag != `"e-1"` || info.Digest != d {
		t.Fatalf("%+v, %v", info, err)
	}
	req := r.requests[0]
	for name, want := range map[string]string{
		"X-Amz-Checksum-Crc64nvme": "AAAAAAAAAAA=", "X-Amz-Checksum-Type": "FULL_OBJECT", "X-Amz-Mp-Object-Size": "5",
	} {
		if got := req.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	var body struct {
		Part []struct{ ETag, PartNumber, ChecksumCRC64NVME string }
	}
	if err := xml.Unmarshal([]byte(r.bodies[0]), &body); err != nil || len(body.Part) != 1 ||
		body.Part[0].ETag != `"e"` || body.Part[0].PartNumber != "1" || body.Part[0].ChecksumCRC64NVME != "AAAAAAAAAAA=" {
		t.Errorf("%+v, %v\n%s", body, err, r.bodies[0])
	}
}

// A success that is empty, or a page of a proxy, has no ETag, and must not be
// taken for one that has.
func TestEmptySuccess(t *testing.T) {
	for _, body := range []string{"", "<html><body>Welcome! Please log in.</body></html>", "<CompleteMultipartUploadResult/>"} {
		r := record(t, answerXML(200, body))
		info, err := r.store(t, "minio").Complete(t.Context(), upload, multipart.Completion{})
		if err == nil && info.ETag != "" {
			t.Errorf("%q: %+v", body, info)
		}
	}
}

// A store may take ten times longer to complete an upload than to answer
// anything else.
func TestCompleteIsGivenTime(t *testing.T) {
	r := record(t, func(w http.ResponseWriter, req *http.Request) {
		select {
		case <-time.After(500 * time.Millisecond):
		case <-req.Context().Done():
		}
		answerXML(200, `<CompleteMultipartUploadResult><ETag>"e-1"</ETag></CompleteMultipartUploadResult>`)(w, req)
	})
	r.wire = wire.NewClient(wire.Options{Limits: wire.Limits{Answer: 100 * time.Millisecond}})
	s := r.store(t, "minio")
	if _, err := s.Complete(t.Context(), upload, multipart.Completion{}); err != nil {
		t.Error(err)
	}
	var d *wire.DeadlineError
	if _, err := s.Create(t.Context(), multipart.Intent{Bucket: "b", Key: "k"}); !errors.As(err, &d) || d.Phase != wire.PhaseAnswer {
		t.Errorf("err = %v", err)
	}
}

func TestHeadOnTheWire(t *testing.T) {
	r := record(t, func(w http.ResponseWriter, req *http.Request) {
		for k, v := range map[string]string{"Content-Length": "7", "ETag": `"e"`, "X-Amz-Version-Id": "v1", "X-Amz-Meta-Chunkup-Token": "t",
			"X-Amz-Checksum-Crc64nvme": "AAAAAAAAAAA=", "X-Amz-Checksum-Type": "FULL_OBJECT"} {
			w.Header().Set(k, v)
		}
	})
	info, err := r.store(t, "aws").Head(t.Context(), "b", "k")
	if err != nil || info.Size != 7 || info.ETag != `"e"` || info.VersionID != "v1" || info.Metadata["chunkup-token"] != "t" || info.Digest.IsZero() {
		t.Errorf("%+v, %v", info, err)
	}
	if got := r.requests[0].Header.Get("X-Amz-Checksum-Mode"); got != "ENABLED" {
		t.Errorf("checksum mode %q", got)
	}
	// B2 refuses to be asked for what it does not have.
	if r.store(t, "generic").Head(t.Context(), "b", "k"); r.requests[1].Header.Get("X-Amz-Checksum-Mode") != "" {
		t.Error("a store without checksums is asked for one")
	}
}

func TestAbortOfNothing(t *testing.T) {
	r := record(t, answerXML(404, "<Error><Code>NoSuchUpload</Code></Error>"))
	if err := r.store(t, "aws").Abort(t.Context(), upload); err != nil {
		t.Error(err)
	}
	for _, other := range []func(http.ResponseWriter, *http.Request){
		answerXML(403, "<Error><Code>AccessDenied</Code></Error>"),
		answerXML(404, "<Error><Code>NoSuchBucket</Code></Error>"),
		answerXML(404, "<html><body>Not Found</body></html>"), // a proxy's
	} {
		if err := record(t, other).store(t, "aws").Abort(t.Context(), upload); err == nil {
			t.Error("no error for a refusal")
		}
	}
}

func TestRetryAfterOfControlCalls(t *testing.T) {
	r := record(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "17")
		w.WriteHeader(503)
	})
	_, err := r.store(t, "minio").Create(t.Context(), multipart.Intent{Bucket: "b", Key: "k"})
	if e, ok := errors.AsType[*wire.StoreError](err); !ok || e.RetryAfter.Seconds() != 17 {
		t.Errorf("err = %v", err)
	}
}

func TestTransportErrorsAreBare(t *testing.T) {
	r := record(t, nil)
	r.Close()
	_, err := r.store(t, "minio").Create(t.Context(), multipart.Intent{Bucket: "b", Key: "k"})
	if err == nil || !strings.HasPrefix(err.Error(), "dial tcp") {
		t.Errorf("err = %v", err)
	}
}

func TestNoCredentials(t *testing.T) {
	r := record(t, answerXML(200, ""))
	p, _ := s3store.ByName("minio")
	cfg := aws.Config{Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{}, errors.New("none found")
	})}
	s := s3store.New(s3store.NewClient(cfg, p, r.URL, r.wire), p, r.wire)
	_, err := s.Create(t.Context(), multipart.Intent{Bucket: "b", Key: "k"})
	if !errors.Is(err, multipart.ErrCredentials) || len(r.requests) != 0 {
		t.Errorf("%d requests, err = %v", len(r.requests), err)
	}
}
