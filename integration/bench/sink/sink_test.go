package sink

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/feature/s3/manager"
	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
)

const mib = 1 << 20

func start(t *testing.T, o Options) *Server {
	t.Helper()
	o.CADir = t.TempDir()
	s, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// client is an SDK client that tries once.
func client(t *testing.T, s *Server) *s3.Client {
	t.Helper()
	transport := &http.Transport{}
	if s.CA() != "" {
		pem, err := os.ReadFile(s.CA())
		if err != nil {
			t.Fatal(err)
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(pem)
		transport.TLSClientConfig = &tls.Config{RootCAs: roots}
	}
	t.Cleanup(transport.CloseIdleConnections)
	return s3.New(s3.Options{Region: "us-east-1", BaseEndpoint: aws.String(s.URL()), UsePathStyle: true, RetryMaxAttempts: 1,
		HTTPClient: &http.Client{Transport: transport}, Credentials: credentials.NewStaticCredentialsProvider("key", "secret", "")})
}

// What the SDK's uploaders send is counted, in the clear and over TLS, where bodies
// are wrapped and have trailers.
func TestSDK(t *testing.T) {
	body := make([]byte, 17*mib+1)
	for _, c := range []struct {
		name   string
		tls    bool
		upload func(*s3.Client) error
		parts  int64
	}{
		{"manager", false, func(c *s3.Client) error { return uploadByManager(t, c, body) }, 4},
		{"manager over TLS", true, func(c *s3.Client) error { return uploadByManager(t, c, body) }, 4},
		{"transfermanager", false, func(c *s3.Client) error { return uploadByTransfermanager(t, c, body) }, 3},
		{"transfermanager over TLS", true, func(c *s3.Client) error { return uploadByTransfermanager(t, c, body) }, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := start(t, Options{TLS: c.tls})
			sdk := client(t, s)
			if err := c.upload(sdk); err != nil {
				t.Fatal(err)
			}
			got := s.Counters()
			if got.Stored != int64(len(body)) || got.Objects != 1 || got.Pieces != c.parts || got.Requests[PutPart] != c.parts ||
				got.Requests[Create] != 1 || got.Requests[Complete] != 1 || got.Total != c.parts+2 || got.Unchecked != 0 {
				t.Errorf("%+v", got)
			}
			if got.Received < int64(len(body)) || got.Received > int64(len(body))+100_000 {
				t.Errorf("received %d bytes", got.Received)
			}
			head, err := sdk.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: aws.String("b"), Key: aws.String("k/ü +")})
			if err != nil || *head.ContentLength != int64(len(body)) {
				t.Errorf("head: %+v, %v", head, err)
			}
		})
	}
}

func uploadByManager(t *testing.T, c *s3.Client, body []byte) error {
	//lint:ignore SA1019 it is what most programs use
	_, err := manager.NewUploader(c).Upload(t.Context(), &s3.PutObjectInput{Bucket: aws.String("b"), Key: aws.String("k/ü +"), Body: bytes.NewReader(body)})
	return err
}

func uploadByTransfermanager(t *testing.T, c *s3.Client, body []byte) error {
	_, err := transfermanager.New(c).UploadObject(t.Context(), &transfermanager.UploadObjectInput{Bucket: aws.String("b"), Key: aws.String("k/ü +"), Body: bytes.NewReader(body)})
	return err
}

// What a client declares is said back, and ETags are made of declared MD5s only.
func TestAnswers(t *testing.T) {
	c := client(t, start(t, Options{}))
	b, k := aws.String("b"), aws.String("k")
	put, err := c.PutObject(t.Context(), &s3.PutObjectInput{Bucket: b, Key: k, Body: strings.NewReader("content"),
		ContentMD5: aws.String("mgNkuembtIDdJeHwKEyFVQ=="), ChecksumCRC64NVME: aws.String("lhVdXyVQTGE="), Metadata: map[string]string{"a": "b c"}})
	if err != nil || *put.ETag != `"9a0364b9e99bb480dd25e1f0284c8555"` {
		t.Fatalf("put: %v, %v", aws.ToString(put.ETag), err)
	}
	head, err := c.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: b, Key: k})
	if err != nil || *head.ETag != *put.ETag || *head.ContentLength != 7 || aws.ToString(head.ChecksumCRC64NVME) != "lhVdXyVQTGE=" ||
		head.ChecksumType != types.ChecksumTypeFullObject || head.Metadata["a"] != "b c" {
		t.Errorf("head: %+v, %v", head, err)
	}
	if put, err = c.PutObject(t.Context(), &s3.PutObjectInput{Bucket: b, Key: k, Body: strings.NewReader("content")}); err != nil || !strings.HasPrefix(*put.ETag, `"sink`) {
		t.Errorf("without an MD5 there is an ETag that looks like one: %v, %v", aws.ToString(put.ETag), err)
	}
	_, err = c.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: b, Key: aws.String("other")})
	if _, ok := errors.AsType[*types.NotFound](err); !ok {
		t.Errorf("head of nothing: %v", err)
	}
}

// An upload can be listed and aborted, and is gone then.
func TestUploads(t *testing.T) {
	c := client(t, start(t, Options{}))
	b, k := aws.String("b"), aws.String("k&k")
	made, err := c.CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: b, Key: k})
	if err != nil || *made.Key != *k {
		t.Fatal(made, err)
	}
	for _, number := range []int32{7, 2} {
		if _, err := c.UploadPart(t.Context(), &s3.UploadPartInput{Bucket: b, Key: k, UploadId: made.UploadId, PartNumber: &number,
			Body: strings.NewReader("content"), ChecksumAlgorithm: types.ChecksumAlgorithmCrc32}); err != nil {
			t.Fatal(err)
		}
	}
	listed, err := c.ListParts(t.Context(), &s3.ListPartsInput{Bucket: b, Key: k, UploadId: made.UploadId})
	if err != nil || len(listed.Parts) != 2 || *listed.Parts[0].PartNumber != 2 || *listed.Parts[1].Size != 7 || listed.Parts[1].ChecksumCRC32 == nil {
		t.Errorf("list: %+v, %v", listed, err)
	}
	if _, err := c.AbortMultipartUpload(t.Context(), &s3.AbortMultipartUploadInput{Bucket: b, Key: k, UploadId: made.UploadId}); err != nil {
		t.Error(err)
	}
	_, err = c.ListParts(t.Context(), &s3.ListPartsInput{Bucket: b, Key: k, UploadId: made.UploadId})
	if refused, ok := errors.AsType[smithy.APIError](err); !ok || refused.ErrorCode() != "NoSuchUpload" {
		t.Errorf("list after abort: %v", err)
	}
}

// Clients look at a bucket before and after.
func TestList(t *testing.T) {
	c := client(t, start(t, Options{}))
	b := aws.String("b")
	for _, key := range []string{"a/1", "a/2", "b", "c/1", "d"} {
		if _, err := c.PutObject(t.Context(), &s3.PutObjectInput{Bucket: b, Key: &key, Body: strings.NewReader("x")}); err != nil {
			t.Fatal(err)
		}
	}
	var names []string
	pages := s3.NewListObjectsV2Paginator(c, &s3.ListObjectsV2Input{Bucket: b, Delimiter: aws.String("/"), MaxKeys: aws.Int32(2)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range page.CommonPrefixes {
			names = append(names, *p.Prefix)
		}
		for _, o := range page.Contents {
			names = append(names, *o.Key)
		}
	}
	if got := strings.Join(names, " "); got != "a/ b c/ d" {
		t.Errorf("listed %s", got)
	}
	if _, err := c.HeadBucket(t.Context(), &s3.HeadBucketInput{Bucket: b}); err != nil {
		t.Error(err)
	}
	if where, err := c.GetBucketLocation(t.Context(), &s3.GetBucketLocationInput{Bucket: b}); err != nil || where.LocationConstraint != "" {
		t.Error(where, err)
	}
	if all, err := c.ListBuckets(t.Context(), &s3.ListBucketsInput{}); err != nil || len(all.Buckets) != 1 {
		t.Error(all, err)
	}
}
