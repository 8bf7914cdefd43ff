package rawstore_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/chunkup/chunkup/integration/check"
	"github.com/chunkup/chunkup/integration/rawstore"
)

var bucket, key = "bucket", "a key/with a slash"

// start runs a store; the leak check comes first, so that it is the last to look.
func start(t *testing.T, o rawstore.Options) *rawstore.Store {
	t.Helper()
	check.Leaks(t)
	return rawstore.Start(t, o)
}

// A whole upload, over http and https, with the SDK's own client.
func TestUpload(t *testing.T) {
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprint("TLS ", secure), func(t *testing.T) {
			s := start(t, rawstore.Options{TLS: secure})
			c, src := s.Client(), check.Pattern(1000)
			created, err := c.CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{
				Bucket: &bucket, Key: &key, Metadata: map[string]string{"token": "x"}})
			must(t, err)
			var parts []types.CompletedPart
			for n := range int32(2) {
				number := n + 1
				body := io.NewSectionReader(src, int64(n)*600, min(600, 1000-int64(n)*600))
				out, err := c.UploadPart(t.Context(), &s3.UploadPartInput{Bucket: &bucket, Key: &key,
					UploadId: created.UploadId, PartNumber: &number, Body: body})
				must(t, err)
				parts = append(parts, types.CompletedPart{PartNumber: &number, ETag: out.ETag})
			}
			listed, err := c.ListParts(t.Context(), &s3.ListPartsInput{Bucket: &bucket, Key: &key, UploadId: created.UploadId})
			must(t, err)
			if len(listed.Parts) != 2 || *listed.Parts[1].Size != 400 || *listed.Parts[1].ETag != *parts[1].ETag {
				t.Errorf("listed %+v", listed.Parts)
			}
			_, err = c.CompleteMultipartUpload(t.Context(), &s3.CompleteMultipartUploadInput{Bucket: &bucket, Key: &key,
				UploadId: created.UploadId, MultipartUpload: &types.CompletedMultipartUpload{Parts: parts}})
			must(t, err)
			check.Equal(t, c, bucket, key, src, src.Size())
			check.NoUploads(t, c, bucket, key)
			head, err := c.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: &bucket, Key: &key})
			must(t, err)
			if *head.ContentLength != 1000 || head.Metadata["token"] != "x" || !strings.HasSuffix(*head.ETag, `-2"`) {
				t.Errorf("head %+v", head)
			}
			if n := len(s.Of(rawstore.PutPart, 2)); n != 1 {
				t.Errorf("%d requests for part 2", n)
			}
		})
	}
}

func TestAbortAndRefusals(t *testing.T) {
	s := start(t, rawstore.Options{})
	c := s.Client()
	check.Absent(t, c, bucket, key)
	created, err := c.CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: &bucket, Key: &key})
	must(t, err)
	open, err := c.ListMultipartUploads(t.Context(), &s3.ListMultipartUploadsInput{Bucket: &bucket, Prefix: &key})
	must(t, err)
	if len(open.Uploads) != 1 || *open.Uploads[0].UploadId != *created.UploadId {
		t.Errorf("open uploads %+v", open.Uploads)
	}
	number, tag := int32(1), "nonsense"
	_, err = c.CompleteMultipartUpload(t.Context(), &s3.CompleteMultipartUploadInput{Bucket: &bucket, Key: &key, UploadId: created.UploadId,
		MultipartUpload: &types.CompletedMultipartUpload{Parts: []types.CompletedPart{{PartNumber: &number, ETag: &tag}}}})
	if err == nil || !strings.Contains(err.Error(), "InvalidPart") {
		t.Errorf("completed with a part that is not there: %v", err)
	}
	abort := &s3.AbortMultipartUploadInput{Bucket: &bucket, Key: &key, UploadId: created.UploadId}
	_, err = c.AbortMultipartUpload(t.Context(), abort)
	must(t, err)
	check.NoUploads(t, c, bucket, key)
	if _, err = c.AbortMultipartUpload(t.Context(), abort); err == nil || !strings.Contains(err.Error(), "NoSuchUpload") {
		t.Errorf("aborted twice: %v", err)
	}
}

func TestPutObject(t *testing.T) {
	s := start(t, rawstore.Options{})
	src := check.Pattern(100)
	_, err := s.Client().PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: io.NewSectionReader(src, 0, 100)})
	must(t, err)
	check.Equal(t, s.Client(), bucket, key, src, 100)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// peer is a client that sees every byte.
type peer struct {
	net.Conn
	*bufio.Reader
}

func dial(t *testing.T, s *rawstore.Store) *peer {
	t.Helper()
	scheme, address, _ := strings.Cut(s.URL(), "://")
	c, err := net.Dial("tcp", address)
	must(t, err)
	if scheme == "https" {
		c = tls.Client(c, &tls.Config{RootCAs: s.Roots(), ServerName: "127.0.0.1"})
	}
	t.Cleanup(func() { c.Close() })
	return &peer{c, bufio.NewReader(c)}
}

// put sends the head of a PUT, and so much of its body.
func (p *peer) put(t *testing.T, size, sent int, header string) {
	t.Helper()
	_, err := fmt.Fprintf(p.Conn, "PUT /bucket/key HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n%s\r\n%s", size, header, bytes.Repeat([]byte("x"), sent))
	must(t, err)
}

func (p *peer) Read(b []byte) (int, error) { return p.Reader.Read(b) }

// answer reads an answer and its body.
func (p *peer) answer(t *testing.T) (status int, body string) {
	t.Helper()
	resp, err := http.ReadResponse(p.Reader, nil)
	must(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	must(t, err)
	return resp.StatusCode, string(b)
}
