package sandbox

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
	"github.com/minio/crc64nvme"
	"go.uber.org/goleak"
)

const mib = 1 << 20

// childVar makes the test binary run quietChild instead of the tests.
const childVar = "CHUNKUP_SANDBOX_TEST_CHILD"

// libraryLeftovers are what fasthttp leaves running: one clock for the rest of
// the process, and for each server a cleaner that ends within 10 s.
func libraryLeftovers() []goleak.Option {
	return []goleak.Option{
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"),
	}
}

func TestMain(m *testing.M) {
	if dir := os.Getenv(childVar); dir != "" {
		os.Exit(quietChild(dir))
	}
	goleak.VerifyTestMain(m, libraryLeftovers()...)
}

// rig is a running sandbox with the bucket demo, and a client of it.
type rig struct {
	*Server
	t    *testing.T
	s3   *s3.Client
	http *http.Client
}

func start(t *testing.T, o Options) rig {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	o.Buckets = append(o.Buckets, "demo")
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return connect(t, s)
}

// connect makes a client of its own connections, which end before the server.
func connect(t *testing.T, s *Server) rig {
	c := &http.Client{Transport: &http.Transport{ExpectContinueTimeout: 5 * time.Second}}
	t.Cleanup(c.CloseIdleConnections)
	return rig{Server: s, t: t, http: c, s3: client(s, s.AccessKey(), s.SecretKey(), c)}
}

func client(s *Server, access, secret string, c *http.Client) *s3.Client {
	return s3.New(s3.Options{
		Region:                     s.Region(),
		BaseEndpoint:               aws.String(s.URL()),
		UsePathStyle:               true,
		Credentials:                credentials.NewStaticCredentialsProvider(access, secret, ""),
		Retryer:                    aws.NopRetryer{},
		HTTPClient:                 c,
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,
	})
}

func crc64(b []byte) string {
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint64(nil, crc64nvme.Checksum(b)))
}

// pattern is n bytes in which every word is its own offset, so that a piece
// that is missing, repeated or in the wrong place shows.
func pattern(n int) []byte {
	b := make([]byte, 0, n+8)
	for len(b) < n {
		b = binary.BigEndian.AppendUint64(b, uint64(len(b)))
	}
	return b[:n]
}

// create opens an upload with a CRC64NVME of the whole object.
func (r rig) create(key string, metadata map[string]string) string {
	r.t.Helper()
	out, err := r.s3.CreateMultipartUpload(r.t.Context(), &s3.CreateMultipartUploadInput{
		Bucket: aws.String("demo"), Key: &key, Metadata: metadata,
		ChecksumAlgorithm: types.ChecksumAlgorithmCrc64nvme, ChecksumType: types.ChecksumTypeFullObject,
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return *out.UploadId
}

// presigned is a part's request as chunkup sends it: to a presigned URL, with
// the part's CRC64NVME as a signed header.
func (r rig) presigned(key, id string, part int32, body []byte) *http.Request {
	r.t.Helper()
	p, err := s3.NewPresignClient(r.s3).PresignUploadPart(r.t.Context(), &s3.UploadPartInput{
		Bucket: aws.String("demo"), Key: &key, UploadId: &id, PartNumber: &part,
		ContentLength: aws.Int64(int64(len(body))), ChecksumCRC64NVME: aws.String(crc64(body)),
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return request(r.t, p, body)
}

func request(t *testing.T, p *v4.PresignedHTTPRequest, body []byte) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), p.Method, p.URL, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = p.SignedHeader.Clone()
	return req
}

// signed is the PUT of a part, signed at any time for any region.
func (r rig) signed(key, id, region string, at time.Time, life string, body []byte) *http.Request {
	r.t.Helper()
	q := url.Values{"partNumber": {"1"}, "uploadId": {id}, "X-Amz-Expires": {life}}
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodPut, r.URL()+"/demo/"+key+"?"+q.Encode(), bytes.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	creds := aws.Credentials{AccessKeyID: r.AccessKey(), SecretAccessKey: r.SecretKey()}
	u, headers, err := v4.NewSigner().PresignHTTP(r.t.Context(), creds, req, "UNSIGNED-PAYLOAD", "s3", region, at)
	if err != nil {
		r.t.Fatal(err)
	}
	return request(r.t, &v4.PresignedHTTPRequest{Method: http.MethodPut, URL: u, SignedHeader: headers}, body)
}

// answerOf is what a client can tell of an answer.
type answerOf struct {
	Status  int
	Code    string
	Message string
	Header  http.Header
	Body    string
}

// do sends one request. That the answer arrives at all is part of every test.
func (r rig) do(req *http.Request) answerOf {
	r.t.Helper()
	resp, err := r.http.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	var e struct{ Code, Message string }
	_ = xml.Unmarshal(text, &e)
	return answerOf{resp.StatusCode, e.Code, e.Message, resp.Header, string(text)}
}

// part sends a part, which must succeed, and returns it for Complete.
func (r rig) part(key, id string, number int32, body []byte) types.CompletedPart {
	r.t.Helper()
	a := r.do(r.presigned(key, id, number, body))
	if a.Status != http.StatusOK {
		r.t.Fatalf("part %d: %d %s", number, a.Status, a.Body)
	}
	return types.CompletedPart{PartNumber: &number, ETag: aws.String(a.Header.Get("ETag")), ChecksumCRC64NVME: aws.String(crc64(body))}
}

// completion is the Complete of parts that make up whole.
func completion(key, id string, whole []byte, parts ...types.CompletedPart) *s3.CompleteMultipartUploadInput {
	return &s3.CompleteMultipartUploadInput{
		Bucket: aws.String("demo"), Key: &key, UploadId: &id,
		MultipartUpload:   &types.CompletedMultipartUpload{Parts: parts},
		ChecksumCRC64NVME: aws.String(crc64(whole)), ChecksumType: types.ChecksumTypeFullObject,
		MpuObjectSize: aws.Int64(int64(len(whole))),
	}
}

// upload puts whole in parts of 5 MiB.
func (r rig) upload(key string, metadata map[string]string, whole []byte) *s3.CompleteMultipartUploadOutput {
	r.t.Helper()
	id := r.create(key, metadata)
	var parts []types.CompletedPart
	for off := 0; off < len(whole); off += 5 * mib {
		parts = append(parts, r.part(key, id, int32(len(parts)+1), whole[off:min(off+5*mib, len(whole))]))
	}
	out, err := r.s3.CompleteMultipartUpload(r.t.Context(), completion(key, id, whole, parts...))
	if err != nil {
		r.t.Fatal(err)
	}
	return out
}

func (r rig) put(key, body string) {
	r.t.Helper()
	if err := r.tryPut(key, body, nil); err != nil {
		r.t.Fatal(err)
	}
}

func (r rig) tryPut(key, body string, ifNoneMatch *string) error {
	_, err := r.s3.PutObject(r.t.Context(), &s3.PutObjectInput{
		Bucket: aws.String("demo"), Key: &key, Body: bytes.NewReader([]byte(body)), IfNoneMatch: ifNoneMatch,
	})
	return err
}

func (r rig) head(key string) (*s3.HeadObjectOutput, error) {
	return r.s3.HeadObject(context.WithoutCancel(r.t.Context()), &s3.HeadObjectInput{
		Bucket: aws.String("demo"), Key: &key, ChecksumMode: types.ChecksumModeEnabled,
	})
}

// failure is the status and the code of an SDK error, 0 and "" for none.
func failure(err error) (int, string) {
	var status int
	if e, ok := errors.AsType[interface {
		error
		HTTPStatusCode() int
	}](err); ok {
		status = e.HTTPStatusCode()
	}
	if e, ok := errors.AsType[smithy.APIError](err); ok {
		return status, e.ErrorCode()
	}
	return status, ""
}
