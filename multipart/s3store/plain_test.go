package s3store_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/s3store"
	"github.com/chunkup/chunkup/presign"
	"github.com/chunkup/chunkup/presign/s3presign"
)

// Google's front end changes Accept-Encoding on the way: what is signed must
// not have it (https://github.com/aws/aws-sdk-go-v2/issues/1816).
func TestPlainRequests(t *testing.T) {
	for provider, plain := range map[string]bool{"gcs": true, "generic": true, "aws": false, "minio": false} {
		t.Run(provider, func(t *testing.T) {
			r := record(t, func(w http.ResponseWriter, req *http.Request) {
				w.Header().Set("Content-Range", "bytes 0-0/1")
				answerXML(200, `<InitiateMultipartUploadResult><UploadId>U1</UploadId><ETag>"e"</ETag></InitiateMultipartUploadResult>`)(w, req)
			})
			s := r.store(t, provider)
			s.Create(t.Context(), multipart.Intent{Bucket: "b", Key: "k"})
			s.List(t.Context(), upload)
			s.ListUploads(t.Context(), "b", "")
			s.Complete(t.Context(), upload, multipart.Completion{})
			s.Abort(t.Context(), upload)
			s.Head(t.Context(), "b", "k")
			s.ReadRange(t.Context(), "b", "k", "", 0, 1)
			if len(r.requests) != 7 {
				t.Fatalf("%d requests", len(r.requests))
			}
			for _, req := range r.requests {
				auth := req.Header.Get("Authorization")
				if got := strings.Contains(auth, "accept-encoding") || req.Header.Get("Accept-Encoding") != ""; got == plain {
					t.Errorf("%s %s: accept-encoding %v: %s", req.Method, req.URL, got, auth)
				}
				if plain && req.URL.Query().Has("x-id") {
					t.Errorf("%s %s", req.Method, req.URL)
				}
			}
		})
	}
}

func TestPlainPresigned(t *testing.T) {
	r := record(t, nil)
	p, _ := s3store.ByName("gcs")
	cfg := aws.Config{Credentials: credentials.NewStaticCredentialsProvider("AK", "SK", "")}
	provider := s3presign.New(s3store.NewClient(cfg, p, r.URL, r.wire), 0)
	for _, part := range []presign.Part{{Bucket: "b", Key: "k", UploadID: "u", Number: 1}, {Bucket: "b", Key: "k"}} {
		request, err := provider.Presign(t.Context(), part)
		if err != nil {
			t.Fatal(err)
		}
		u, _ := url.Parse(request.URL)
		query := u.Query()
		if query.Has("x-id") || query.Get("X-Amz-SignedHeaders") != "content-length;host" && query.Get("X-Amz-SignedHeaders") != "host" || len(request.Header) != 0 {
			t.Errorf("%s, %v", request.URL, request.Header)
		}
		if !strings.Contains(query.Get("X-Amz-Credential"), "/auto/s3/") {
			t.Errorf("credential %s", query.Get("X-Amz-Credential"))
		}
		if part.UploadID != "" && (query.Get("uploadId") != "u" || query.Get("partNumber") != "1") {
			t.Errorf("query %v", query)
		}
	}
}
