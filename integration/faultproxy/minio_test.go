package faultproxy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/chunkup/chunkup/integration/check"
	"github.com/chunkup/chunkup/integration/minio"
)

var shared minio.Shared

func TestMain(m *testing.M) {
	code := m.Run()
	shared.Stop()
	os.Exit(code)
}

const partSize = 5 << 20

// site is a bucket of a real server behind a proxy.
type site struct {
	bed
	direct, via *s3.Client
	bucket, key string
}

func startMinIO(t *testing.T, rules ...Rule) *site {
	t.Helper()
	server := shared.Server(t)
	check.Leaks(t)
	b := before(t, server.URL, rules...)
	return &site{
		bed: b, bucket: server.Bucket(t), key: "dir/a+b c&ü=%",
		direct: server.Client(),
		via:    server.ClientAt(b.URL(), func(o *s3.Options) { o.Retryer = aws.NopRetryer{} }),
	}
}

func (s *site) create(t *testing.T) string {
	t.Helper()
	out, err := s.via.CreateMultipartUpload(s.ctx, &s3.CreateMultipartUploadInput{Bucket: &s.bucket, Key: &s.key})
	if err != nil {
		t.Fatal(err)
	}
	return *out.UploadId
}

// part uploads the n-th part of src through the SDK, again until it succeeds.
func (s *site) part(t *testing.T, id string, n int32, src check.Source) types.CompletedPart {
	t.Helper()
	off := int64(n-1) * partSize
	for range 3 {
		out, err := s.via.UploadPart(s.ctx, &s3.UploadPartInput{
			Bucket: &s.bucket, Key: &s.key, UploadId: &id, PartNumber: &n,
			Body: io.NewSectionReader(src, off, min(partSize, src.Size()-off)),
		})
		if err == nil {
			return types.CompletedPart{PartNumber: &n, ETag: out.ETag}
		}
	}
	t.Fatalf("part %d failed three times", n)
	return types.CompletedPart{}
}

func (s *site) complete(id string, parts []types.CompletedPart) error {
	_, err := s.via.CompleteMultipartUpload(s.ctx, &s3.CompleteMultipartUploadInput{
		Bucket: &s.bucket, Key: &s.key, UploadId: &id,
		MultipartUpload: &types.CompletedMultipartUpload{Parts: parts},
	})
	return err
}

func TestMinIOMultipartThroughFaults(t *testing.T) {
	s := startMinIO(t,
		Rule{Op: PutPart, Every: 3, Status: 503, Code: "SlowDown"},
		Rule{Op: PutPart, Part: 2, Reset: true, After: 1 << 20},
		Rule{Op: PutPart, Part: 4, Apply: true, Status: 500},
		Rule{Op: Complete, Apply: true, Reset: true},
	)
	src := check.Random(t, 3*partSize+12_345)
	id := s.create(t)
	var parts []types.CompletedPart
	for n := range int32(4) {
		parts = append(parts, s.part(t, id, n+1, src))
	}
	if n := s.Count(PutPart); n != 7 {
		t.Errorf("%d parts were sent, want 4 and one more of 2, 3 and 4", n)
	}
	check.Absent(t, s.direct, s.bucket, s.key)
	if err := s.complete(id, parts); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("complete whose answer gets lost: %v", err)
	}
	check.Equal(t, s.direct, s.bucket, s.key, src, src.Size())
	check.Equal(t, s.via, s.bucket, s.key, src, src.Size())
	check.NoUploads(t, s.direct, s.bucket, s.key)
	for _, q := range s.Requests() {
		if q.Bucket != s.bucket || q.Key != s.key || q.Op != Create && q.Op != Get && q.UploadID != id {
			t.Errorf("recorded %+v", q)
		}
	}
}

func TestMinIOPresignedPart(t *testing.T) {
	s := startMinIO(t)
	src := check.Random(t, partSize)
	id := s.create(t)
	body := make([]byte, src.Size())
	if _, err := src.ReadAt(body, 0); err != nil {
		t.Fatal(err)
	}
	signed, err := s3.NewPresignClient(s.via).PresignUploadPart(s.ctx, &s3.UploadPartInput{
		Bucket: &s.bucket, Key: &s.key, UploadId: &id, PartNumber: aws.Int32(1),
	}, s3.WithPresignExpires(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	send := func(url string) *http.Response {
		req, err := http.NewRequestWithContext(s.ctx, http.MethodPut, url, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		expect(req)
		resp, err := s.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp
	}
	// The store says no before a byte of the body has been sent.
	if resp := send(strings.Replace(signed.URL, "X-Amz-Expires=60", "X-Amz-Expires=61", 1)); resp.StatusCode != http.StatusForbidden {
		t.Errorf("a changed URL: %s", resp.Status)
	}
	if q := s.last(t); q.BodyBytes != 0 || !q.Expect {
		t.Errorf("recorded %+v", q)
	}
	resp := send(signed.URL)
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("got %s", resp.Status)
	}
	if q := s.last(t); q.BodyBytes != src.Size() || q.Part != 1 || q.Op != PutPart {
		t.Errorf("recorded %+v", q)
	}
	part := types.CompletedPart{PartNumber: aws.Int32(1), ETag: aws.String(resp.Header.Get("ETag"))}
	if err := s.complete(id, []types.CompletedPart{part}); err != nil {
		t.Fatal(err)
	}
	check.Equal(t, s.direct, s.bucket, s.key, src, src.Size())
}

// The SDK understands what the proxy makes up.
func TestMinIOErrorsAreS3Errors(t *testing.T) {
	s := startMinIO(t, Rule{Op: Create, Status: 404, Code: "NoSuchBucket", Message: "gone"}, Rule{Op: Head, Status: 404})
	_, err := s.via.CreateMultipartUpload(s.ctx, &s3.CreateMultipartUploadInput{Bucket: &s.bucket, Key: &s.key})
	if !strings.Contains(fmt.Sprint(err), "RequestID: FAULT") || !strings.Contains(fmt.Sprint(err), "NoSuchBucket: gone") {
		t.Errorf("got %v", err)
	}
	_, err = s.via.HeadObject(s.ctx, &s3.HeadObjectInput{Bucket: &s.bucket, Key: &s.key})
	if _, ok := errors.AsType[*types.NotFound](err); !ok {
		t.Errorf("got %v", err)
	}
}
